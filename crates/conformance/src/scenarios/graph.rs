//! Entities and relations of records: how they are stored, replaced and removed. `walks` has the walks along them.

mod helpers;
mod reference;
mod walks;

use std::collections::BTreeSet;

use memory_engine_core::{
    DeletionReport, ErrorKind, Field, Filter, Kind, Op, RemovalCounts, RuleId, Scope, State, Trust,
};
use memory_engine_graph::{
    Edge, Entity, EntityId, EntityKind, Extraction, GraphEntry, GraphQuery, GraphStats, GraphStoreExt, Relation,
    Subgraph,
};

use crate::{
    World,
    fixtures::{assert_error_kind, at_angle, id, lin, mo, numbered, session, terms},
};

use helpers::{all, extraction_of, facts, names, relation, store};
pub use walks::{
    a_filter_limits_an_inherited_branch_to_the_fork, a_reader_sees_only_extractions_in_scope,
    a_tenant_wide_walk_keeps_users_separate, a_walk_stops_at_its_hop_limit, limits_keep_the_most_supported_relations,
    relations_are_filtered_by_validity, walks_equal_a_reference_model,
};

pub async fn entities_and_relations_cite_their_record(world: &World) {
    let store = store(world);
    let mut extraction = relation("Anna Reed", "lives in", "青石村");
    extraction.entities[0].kind = EntityKind::Person;
    extraction.entities[1].kind = EntityKind::Place;
    world.put_with_extraction(&numbered(&session("s"), 1), extraction).await;
    let found = store.neighbors(&lin(), "ＡＮＮＡ reed").await.unwrap();
    let entity = |name: &str, kind, hops| Entity {
        id: EntityId::of(&lin(), name),
        name: name.to_owned(),
        kind,
        aliases: Vec::new(),
        mentions: 1,
        evidence: vec![id(1)],
        hops,
    };
    let (anna, village) = (entity("Anna Reed", EntityKind::Person, 0), entity("青石村", EntityKind::Place, 1));
    let edge = Edge {
        source: anna.id,
        relation: "lives in".into(),
        target: village.id,
        valid_from: None,
        valid_until: None,
        records: 1,
        evidence: vec![id(1)],
        rules: Vec::new(),
        hops: 0,
    };
    assert_eq!(found, Subgraph { entities: vec![anna, village], edges: vec![edge] });
    assert_eq!(store.neighbors(&lin(), "青石村").await.unwrap().edges.len(), 1, "from the target, too");
    assert!(store.neighbors(&lin(), "Anna").await.unwrap().is_empty(), "a part of a name is not a name");
}

pub async fn relations_list_their_rules(world: &World) {
    let store = store(world);
    let co_occurs = RuleId::from_static("sentence.co-occurs");
    let stated_by = |rule: Option<&RuleId>| {
        let mut extraction = relation("a", "knows", "b");
        extraction.relations[0].rule = rule.cloned();
        extraction
    };
    world.put_with_extraction(&numbered(&lin(), 1), stated_by(Some(&RuleId::MODEL))).await;
    assert_eq!(all(store, &lin()).await.edges[0].rules, [RuleId::MODEL]);
    world.put_with_extraction(&numbered(&lin(), 2), stated_by(Some(&co_occurs))).await;
    world.put_with_extraction(&numbered(&lin(), 3), stated_by(None)).await;
    world.put_with_extraction(&numbered(&lin(), 4), stated_by(Some(&co_occurs))).await;
    let edges = all(store, &lin()).await.edges;
    assert_eq!((edges.len(), edges[0].records), (1, 4), "the rule is not a part of the identity of a relation");
    assert_eq!(edges[0].rules, [RuleId::MODEL, co_occurs], "each rule once, in alphabetical order");
    let mut twice = stated_by(Some(&RuleId::MODEL));
    twice.relations.push(Relation::new("a", "knows", "b"));
    world.put_extraction(&numbered(&lin(), 2), twice).await;
    assert_eq!(all(store, &lin()).await.edges[0].records, 4, "one record states a relation once");
}

pub async fn an_upsert_replaces_the_extraction(world: &World) {
    let store = store(world);
    let record = numbered(&lin(), 1);
    world.put_with_extraction(&record, relation("a", "knows", "b")).await;
    let before = all(store, &lin()).await;
    world.put_extraction(&record, relation("a", "knows", "b")).await;
    assert_eq!(all(store, &lin()).await, before);
    assert_eq!(store.stats(&lin()).await.unwrap(), GraphStats::new(2, 1, 1));
    world.put_extraction(&record, relation("a", "met", "c")).await;
    assert_eq!(facts(&all(store, &lin()).await), ["a met c"]);
    world.put_extraction(&record, Extraction::default()).await;
    assert!(all(store, &lin()).await.is_empty(), "an empty extraction removes the old one");
    assert_eq!(store.stats(&lin()).await.unwrap(), GraphStats::default());
}

pub async fn edges_and_entities_vanish_with_their_last_evidence(world: &World) {
    let store = store(world);
    for number in 1..4 {
        world.put_with_extraction(&numbered(&lin(), number), relation("a", "knows", "b")).await;
    }
    world.put_with_extraction(&numbered(&lin(), 4), extraction_of(&["a"], &[])).await;
    let found = all(store, &lin()).await;
    assert_eq!((found.edges[0].records, &found.edges[0].evidence), (3, &vec![id(3), id(2), id(1)]), "latest first");
    assert_eq!((found.entities[0].mentions, found.entities[1].mentions), (4, 3));
    store.delete(&mo(), &[id(1)]).await.unwrap();
    store.delete(&lin(), &[id(1), id(3), id(9)]).await.unwrap();
    let found = all(store, &lin()).await;
    assert_eq!((found.edges[0].records, &found.edges[0].evidence), (1, &vec![id(2)]));
    store.delete(&lin(), &[id(2)]).await.unwrap();
    let found = all(store, &lin()).await;
    assert_eq!((names(&found), found.edges.len()), (vec!["a"], 0), "b was only mentioned with the edge");
    store.delete(&lin(), &[id(4)]).await.unwrap();
    assert!(all(store, &lin()).await.is_empty());
}

pub async fn aliases_merge_entities(world: &World) {
    let store = store(world);
    let mut named = extraction_of(&["Anna Reed"], &[]);
    named.entities[0].aliases = vec!["Red".into(), "小红".into()];
    let (one, two) = (session("one"), session("two"));
    world.put_with_extraction(&numbered(&one, 1), named).await;
    world.put_with_extraction(&numbered(&one, 2), relation("Red", "owns", "boat")).await;
    world.put_with_extraction(&numbered(&one, 3), relation("小紅", "sold", "boat")).await;
    world.put_with_extraction(&numbered(&two, 4), relation("Red", "is", "colour")).await;
    let found = store.neighbors(&one, "red").await.unwrap();
    assert_eq!(names(&found), ["Anna Reed", "boat"]);
    assert_eq!(facts(&found), ["Anna Reed sold boat", "Anna Reed owns boat"]);
    let anna = &found.entities[0];
    assert_eq!((anna.mentions, &anna.evidence), (3, &vec![id(3), id(2), id(1)]));
    assert_eq!(anna.aliases.len(), 2, "{:?}", anna.aliases);
    assert_eq!(store.neighbors(&one, "Anna Reed").await.unwrap(), found, "by any name");
    let other = store.neighbors(&two, "red").await.unwrap();
    assert_eq!(names(&other), ["Red", "colour"], "another session has no alias");
    store.delete(&one, &[id(1)]).await.unwrap();
    assert_eq!(
        facts(&store.neighbors(&one, "red").await.unwrap()),
        ["Red owns boat"],
        "the alias was deleted with its record"
    );
}

pub async fn a_shared_alias_does_not_merge_entities(world: &World) {
    let store = store(world);
    for (number, name) in [(1, "Anna"), (2, "Bob")] {
        let mut extraction = extraction_of(&[name], &[]);
        extraction.entities[0].aliases = vec!["the captain".into()];
        world.put_with_extraction(&numbered(&lin(), number), extraction).await;
    }
    assert_eq!(names(&store.entities(&lin(), &["The Captain"]).await.unwrap()), ["Anna", "Bob"]);
    assert_eq!(names(&store.entities(&lin(), &["anna"]).await.unwrap()), ["Anna"]);
}

pub async fn an_invalid_extraction_rejects_its_batch(world: &World) {
    let store = store(world);
    let good = numbered(&lin(), 1);
    world.put(&[&good, &numbered(&lin(), 2)]).await;
    world.put(&[&numbered(&mo(), 3)]).await;
    let good = GraphEntry::new(world.stored(&good).await.unwrap(), relation("a", "knows", "b"));
    let bad = [
        extraction_of(&[" "], &[]),
        extraction_of(&["a", "Ａ"], &[]),
        extraction_of(&["a\0"], &[]),
        extraction_of(&["a"], &[("a", "knows", "b")]),
    ];
    for extraction in bad
        .into_iter()
        .chain([extraction_of(&["a", "b"], &[("a", "", "b")]), extraction_of(&["a"], &[("a", "is", "a")])])
    {
        let entries = [good.clone(), GraphEntry::new(numbered(&lin(), 2), extraction)];
        assert_error_kind(ErrorKind::InvalidInput, store.upsert(&lin(), &entries).await);
    }
    let foreign = [good, GraphEntry::new(numbered(&mo(), 3), relation("a", "knows", "b"))];
    assert_error_kind(ErrorKind::Unauthorized, store.upsert(&lin(), &foreign).await);
    assert!(all(store, &lin()).await.is_empty());
    let too_many_hops = GraphQuery::of(["a"]).with_hops(GraphQuery::MAX_HOPS + 1);
    assert_error_kind(ErrorKind::InvalidInput, store.expand(&lin(), &too_many_hops).await);
    let invalid = GraphQuery::of(["a"]).with_filter(Some(Filter::compare(Field::Confidence, Op::Lt, "high")));
    assert_error_kind(ErrorKind::InvalidInput, store.expand(&lin(), &invalid).await);
}

pub async fn special_characters_round_trip_in_names(world: &World) {
    let store = store(world);
    let odd = ["O'Brien \"Bob\"", "%_*", "🦅 Falke", "'; DROP TABLE graph_entities; --", "İstanbul", "C++"];
    let relations: Vec<_> = odd[1..].iter().map(|name| (odd[0], "it's \\ \"so\"", *name)).collect();
    world.put_with_extraction(&numbered(&lin(), 1), extraction_of(&odd, &relations)).await;
    let found = store.neighbors(&lin(), odd[0]).await.unwrap();
    assert_eq!(BTreeSet::from_iter(names(&found)), BTreeSet::from(odd));
    assert_eq!(found.edges[0].relation, "it's \\ \"so\"");
    for name in odd {
        assert_eq!(names(&store.entities(&lin(), &[name]).await.unwrap()), [name]);
    }
}

pub async fn clear_removes_extractions_in_scope(world: &World) {
    let store = store(world);
    for (number, scope) in (1..).zip([session("a"), session("b"), mo()]) {
        world.put_with_extraction(&numbered(&scope, number), relation("x", "knows", "y")).await;
    }
    store.clear(&session("a")).await.unwrap();
    let extractions = async |scope: &Scope| store.stats(scope).await.unwrap().records;
    assert_eq!((extractions(&lin()).await, extractions(&session("b")).await, extractions(&mo()).await), (1, 1, 1));
    store.clear(&Scope::tenant_wide("other").unwrap()).await.unwrap();
    store.clear(&lin()).await.unwrap();
    assert_eq!((extractions(&lin()).await, extractions(&mo()).await), (0, 1));
    store.upsert(&lin(), &[]).await.unwrap();
    store.delete(&lin(), &[]).await.unwrap();
    assert!(store.expand(&lin(), &GraphQuery::of(Vec::<String>::new())).await.unwrap().is_empty());
}

pub async fn a_deletion_reports_removals_per_store(world: &World) {
    let store = store(world);
    let mut fact = numbered(&session("b"), 2);
    (fact.kind, fact.trust, fact.derived_from) = (Kind::FACT, Trust::Derived, vec![id(1)]);
    let records = [numbered(&session("a"), 1), fact, numbered(&lin(), 3)];
    for (record, angle) in records.iter().zip([0.1, 0.2, 0.3]) {
        let mut extraction = relation("x", "knows", "y");
        extraction.entities[0].aliases = vec!["xx".into(), "xxx".into()];
        world.put_with_extraction(record, extraction).await;
        world.index(record, terms(["word"])).await;
        world.embed(record, at_angle(angle)).await;
    }
    let queued_and_tombstones = async || {
        let stats = world.records.stats(&lin()).await.unwrap();
        (stats.queued.values().sum::<u64>(), stats.tombstones)
    };
    let before = queued_and_tombstones().await;
    let DeletionReport { ids, mut removed } = world.records.delete(&lin(), &[id(1), id(99), id(1)]).await.unwrap();
    assert_eq!(ids, [1, 2].map(id));
    // If all stores share a database, the deletion has already removed and counted the entries.
    for _ in 0..2 {
        removed.keywords += world.keywords.delete(&lin(), &ids).await.unwrap();
        removed.vectors += world.vectors.delete(&lin(), &ids).await.unwrap();
        removed += store.delete(&lin(), &ids).await.unwrap();
    }
    let mut expected = RemovalCounts::default();
    expected.records = [("fact".to_owned(), 1), ("turn".to_owned(), 1)].into();
    (expected.cascade_deleted, expected.keywords, expected.vectors) = (1, 2, 2);
    (expected.mentions, expected.aliases, expected.relations) = (4, 4, 2);
    (expected.queued, expected.tombstones) = (before.0 - queued_and_tombstones().await.0, 2);
    assert!(expected.queued >= 2, "at least the embedding jobs");
    assert_eq!(removed, expected);
    let again = world.records.delete(&lin(), &[id(1)]).await.unwrap();
    assert_eq!(again, DeletionReport::default(), "a deleted record is not counted again");
}

pub async fn an_extraction_is_deleted_with_its_record(world: &World) {
    let store = store(world);
    let records = [1, 2, 3, 4].map(|n| numbered(&lin(), n));
    for (record, name) in records.iter().zip(["a", "b", "c", "d"]) {
        world.put_with_extraction(record, extraction_of(&[name], &[])).await;
    }
    let stale = world.stored(&records[1]).await.unwrap();
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    let mut changed = records[1].clone();
    changed.text.push('!');
    let mut inactive = records[2].clone();
    inactive.state = State::Superseded;
    world.put(&[&changed, &inactive]).await;
    assert_eq!(names(&all(store, &lin()).await), ["d"], "the others are deleted, changed or inactive");
    let late = [&records[0], &stale, &inactive].map(|r| GraphEntry::new(r.clone(), extraction_of(&["late"], &[])));
    store.upsert(&lin(), &late).await.unwrap();
    assert_eq!(names(&all(store, &lin()).await), ["d"]);
}

pub async fn boxed_graph_stores_forward_every_call(world: &World) {
    let boxed = world.boxed();
    edges_and_entities_vanish_with_their_last_evidence(&boxed).await;
    a_walk_stops_at_its_hop_limit(&boxed).await;
    let store = store(&boxed);
    store.clear(&lin()).await.unwrap();
    assert_eq!(store.stats(&lin()).await.unwrap(), GraphStats::default());
}
