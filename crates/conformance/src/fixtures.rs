//! Fixtures of the scenarios: scopes, records, queries, and the store calls of an engine.

use std::sync::Arc;

use memory_engine_core::{
    Embedding, ErrorKind, Kind, ManualClock, Page, Record, RecordId, Result, ScanQuery, Scope, Terms, Timestamp, Write,
    WriteResult,
};
use memory_engine_keyword_store::{Clause, KeywordEntry, KeywordQuery};
use memory_engine_vector_store::{VectorEntry, VectorQuery};

use crate::World;

/// A limit that exceeds the number of records of every scenario.
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

/// The id with this number. Ids are ordered by their numbers.
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

/// A vector at this angle (in radians) from the first axis. A larger angle, up to π, means less similarity.
pub(crate) fn at_angle(angle: f32) -> Embedding {
    vector([angle.cos(), angle.sin(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
}

/// A turn that occurred this many microseconds after the Unix epoch.
pub(crate) fn turn(address: &Scope, text: &str, micros: i64) -> Record {
    Record::new(address.clone(), Kind::TURN, text, &ManualClock::new(Timestamp::from_micros(micros)))
}

/// A turn with the id of this number, which occurred this many seconds after the Unix epoch.
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
pub(crate) fn assert_error_kind<T: std::fmt::Debug>(kind: ErrorKind, result: Result<T>) {
    match result {
        Ok(value) => panic!("expected an error of kind {kind:?}, got {value:?}"),
        Err(e) => assert_eq!(e.kind(), kind, "{e}"),
    }
}

impl World {
    /// Upserts records in the scope of the first record's user.
    pub(crate) async fn put(&self, records: &[&Record]) -> Vec<WriteResult> {
        let writes = records.iter().map(|r| Write::upsert((*r).clone())).collect();
        self.records.put(&records[0].scope.namespace(), writes).await.unwrap()
    }

    /// Returns the stored version of the record.
    pub(crate) async fn stored(&self, record: &Record) -> Option<Record> {
        self.records.get(&record.scope, &[record.id]).await.unwrap().remove(0)
    }

    /// Returns all records in the scope, oldest first.
    pub(crate) async fn all(&self, scope: &Scope) -> Vec<Record> {
        let Page { records, next, .. } = self.records.scan(scope, &ScanQuery::oldest(LARGE_LIMIT)).await.unwrap();
        assert_eq!(next, None);
        records
    }

    /// Indexes the stored version of the record under these terms.
    pub(crate) async fn index(&self, record: &Record, terms: Terms) {
        let record = Arc::new(self.stored(record).await.unwrap());
        self.keywords.upsert(&record.scope.clone(), &[KeywordEntry { record, terms }]).await.unwrap();
    }

    /// Indexes the stored version of the record under this vector.
    pub(crate) async fn embed(&self, record: &Record, embedding: Embedding) {
        let record = Arc::new(self.stored(record).await.unwrap());
        self.vectors.upsert(&record.scope.clone(), &[VectorEntry::new(record, embedding)]).await.unwrap();
    }

    /// Deletes records from the record store, and what it deleted from the indexes, as an engine does.
    pub(crate) async fn forget(&self, scope: &Scope, ids: &[RecordId]) -> Vec<RecordId> {
        let deleted = self.records.delete(scope, ids).await.unwrap().ids;
        self.keywords.delete(scope, &deleted).await.unwrap();
        self.vectors.delete(scope, &deleted).await.unwrap();
        deleted
    }

    /// Returns the ids of the keyword hits for these words, best first.
    pub(crate) async fn found(&self, scope: &Scope, words: &[&str]) -> Vec<RecordId> {
        self.keywords.search(scope, &find(words)).await.unwrap().iter().map(|hit| hit.id).collect()
    }

    /// Returns the ids of all vectors in the scope, most similar first.
    pub(crate) async fn nearest(&self, scope: &Scope, embedding: Embedding) -> Vec<RecordId> {
        self.vectors.search(scope, &near(embedding)).await.unwrap().iter().map(|hit| hit.id).collect()
    }
}
