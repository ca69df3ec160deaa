//! Fixtures of the scenarios: names, records, and the steps of an engine around the stores.

use std::sync::Arc;

use memory_engine_core::{
    Embedding, ErrorKind, Kind, ManualClock, Page, Record, RecordId, Result, ScanQuery, Scope, Terms, Timestamp, Write,
    WriteResult,
};
use memory_engine_keyword_store::{Clause, KeywordEntry, KeywordQuery};
use memory_engine_vector_store::{VectorEntry, VectorQuery};

use crate::World;

/// More than any scenario stores.
pub(crate) const LARGE_LIMIT: usize = 10_000;

pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

pub(crate) fn mo() -> Scope {
    Scope::user("mo").unwrap()
}

pub(crate) fn session(name: &str) -> Scope {
    lin().with_session(name).unwrap()
}

/// The id with this number: lower numbers come first.
pub(crate) fn id(number: u8) -> RecordId {
    let mut bytes = [0; 16];
    bytes[15] = number;
    RecordId::from_bytes(bytes)
}

pub(crate) fn terms<const N: usize>(words: [&str; N]) -> Terms {
    words.into_iter().collect()
}

pub(crate) fn vector(values: [f32; 8]) -> Embedding {
    Embedding::new(values.to_vec()).unwrap()
}

/// A vector at this angle from the first axis: a larger one, up to π, is less near.
pub(crate) fn at_angle(angle: f32) -> Embedding {
    vector([angle.cos(), angle.sin(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
}

/// A turn that occurred at this many microseconds.
pub(crate) fn turn(address: &Scope, text: &str, micros: i64) -> Record {
    Record::new(address.clone(), Kind::TURN, text, &ManualClock::new(Timestamp::from_micros(micros)))
}

/// A turn with a number for its id and its time.
pub(crate) fn numbered(address: &Scope, number: u8) -> Record {
    let mut record = turn(address, &format!("message {number}"), i64::from(number) * 1_000_000);
    record.id = id(number);
    record
}

pub(crate) fn find(words: &[&str]) -> KeywordQuery {
    KeywordQuery::new(words.iter().copied().map(Clause::term).collect(), LARGE_LIMIT)
}

pub(crate) fn near(embedding: Embedding) -> VectorQuery {
    VectorQuery::new(embedding, LARGE_LIMIT)
}

#[track_caller]
pub(crate) fn fails_with<T: std::fmt::Debug>(kind: ErrorKind, result: Result<T>) {
    match result {
        Ok(value) => panic!("it gave {value:?} instead of {kind:?}"),
        Err(e) => assert_eq!(e.kind(), kind, "{e}"),
    }
}

impl World {
    /// Writes records with the authority of their user, replacing existing ones.
    pub(crate) async fn put(&self, records: &[&Record]) -> Vec<WriteResult> {
        let writes = records.iter().map(|r| Write::upsert((*r).clone())).collect();
        self.records.put(&records[0].scope.namespace(), writes).await.unwrap()
    }

    /// The record as it is stored now.
    pub(crate) async fn stored(&self, record: &Record) -> Option<Record> {
        self.records.get(&record.scope, &[record.id]).await.unwrap().remove(0)
    }

    /// Everything within the scope, oldest first.
    pub(crate) async fn all(&self, scope: &Scope) -> Vec<Record> {
        let Page { records, next, .. } = self.records.scan(scope, &ScanQuery::oldest(LARGE_LIMIT)).await.unwrap();
        assert_eq!(next, None);
        records
    }

    /// Puts terms under the record as it is stored now.
    pub(crate) async fn index(&self, record: &Record, terms: Terms) {
        let record = Arc::new(self.stored(record).await.unwrap());
        self.keywords.upsert(&record.scope.clone(), &[KeywordEntry { record, terms }]).await.unwrap();
    }

    /// Puts a vector under the record as it is stored now.
    pub(crate) async fn embed(&self, record: &Record, embedding: Embedding) {
        let record = Arc::new(self.stored(record).await.unwrap());
        self.vectors.upsert(&record.scope.clone(), &[VectorEntry { record, embedding }]).await.unwrap();
    }

    /// Deletes as an engine does, everywhere.
    pub(crate) async fn forget(&self, scope: &Scope, ids: &[RecordId]) -> Vec<RecordId> {
        let gone = self.records.delete(scope, ids).await.unwrap().ids;
        self.keywords.delete(scope, &gone).await.unwrap();
        self.vectors.delete(scope, &gone).await.unwrap();
        gone
    }

    /// The ids that a search for these words finds.
    pub(crate) async fn found(&self, scope: &Scope, words: &[&str]) -> Vec<RecordId> {
        self.keywords.search(scope, &find(words)).await.unwrap().iter().map(|hit| hit.id).collect()
    }

    /// The ids of all vectors within the scope, the nearest to the vector first.
    pub(crate) async fn nearest(&self, scope: &Scope, embedding: Embedding) -> Vec<RecordId> {
        self.vectors.search(scope, &near(embedding)).await.unwrap().iter().map(|hit| hit.id).collect()
    }
}
