//! Checks that hits and scores equal those of the in-memory stores, to the last bit.

use std::sync::Arc;

use memory_engine_core::{
    Field, Filter, FilterValue, Hit, Kind, Op, Record, RecordStore, ScanQuery, Scope, SystemClock, Terms,
};
use memory_engine_keyword_store::{Clause, KeywordEntry, KeywordQuery, KeywordStore, MemoryKeywordStore, WeightedTerm};
use memory_engine_sqlite::SqliteStore;
use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use tokio::runtime::Runtime;

use crate::fixtures::{open, write};

/// Runs cases against one store; each works in a tenant of its own.
fn for_all<S: Strategy>(cases: u32, strategy: S, check: impl AsyncFn(&SqliteStore, String, S::Value)) {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(open(&directory.path().join("memory.db")));
    let mut runner = TestRunner::deterministic();
    for case in 0..cases {
        let value = strategy.new_tree(&mut runner).unwrap().current();
        runtime.block_on(check(&store, format!("case {case}"), value));
    }
}

/// Terms that a tokenizer or a query language could split or interpret.
fn term() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(vec![
            "c++", "3.14", "col:x", "\"", "\"\"", "a\"b", "'", "NEAR", "AND", "NOT", "*", "a*", "-", "^", "{", "(", ")",
            "雨", "海鲜",
            "😀", "👨‍👩‍👧", "é", "e\u{301}", "A", "a", "ſ", "s", "\u{1}", "\u{7f}", "\u{200b}", "t1n1", "x", "0",
            "\u{0}", "a\u{0}b", "ab",
        ]).prop_map(str::to_owned),
        2 => "\\PC{1,12}",
        1 => any::<String>(),
        1 => proptest::sample::select(vec!["long".repeat(20_000), "long".repeat(20_001)]),
    ]
}

fn scope(tenant: &str, (user, agent, session): (u8, u8, u8)) -> Scope {
    let mut scope = Scope::tenant_wide(tenant).unwrap();
    if user > 0 {
        scope = scope.with_user(format!("user {user}")).unwrap();
    }
    if agent > 0 {
        scope = scope.with_agent(format!("\"{agent}\" *")).unwrap();
    }
    if session > 0 {
        scope = scope.with_session(format!("\"{session}\" *")).unwrap();
    }
    scope
}

fn addresses() -> impl Strategy<Value = (u8, u8, u8)> {
    (0..3_u8, 0..3_u8, 0..3_u8)
}

#[test]
fn any_terms_in_any_scope_score_as_they_do_in_memory() {
    let documents = vec((addresses(), vec(term(), 0..12)), 1..25);
    let clause = (vec((term(), 0.0..2.0_f64), 0..4), -1.0..2.0_f64).prop_map(|(terms, weight)| Clause {
        terms: terms.into_iter().map(|(term, weight)| WeightedTerm { term, weight }).collect(),
        weight,
    });
    let queries = vec((addresses(), vec(clause, 0..6), 0..12_usize), 1..10);
    for_all(60, (documents, queries), async |store, tenant, (documents, queries)| {
        let memory = MemoryKeywordStore::new();
        let tenant_wide = Scope::tenant_wide(&tenant).unwrap();
        let queries: Vec<(Scope, KeywordQuery)> = queries
            .into_iter()
            .map(|(address, clauses, limit)| {
                let filter = (limit % 3 == 0).then_some(Filter::Exists(Field::Session));
                (scope(&tenant, address), KeywordQuery::new(clauses, limit).with_filter(filter))
            })
            .collect();
        // The first search of a user reads the file. Later ones use the index in memory, which is updated after each
        // write.
        let assert_agreement = async || {
            for (scope, query) in &queries {
                let expected: Vec<Hit> = memory.search(scope, query).await.unwrap();
                let found = KeywordStore::search(store, scope, query).await.unwrap();
                assert_eq!(found, expected, "{scope}: {query:?}");
            }
        };
        for (n, (address, terms)) in documents.into_iter().enumerate() {
            let mut record = Record::new(scope(&tenant, address), Kind::TURN, "text", &SystemClock);
            let terms: Terms = terms.into_iter().collect();
            let mut write = write(&record);
            write.terms = Some(terms.clone());
            store.put(&tenant_wide, vec![write]).await.unwrap();
            record.revision = 1;
            let (scope, id) = (record.scope.clone(), record.id);
            let entry = KeywordEntry { record: Arc::new(record), terms };
            memory.upsert(&tenant_wide, &[entry]).await.unwrap();
            if n % 7 == 3 {
                RecordStore::delete(store, &scope, &[id]).await.unwrap();
                KeywordStore::delete(&memory, &scope, &[id]).await.unwrap();
            }
            if n % 5 == 4 {
                assert_agreement().await;
            }
        }
        assert_agreement().await;
        assert_agreement().await;
    });
}

#[test]
fn numbers_in_metadata_compare_as_they_do_in_memory() {
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
    for_all(300, (vec(stored, 1..8), vec(number, 0..4)), async |store, tenant, (stored, other_numbers)| {
        let lin = Scope::tenant_wide(tenant).unwrap().with_user("lin").unwrap();
        let mut records = Vec::new();
        for value in &stored {
            let mut record = Record::new(lin.clone(), Kind::TURN, "text", &SystemClock);
            record.metadata.insert("n".into(), value.clone());
            records.push(record);
        }
        store.put(&lin, records.iter().map(write).collect()).await.unwrap();
        let scanned = store.scan(&lin, &ScanQuery::oldest(100)).await.unwrap().records;
        assert!(scanned.iter().zip(&records).all(|(found, written)| found.same_content(written)));
        for number in stored.iter().filter_map(serde_json::Value::as_f64).chain(other_numbers) {
            for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
                let filter = Filter::Compare(Field::Metadata("n".into()), op, FilterValue::Number(number));
                let found = store.scan(&lin, &ScanQuery::oldest(100).with_filter(filter.clone())).await.unwrap();
                let expected: Vec<_> = records.iter().filter(|r| filter.matches(r)).map(|r| r.id).collect();
                assert_eq!(
                    found.records.iter().map(|r| r.id).collect::<Vec<_>>(),
                    expected,
                    "{stored:?} {op:?} {number:?}"
                );
            }
        }
    });
}
