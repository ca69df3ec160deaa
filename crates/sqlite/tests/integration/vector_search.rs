//! Searches through scopes and time windows equal a scan of every record.

use std::collections::BTreeMap;

use memory_engine_core::{Embedding, Field, Filter, Op, Record, RecordId, RecordStore, Scope, Timestamp, Write};
use memory_engine_vector_store::{VectorQuery, VectorStore};

use crate::fixtures::{lin, open, turn, vector, words};

fn cosine(a: &Embedding, b: &Embedding) -> f64 {
    let dot = |a: &Embedding, b: &Embedding| {
        a.values().iter().zip(b.values()).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn at(op: Op, micros: i64) -> Filter {
    Filter::compare(Field::OccurredAt, op, Timestamp::from_micros(micros))
}

/// Two stores on one file: one writes, and the other one, which has loaded its indexes before, searches.
#[tokio::test]
async fn searches_within_scopes_and_time_windows_equal_a_full_scan() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (writer, reader) = (open(&path).await, open(&path).await);
    let users = [lin(), Scope::user("mo").unwrap(), Scope::user("mo").unwrap().with_agent("kai").unwrap()];
    let mut model: BTreeMap<RecordId, (Record, Embedding)> = BTreeMap::new();
    let tenant = Scope::tenant_wide(lin().tenant()).unwrap();
    for round in 0..4_u64 {
        let mut writes = Vec::new();
        for n in round * 150..(round + 1) * 150 {
            let mut record = turn(&users[(n % 3) as usize], &format!("猫 number {n}"));
            record.occurred_at = Timestamp::from_micros(((n * 7919) % 1000) as i64);
            let embedding = vector(n);
            writes.push(Write {
                terms: Some(words(&record.text)),
                embedding: Some(embedding.clone()),
                ..Write::upsert(record.clone())
            });
            model.insert(record.id, (record, embedding));
        }
        writer.put(&tenant, writes).await.unwrap();
        // Some records are deleted. Others get another time, which does not change their vectors.
        let ids: Vec<RecordId> = model.keys().copied().collect();
        for id in ids.iter().skip(round as usize).step_by(23) {
            let scope = model[id].0.scope.clone();
            RecordStore::delete(&writer, &scope, &[*id]).await.unwrap();
            model.remove(id);
        }
        for id in ids.iter().skip(3).step_by(17) {
            let Some((record, _)) = model.get_mut(id) else { continue };
            record.occurred_at = Timestamp::from_micros(2000 + record.occurred_at.as_micros() / 2);
            writer
                .put(&tenant, vec![Write { terms: Some(words(&record.text)), ..Write::upsert(record.clone()) }])
                .await
                .unwrap();
        }
        let filters = [
            None,
            Some(at(Op::Ge, 100).and(at(Op::Lt, 160))),
            Some(at(Op::Gt, 1999)),
            Some(at(Op::Ge, 900).and(at(Op::Le, 100))),
            Some(at(Op::Le, 500).and(Filter::eq(Field::Kind, "turn"))),
        ];
        for (scope, filter) in users.iter().chain([&tenant]).flat_map(|s| filters.iter().map(move |f| (s, f))) {
            let query = vector(1_000_000 + round);
            let mut expected: Vec<(f64, RecordId)> = model
                .values()
                .filter(|(record, _)| scope.covers(&record.scope) && filter.as_ref().is_none_or(|f| f.matches(record)))
                .map(|(record, embedding)| (cosine(&query, embedding), record.id))
                .collect();
            expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            expected.truncate(12);
            let query = VectorQuery::new(query, 12).with_filter(filter.clone());
            let found = VectorStore::search(&reader, scope, &query).await.unwrap();
            let ids: Vec<RecordId> = found.iter().map(|hit| hit.id).collect();
            assert_eq!(ids, expected.iter().map(|(_, id)| *id).collect::<Vec<_>>(), "{scope:?} {filter:?}");
        }
    }
}
