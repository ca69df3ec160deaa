//! Walks along the relations of records: scope, filters, hops, limits and validity.

use memory_engine_core::{Field, Filter, Op, Scope, Timestamp};
use memory_engine_graph::{EntityId, GraphQuery, GraphStats, GraphStoreExt, Relation, Seeds};

use super::{
    helpers::{all, extraction_of, facts, names, relation, store},
    reference,
};
use crate::{
    World,
    fixtures::{id, lin, mo, numbered, session},
};

pub async fn a_reader_sees_only_extractions_in_scope(world: &World) {
    let store = store(world);
    let main = session("s").with_branch("main").unwrap();
    let fork = session("s").with_branch("fork").unwrap();
    world.put_with_extraction(&numbered(&main, 1), relation("Anna", "trusts", "Bob")).await;
    world.put_with_extraction(&numbered(&fork, 2), relation("Anna", "betrays", "Bob")).await;
    world.put_with_extraction(&numbered(&session("t"), 3), relation("Anna", "marries", "Carl")).await;
    world.put_with_extraction(&numbered(&mo(), 1), relation("Anna", "owes", "Dora")).await;
    let visible = async |scope: &Scope| facts(&store.neighbors(scope, "Anna").await.unwrap());
    assert_eq!(visible(&main).await, ["Anna trusts Bob"]);
    assert_eq!(visible(&fork).await, ["Anna betrays Bob"]);
    assert_eq!(visible(&session("s")).await, ["Anna betrays Bob", "Anna trusts Bob"]);
    assert_eq!(visible(&lin()).await.len(), 3);
    assert_eq!(visible(&mo()).await, ["Anna owes Dora"]);
    assert_eq!(visible(&lin().with_agent("kai").unwrap()).await, Vec::<String>::new());
    let found = store.entities(&main, &["anna", "carl"]).await.unwrap();
    assert_eq!(
        (names(&found), found.entities[0].mentions),
        (vec!["Anna"], 1),
        "mentions outside the scope are not counted"
    );
    assert_eq!(store.stats(&session("s")).await.unwrap(), GraphStats::new(2, 2, 2));
}

pub async fn a_tenant_wide_walk_keeps_users_separate(world: &World) {
    let store = store(world);
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let userless = tenant.clone().with_session("s").unwrap();
    let other = Scope::tenant_wide("other").unwrap();
    for scope in [&lin(), &mo(), &userless, &other] {
        world.put_with_extraction(&numbered(scope, 1), relation("Anna", "knows", "Bob")).await;
    }
    let found = store.neighbors(&tenant, "Anna").await.unwrap();
    assert_eq!((found.entities.len(), found.edges.len()), (6, 3));
    assert!(found.edges.iter().all(|edge| edge.records == 1));
    assert_eq!(store.neighbors(&userless, "Anna").await.unwrap().entities.len(), 2);
    assert_eq!(all(store, &userless).await.entities.len(), 2);
    assert_eq!(all(store, &tenant).await.entities.len(), 6);
    assert_eq!(store.stats(&tenant).await.unwrap(), GraphStats::new(6, 3, 3));
}

pub async fn a_filter_limits_an_inherited_branch_to_the_fork(world: &World) {
    let store = store(world);
    let branch = |name: &str| session("s").with_branch(name).unwrap();
    for (number, address, other) in [(1, "main", "b"), (2, "main", "c"), (3, "fork", "d")] {
        let mut record = numbered(&branch(address), number);
        record.source.sequence = Some(i64::from(number));
        world.put_with_extraction(&record, relation("a", "knows", other)).await;
    }
    let inherited = Filter::eq(Field::Branch, "main").and(Filter::compare(Field::Sequence, Op::Le, 1.0));
    let view = Filter::Or(vec![Filter::eq(Field::Branch, "fork"), inherited]);
    let query = GraphQuery::of(["a"]).with_filter(Some(view.clone()));
    let found = store.expand(&session("s"), &query).await.unwrap();
    assert_eq!(facts(&found), ["a knows d", "a knows b"], "nothing after the fork");
    assert_eq!(found.entities[0].mentions, 2);
    let most = GraphQuery::new(Seeds::MostMentioned).with_filter(Some(view.clone()));
    assert_eq!(store.expand(&session("s"), &most).await.unwrap().entities.len(), 3);
    let gone = GraphQuery::of(["c"]).with_filter(Some(view));
    assert!(
        store.expand(&session("s"), &gone).await.unwrap().is_empty(),
        "an entity of filtered-out records is not found"
    );
}

pub async fn a_walk_stops_at_its_hop_limit(world: &World) {
    let store = store(world);
    for (number, pair) in (1..).zip([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("b", "a")]) {
        world.put_with_extraction(&numbered(&lin(), number), relation(pair.0, "to", pair.1)).await;
    }
    let walk = async |hops| store.expand(&lin(), &GraphQuery::of(["a"]).with_hops(hops)).await.unwrap();
    let none = walk(0).await;
    assert_eq!((names(&none), none.edges.len()), (vec!["a"], 0));
    let two = walk(2).await;
    assert_eq!(
        two.entities.iter().map(|e| (e.name.as_str(), e.hops)).collect::<Vec<_>>(),
        [("a", 0), ("b", 1), ("c", 2)]
    );
    assert_eq!(facts(&two), ["b to a", "a to b", "b to c"], "by hops, then latest first");
    assert_eq!(names(&walk(3).await), ["a", "b", "c", "d"]);
    let both = store.expand(&lin(), &GraphQuery::of(["a", "e", "unknown"]).with_hops(1)).await.unwrap();
    assert_eq!(both.entities.iter().map(|e| e.hops).collect::<Vec<_>>(), [0, 0, 1, 1]);
    let by_id = GraphQuery::new(Seeds::Ids(vec![EntityId::of(&lin(), "a")]));
    assert_eq!(names(&store.expand(&lin(), &by_id).await.unwrap()), ["a", "b"]);
}

pub async fn limits_keep_the_most_supported_relations(world: &World) {
    let store = store(world);
    let mut number = 0;
    for (other, times) in [("b", 1), ("c", 3), ("d", 2), ("e", 1)] {
        for _ in 0..times {
            number += 1;
            world.put_with_extraction(&numbered(&lin(), number), relation("a", "knows", other)).await;
        }
    }
    let walk = async |entities, edges| {
        store.expand(&lin(), &GraphQuery::of(["a"]).with_limits(entities, edges).with_evidence(2)).await.unwrap()
    };
    let all = walk(9, 9).await;
    assert_eq!(
        facts(&all),
        ["a knows c", "a knows d", "a knows e", "a knows b"],
        "by number of records, then latest first"
    );
    assert_eq!((all.edges[0].records, &all.edges[0].evidence), (3, &vec![id(4), id(3)]));
    assert_eq!((all.entities[0].mentions, &all.entities[0].evidence), (7, &vec![id(7), id(6)]));
    assert_eq!(names(&walk(3, 9).await), ["a", "c", "d"]);
    assert_eq!(facts(&walk(3, 9).await).len(), 2, "no relation to an entity beyond the limit");
    assert_eq!(facts(&walk(9, 1).await), ["a knows c"]);
    assert!(walk(0, 9).await.is_empty());
    let most = GraphQuery::new(Seeds::MostMentioned).with_limits(2, 9).with_hops(0);
    assert_eq!(names(&store.expand(&lin(), &most).await.unwrap()), ["a", "c"]);
}

pub async fn relations_are_filtered_by_validity(world: &World) {
    let store = store(world);
    let at = Timestamp::from_micros;
    let mut own = extraction_of(&["a", "b"], &[]);
    own.relations = vec![Relation::new("a", "ruled", "b").valid(Some(at(10)), Some(at(20)))];
    world.put_with_extraction(&numbered(&lin(), 1), own).await;
    let mut record = numbered(&lin(), 2);
    record.valid_from = Some(at(20));
    world.put_with_extraction(&record, relation("a", "left", "b")).await;
    world.put_with_extraction(&numbered(&lin(), 3), relation("a", "knows", "b")).await;
    let valid_at = async |time| {
        let mut facts = facts(&store.expand(&lin(), &GraphQuery::of(["a"]).at(at(time))).await.unwrap());
        facts.sort();
        facts
    };
    assert_eq!(valid_at(9).await, ["a knows b"]);
    assert_eq!(valid_at(10).await, ["a knows b", "a ruled b"]);
    assert_eq!(valid_at(20).await, ["a knows b", "a left b"], "a relation inherits the validity of its record");
    let found = store.neighbors(&lin(), "a").await.unwrap();
    let ruled = found.edges.iter().find(|edge| edge.relation == "ruled").unwrap();
    assert_eq!((ruled.valid_from, ruled.valid_until), (Some(at(10)), Some(at(20))));
}

pub async fn walks_equal_a_reference_model(world: &World) {
    reference::compare_walks(world).await;
}
