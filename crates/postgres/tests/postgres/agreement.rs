//! Checks that hits and scores equal those of the in-memory stores, to the last bit.

use std::sync::Arc;

use memory_engine_core::{
    Field, Filter, FilterValue, Hit, Kind, Op, PutMode, Record, RecordStore, ScanQuery, Scope, SystemClock, Terms,
    Write,
};
use memory_engine_keyword_store::{Clause, KeywordEntry, KeywordQuery, KeywordStore, MemoryKeywordStore, WeightedTerm};
use memory_engine_postgres::PostgresStore;
use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};

use crate::fixtures::Database;

/// Checks generated cases against one store. Each case has a separate tenant.
async fn for_all<S: Strategy>(
    store: &PostgresStore,
    cases: u32,
    strategy: S,
    check: impl AsyncFn(&PostgresStore, String, S::Value),
) {
    let mut runner = TestRunner::deterministic();
    for case in 0..cases {
        let value = strategy.new_tree(&mut runner).unwrap().current();
        check(store, format!("case {case}"), value).await;
    }
}

/// Terms with characters that have a meaning in SQL literals, in `tsquery` or for a tokenizer.
fn term() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(vec![
            "c++", "3.14", "col:x", "\"", "'", "''", "\\", "\\'", "a'b", ":*", "a:*", "&", "|", "!", "<->", "(", ")",
            "雨", "海鲜", "😀", "👨‍👩‍👧", "é", "e\u{301}", "A", "a", "ſ", "s", "\u{1}",
            "\u{7f}", "\u{200b}", "x", "0", "\u{0}", "a\u{0}b", "ab",
        ]).prop_map(str::to_owned),
        2 => "\\PC{1,12}",
        1 => any::<String>(),
        1 => proptest::sample::select(vec!["long".repeat(20_000), "long".repeat(20_001), "x".repeat(2001)]),
    ]
}

fn scope(tenant: &str, place: (u8, u8, u8)) -> Scope {
    let (user, agent, session) = place;
    let mut scope = Scope::tenant_wide(tenant).unwrap();
    if user > 0 {
        scope = scope.with_user(format!("user {user}")).unwrap();
    }
    if agent > 0 {
        scope = scope.with_agent(format!("'{agent}' *")).unwrap();
    }
    if session > 0 {
        scope = scope.with_session(format!("'{session}' *")).unwrap();
    }
    scope
}

fn places() -> impl Strategy<Value = (u8, u8, u8)> {
    (0..3_u8, 0..3_u8, 0..3_u8)
}

pub(crate) async fn keyword_hits_equal_those_in_memory(database: &Database) {
    let documents = vec((places(), vec(term(), 0..8)), 1..20);
    let clause = (vec((term(), 0.0..2.0_f64), 0..4), -1.0..2.0_f64).prop_map(|(terms, weight)| Clause {
        terms: terms.into_iter().map(|(term, weight)| WeightedTerm { term, weight }).collect(),
        weight,
    });
    let queries = vec((places(), vec(clause, 0..6), 0..12_usize), 1..10);
    let store = database.open().await;
    for_all(&store, 40, (documents, queries), async |store, tenant, (documents, queries)| {
        let memory = MemoryKeywordStore::new();
        let everything = Scope::tenant_wide(&tenant).unwrap();
        let mut writes = Vec::new();
        for (place, terms) in documents {
            let mut record = Record::new(scope(&tenant, place), Kind::TURN, "text", &SystemClock);
            let terms: Terms = terms.into_iter().collect();
            let write = Write { terms: Some(terms.clone()), ..Write::new(record.clone(), PutMode::Create) };
            writes.push(write);
            record.revision = 1;
            memory.upsert(&everything, &[KeywordEntry { record: Arc::new(record), terms }]).await.unwrap();
        }
        store.put(&everything, writes).await.unwrap();
        for (place, clauses, limit) in queries {
            let scope = scope(&tenant, place);
            let filter = (limit % 3 == 0).then_some(Filter::Exists(Field::Session));
            let query = KeywordQuery::new(clauses, limit).with_filter(filter);
            let expected: Vec<Hit> = memory.search(&scope, &query).await.unwrap();
            let found = KeywordStore::search(store, &scope, &query).await.unwrap();
            assert_eq!(found, expected, "{scope}: {query:?}");
        }
    })
    .await;
}

/// Many records with few different terms: the server ranks them, and many have equal scores.
pub(crate) async fn the_server_ranks_records_as_in_memory(database: &Database) {
    let term = || proptest::sample::select(vec!["a", "ab", "abc", "b", "雨", "雨天", "'", "\\", "rare", "common"]);
    let documents = vec((places(), vec(term(), 0..9), 0..3_u8), 60..160);
    let clause = (vec((term(), 0.1..2.0_f64), 1..3), 0.1..2.0_f64).prop_map(|(terms, weight)| Clause {
        terms: terms.into_iter().map(|(term, weight)| WeightedTerm { term: term.to_owned(), weight }).collect(),
        weight,
    });
    let simple_clause = term().prop_map(Clause::term);
    let clauses = prop_oneof![vec(clause, 1..5), vec(simple_clause, 1..4)];
    let queries = vec((places(), clauses, 0..14_usize), 20..30);
    let store = database.open().await;
    for_all(&store, 12, (documents, queries), async |store, tenant, (documents, queries)| {
        let memory = MemoryKeywordStore::new();
        let everything = Scope::tenant_wide(&tenant).unwrap();
        let mut writes = Vec::new();
        for (place, terms, commons) in documents {
            let mut record = Record::new(scope(&tenant, place), Kind::TURN, "text", &SystemClock);
            let commons = std::iter::repeat_n("common", commons.into());
            let terms: Terms = terms.into_iter().chain(commons).map(str::to_owned).collect();
            writes.push(Write { terms: Some(terms.clone()), ..Write::new(record.clone(), PutMode::Create) });
            record.revision = 1;
            memory.upsert(&everything, &[KeywordEntry { record: Arc::new(record), terms }]).await.unwrap();
        }
        store.put(&everything, writes).await.unwrap();
        for (place, clauses, limit) in queries {
            for scope in [scope(&tenant, place), everything.clone()] {
                let filter = (limit % 3 == 0).then_some(Filter::Exists(Field::Session));
                let query = KeywordQuery::new(clauses.clone(), limit).with_filter(filter);
                let expected: Vec<Hit> = memory.search(&scope, &query).await.unwrap();
                let found = KeywordStore::search(store, &scope, &query).await.unwrap();
                assert_eq!(found, expected, "{scope}: {query:?}");
                let records = KeywordStore::search_records(store, &scope, &query).await.unwrap().unwrap();
                for (found, hit) in records.iter().zip(&expected) {
                    assert_eq!((found.hit, found.record.record.id), (*hit, hit.id), "{scope}: {query:?}");
                    let terms = memory.terms(&everything, &[hit.id]).await.unwrap().remove(0);
                    assert_eq!(found.record.terms, terms);
                }
                assert_eq!(records.len(), expected.len());
            }
        }
    })
    .await;
}

/// A record with more terms than a `tsvector` can hold is found by each of its terms.
pub(crate) async fn records_with_many_terms_are_found(database: &Database) {
    let store = database.open().await;
    let memory = MemoryKeywordStore::new();
    let lin = Scope::user("lin").unwrap();
    for count in [10, 60_000, 120_000] {
        let mut record = Record::new(lin.clone(), Kind::TURN, "text", &SystemClock);
        let terms: Terms = (0..count).map(|n| format!("term{n}")).chain(["common".to_owned()]).collect();
        let write = Write { terms: Some(terms.clone()), ..Write::new(record.clone(), PutMode::Create) };
        store.put(&lin, vec![write]).await.unwrap();
        record.revision = 1;
        memory.upsert(&lin, &[KeywordEntry { record: Arc::new(record), terms }]).await.unwrap();
    }
    for words in [&["common"][..], &["term9"], &["term59999"], &["term119999", "term3"], &["nowhere"]] {
        let query = KeywordQuery::new(words.iter().map(|word| Clause::term(*word)).collect(), 9);
        let expected = memory.search(&lin, &query).await.unwrap();
        assert_eq!(KeywordStore::search(&store, &lin, &query).await.unwrap(), expected, "{words:?}");
        assert_eq!(expected.is_empty(), words == ["nowhere"]);
    }
}

pub(crate) async fn metadata_numbers_compare_as_in_memory(database: &Database) {
    let number = prop_oneof![
        any::<f64>().prop_filter("finite", |n| n.is_finite()),
        -10.0..10.0_f64,
        (-1000..1000_i32).prop_map(|n| f64::from(n) / 10.0),
        any::<i64>().prop_map(|n| n as f64),
    ];
    let stored = prop_oneof![
        number.clone().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
    ];
    let store = database.open().await;
    for_all(&store, 60, (vec(stored, 1..8), vec(number, 0..4)), async |store, tenant, (stored, others)| {
        let lin = Scope::tenant_wide(tenant).unwrap().with_user("lin").unwrap();
        let mut records = Vec::new();
        for value in &stored {
            let mut record = Record::new(lin.clone(), Kind::TURN, "text", &SystemClock);
            record.metadata.insert("n".into(), value.clone());
            records.push(record);
        }
        store.put(&lin, records.iter().cloned().map(Write::upsert).collect()).await.unwrap();
        let everything = store.scan(&lin, &ScanQuery::oldest(100)).await.unwrap().records;
        assert!(everything.iter().zip(&records).all(|(found, written)| found.same_content(written)));
        for number in stored.iter().filter_map(serde_json::Value::as_f64).chain(others) {
            for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
                let filter = Filter::Compare(Field::Metadata("n".into()), op, FilterValue::Number(number));
                let found = store.scan(&lin, &ScanQuery::oldest(100).with_filter(filter.clone())).await.unwrap();
                let expected: Vec<_> = records.iter().filter(|r| filter.matches(r)).map(|r| r.id).collect();
                let found: Vec<_> = found.records.iter().map(|r| r.id).collect();
                assert_eq!(found, expected, "{stored:?} {op:?} {number:?}");
            }
        }
    })
    .await;
}
