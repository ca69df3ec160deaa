//! Keyword search.

use std::sync::Arc;

use memory_engine_core::{
    BlockReason, ErrorKind, Field, Filter, Job, Outcome, PackedTerms, Pending, Record, Scope, Terms, Write,
};
use memory_engine_keyword_store::{Clause, KeywordEntry, KeywordQuery};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, assert_error_kind, find, id, lin, mo, numbered, session, terms},
};

async fn entry(world: &World, record: &Record, terms: Terms) -> KeywordEntry {
    KeywordEntry { record: Arc::new(world.stored(record).await.unwrap()), terms }
}

async fn put_and_index<const N: usize>(world: &World, record: &Record, words: [&str; N]) {
    world.put(&[record]).await;
    world.index(record, terms(words)).await;
}

pub async fn a_record_matches_exactly_its_terms(world: &World) {
    put_and_index(world, &numbered(&lin(), 1), ["docker", "部署", "问题"]).await;
    put_and_index(world, &numbered(&lin(), 2), ["雨"]).await;
    for word in ["docker", "部署", "问题"] {
        assert_eq!(world.found(&lin(), &[word]).await, [id(1)]);
    }
    for word in ["Docker", "dock", "docker ", "部", "部署问题", "", " ", "*"] {
        assert!(world.found(&lin(), &[word]).await.is_empty(), "'{word}' is not a term of a record");
    }
    let mut both = world.found(&lin(), &["雨", "snow", "docker"]).await;
    both.sort();
    assert_eq!(both, [id(1), id(2)]);
}

pub async fn a_query_without_terms_finds_nothing(world: &World) {
    put_and_index(world, &numbered(&lin(), 1), ["x"]).await;
    for clauses in [vec![], vec![Clause { terms: vec![], weight: 1.0 }]] {
        assert_eq!(world.keywords.search(&lin(), &KeywordQuery::new(clauses, LARGE_LIMIT)).await.unwrap(), []);
    }
}

pub async fn special_characters_are_not_query_syntax(world: &World) {
    let words = [
        "\"",
        "'",
        "''",
        "a\"b",
        "*",
        "a*",
        "%",
        "_",
        "a%",
        "OR",
        "AND",
        "NOT",
        "NEAR",
        "NEAR(a,b)",
        "-a",
        "+a",
        "^a",
        "a:b",
        "text:a",
        "(",
        ")",
        "{a}",
        "\\",
        "\\'",
        "|",
        "&",
        "!",
        "<->",
        ":*",
        "c++",
        "v1.2",
        "a@b.c",
        "🙂",
        "👩‍👩‍👧",
        "é",
        "e\u{301}",
        "ﬁ",
        "ß",
        "İ",
        "部",
        "$1",
        "?1",
        "\u{1}",
        "\u{200b}",
        "a\u{1f}b",
        ";--",
    ];
    for (word, number) in words.iter().zip(1..) {
        put_and_index(world, &numbered(&lin(), number), [*word]).await;
    }
    for (word, number) in words.iter().zip(1..) {
        assert_eq!(world.found(&lin(), &[word]).await, [id(number)], "'{word}'");
    }
    for phrase in ["a OR b", "\"c++ v1.2\"", "a* *", "é ß", "NOT x", "部*", "a"] {
        assert!(world.found(&lin(), &[phrase]).await.is_empty(), "'{phrase}'");
    }
}

pub async fn a_term_of_300_characters_is_found(world: &World) {
    let (long, longer) = ("长".repeat(300), "长".repeat(301));
    put_and_index(world, &numbered(&lin(), 1), [long.as_str()]).await;
    assert_eq!(world.found(&lin(), &[&long]).await, [id(1)]);
    assert!(world.found(&lin(), &[&longer]).await.is_empty());
}

pub async fn a_query_may_have_a_thousand_clauses(world: &World) {
    put_and_index(world, &numbered(&lin(), 1), ["w7"]).await;
    put_and_index(world, &numbered(&lin(), 2), ["w7", "w999"]).await;
    let clauses = (0..1000).map(|n| Clause::term(format!("w{n}"))).collect();
    let hits = world.keywords.search(&lin(), &KeywordQuery::new(clauses, 9)).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(2), id(1)]);
}

pub async fn equal_keyword_scores_are_ordered_by_id(world: &World) {
    for number in [5, 2, 4, 1, 3] {
        put_and_index(world, &numbered(&lin(), number), ["x"]).await;
    }
    for limit in [0, 1, 3, 5, 9, usize::MAX] {
        let query = KeywordQuery::new(vec![Clause::term("x")], limit);
        let hits = world.keywords.search(&lin(), &query).await.unwrap();
        let expected: Vec<_> = (1..=5).take(limit).map(id).collect();
        assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), expected);
    }
}

pub async fn new_terms_replace_old_ones(world: &World) {
    let record = numbered(&lin(), 1);
    put_and_index(world, &record, ["old", "both"]).await;
    world.index(&record, terms(["new", "both"])).await;
    assert!(world.found(&lin(), &["old"]).await.is_empty());
    assert_eq!(world.found(&lin(), &["both"]).await, [id(1)]);
    let twice = [entry(world, &record, terms(["first"])).await, entry(world, &record, terms(["last"])).await];
    world.keywords.upsert(&lin(), &twice).await.unwrap();
    assert_eq!(world.found(&lin(), &["last"]).await, [id(1)]);
    assert!(world.found(&lin(), &["first", "new", "both"]).await.is_empty());
    world.index(&record, Terms::default()).await;
    assert!(world.found(&lin(), &["last"]).await.is_empty());
}

pub async fn deleted_terms_are_not_found(world: &World) {
    for number in 1..=3 {
        put_and_index(world, &numbered(&session("a"), number), ["x"]).await;
    }
    world.keywords.delete(&session("b"), &[id(1)]).await.unwrap();
    world.keywords.delete(&mo(), &[id(1)]).await.unwrap();
    assert_eq!(world.found(&lin(), &["x"]).await.len(), 3, "another scope deletes nothing");
    world.keywords.delete(&lin(), &[id(1), id(99), id(1)]).await.unwrap();
    assert_eq!(world.found(&lin(), &["x"]).await, [id(2), id(3)]);
    world.forget(&session("a"), &[id(2)]).await;
    assert_eq!(world.found(&lin(), &["x"]).await, [id(3)]);
}

pub async fn indexed_terms_are_returned_by_record(world: &World) {
    put_and_index(world, &numbered(&session("a"), 1), ["docker", "部署", "docker"]).await;
    put_and_index(world, &numbered(&lin(), 2), ["雨"]).await;
    put_and_index(world, &numbered(&mo(), 3), ["hers"]).await;
    world.put(&[&numbered(&lin(), 4)]).await;
    let terms_of = async |scope: &Scope, numbers: &[u8]| {
        let ids: Vec<_> = numbers.iter().map(|number| id(*number)).collect();
        let found = world.keywords.terms(scope, &ids).await.unwrap();
        let pairs = |terms: PackedTerms| terms.iter().map(|(term, count)| (term.to_owned(), count)).collect::<Vec<_>>();
        found.into_iter().map(|terms| terms.map(pairs)).collect::<Vec<_>>()
    };
    let first = Some(vec![("docker".to_owned(), 2), ("部署".to_owned(), 1)]);
    let second = Some(vec![("雨".to_owned(), 1)]);
    assert_eq!(
        terms_of(&lin(), &[2, 3, 1, 4, 9, 2]).await,
        [second.clone(), None, first.clone(), None, None, second],
        "in the order of the ids; nothing of another user, of a record without terms or of an unknown id"
    );
    assert_eq!(terms_of(&session("a"), &[1, 2]).await, [first, None]);
    assert_eq!(terms_of(&lin(), &[]).await, []);
    world.keywords.delete(&lin(), &[id(2)]).await.unwrap();
    assert_eq!(terms_of(&lin(), &[2]).await, [None]);
}

pub async fn terms_outside_the_scope_are_unauthorized(world: &World) {
    let (lins, mos) = (numbered(&lin(), 1), numbered(&mo(), 2));
    world.put(&[&lins]).await;
    world.put(&[&mos]).await;
    let batch = [entry(world, &lins, terms(["x"])).await, entry(world, &mos, terms(["x"])).await];
    assert_error_kind(ErrorKind::Unauthorized, world.keywords.upsert(&lin(), &batch).await);
    assert_error_kind(ErrorKind::Unauthorized, world.keywords.upsert(&session("a"), &batch[..1]).await);
    assert!(world.found(&lin(), &["x"]).await.is_empty() && world.found(&mo(), &["x"]).await.is_empty());
}

pub async fn keyword_search_stays_in_scope(world: &World) {
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let addresses = [session("a"), session("b"), lin(), mo(), tenant.clone()];
    for (address, number) in addresses.iter().zip(1..) {
        put_and_index(world, &numbered(address, number), ["x"]).await;
    }
    for scope in &addresses {
        let expected: Vec<_> =
            addresses.iter().zip(1..).filter(|(address, _)| scope.covers(address)).map(|(_, n)| id(n)).collect();
        let mut found = world.found(scope, &["x"]).await;
        found.sort();
        assert_eq!(found, expected, "{scope}");
    }
    assert!(world.found(&Scope::tenant_wide("other").unwrap(), &["x"]).await.is_empty());
}

pub async fn keyword_search_rejects_an_invalid_filter(world: &World) {
    let query = find(&["x"]).with_filter(Some(Filter::eq(Field::OccurredAt, "monday")));
    assert_error_kind(ErrorKind::InvalidInput, world.keywords.search(&lin(), &query).await);
}

pub async fn terms_in_a_write_are_indexed_or_queued(world: &World) {
    let write = Write { terms: Some(terms(["x"])), ..Write::upsert(numbered(&lin(), 1)) };
    let written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
    assert!(written.pending.contains(&Job::Embedding));
    if written.pending.contains(&Job::Keywords) {
        world.index(&numbered(&lin(), 1), terms(["x"])).await;
    }
    assert_eq!(world.found(&lin(), &["x"]).await, [id(1)]);
    // The terms of a blocked write are not stored.
    world.forget(&lin(), &[id(1)]).await;
    let write = Write { terms: Some(terms(["x"])), ..Write::upsert(numbered(&lin(), 1)) };
    let written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
    assert_eq!(written.outcome, Outcome::Blocked(BlockReason::Id));
    assert!(world.found(&lin(), &["x"]).await.is_empty());
}

pub async fn a_late_keyword_entry_of_a_deleted_record_is_removed(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let pending = world.jobs.claim(Job::Keywords, 1, std::time::Duration::from_secs(60)).await.unwrap();
    let late = entry(world, &record, terms(["x"])).await;
    world.forget(&lin(), &[id(1)]).await;
    // A worker that holds the old record indexes it, completes the job, and deletes the entry because the job is stale.
    world.keywords.upsert(&lin(), &[late]).await.unwrap();
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [false]);
    world.keywords.delete(&lin(), &[id(1)]).await.unwrap();
    assert!(world.found(&lin(), &["x"]).await.is_empty());
}
