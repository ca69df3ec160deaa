//! Fixtures of the tests of this crate.

use std::{path::Path, sync::Arc};

use memory_engine_core::{
    CodeBits, Embedding, EmbeddingSpace, Kind, ManualClock, MultiVector, Record, RecordId, RecordStore, Role, Scope,
    Source, SystemClock, Terms, Timestamp, Trust, Write,
};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_sqlite::{SqliteStore, StoreOptions};
use memory_engine_synonyms::{PairVerdict, SynonymGroup, WordPair};
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};

pub(crate) const DIMENSIONS: usize = 16;

pub(crate) fn options() -> StoreOptions {
    StoreOptions::new(EmbeddingSpace::cosine("test", DIMENSIONS), "words-1")
}

pub(crate) async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, options()).await.unwrap()
}

pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

pub(crate) fn turn(scope: &Scope, text: &str) -> Record {
    Record::new(scope.clone(), Kind::TURN, text, &SystemClock)
}

pub(crate) fn words(text: &str) -> Terms {
    text.split_whitespace().collect()
}

/// Returns a write with the words of the text as terms.
pub(crate) fn write(record: &Record) -> Write {
    Write { terms: Some(words(&record.text)), ..Write::upsert(record.clone()) }
}

/// Returns the pseudo-random vector of a seed (xorshift).
pub(crate) fn vector(seed: u64) -> Embedding {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    Embedding::new((0..DIMENSIONS).map(|_| next()).collect()).unwrap()
}

/// Returns the token vectors of a text with one token, quantized from this vector.
pub(crate) fn tokens(embedding: &Embedding) -> MultiVector {
    MultiVector::quantize(CodeBits::Eight, DIMENSIONS, embedding.values(), &[(1, 1.0)], 1).unwrap()
}

/// Stores a vector of a record, with token vectors.
pub(crate) async fn embed(store: &SqliteStore, record: &Record, embedding: Embedding) {
    let record = store.get(&record.scope, &[record.id]).await.unwrap().remove(0).unwrap();
    let scope = record.scope.clone();
    let tokens = tokens(&embedding);
    let entry = VectorEntry::new(Arc::new(record), embedding).with_tokens(Some(tokens));
    VectorStore::upsert(store, &scope, &[entry]).await.unwrap();
}

pub(crate) async fn found(store: &SqliteStore, scope: &Scope, term: &str) -> usize {
    let query = KeywordQuery::new(vec![Clause::term(term)], 1000);
    KeywordStore::search(store, scope, &query).await.unwrap().len()
}

pub(crate) async fn near(store: &SqliteStore, scope: &Scope, embedding: Embedding) -> usize {
    VectorStore::search(store, scope, &VectorQuery::new(embedding, 1000)).await.unwrap().len()
}

/// The records of the golden files.
pub(crate) fn golden() -> Vec<Record> {
    let at = |micros| ManualClock::new(Timestamp::from_micros(micros));
    let record = |scope: Scope, text: &str, number: u8| {
        let mut record = Record::new(scope, Kind::TURN, text, &at(1_772_000_000_000_000 + i64::from(number)));
        record.id = RecordId::from_bytes([number; 16]);
        record
    };
    let mut full = record(lin().with_session("monday").unwrap().with_agent("kai").unwrap(), "docker and c++ 3.14", 2);
    (full.role, full.speaker, full.trust) = (Some(Role::ASSISTANT), Some("凯".into()), Trust::Import);
    (full.scene, full.topic, full.emotion) = (Some("daily".into()), Some("work".into()), Some("glad".into()));
    (full.entities, full.tags) = (vec!["Docker".into()], vec!["btc".into(), "\"quoted\"".into()]);
    (full.confidence, full.importance) = (0.1, 0.7);
    full.source = Source { message_id: Some("D1:3".into()), sequence: Some(-7), round: Some(2) };
    full.derived_from = vec![RecordId::from_bytes([1; 16])];
    (full.valid_from, full.valid_until) = (Some(Timestamp::from_micros(-1)), Some(Timestamp::from_micros(1 << 50)));
    full.metadata.insert("mood".into(), serde_json::json!({"glad": [1, 2.5, null, true, "so"]}));
    vec![record(lin(), "我 对 海鲜 过敏", 1), full, record(lin(), "still to be embedded", 3)]
}

pub(crate) fn golden_groups() -> Vec<SynonymGroup> {
    let docker = SynonymGroup::new("Docker", ["容器", "鲸鱼 \"whale\""]).with_category("tool");
    vec![docker, SynonymGroup::new("海鲜", ["seafood"])]
}

pub(crate) fn golden_verdicts() -> Vec<PairVerdict> {
    let verdict = |a, b, accepted| PairVerdict { pair: WordPair::new(a, b).unwrap(), accepted };
    vec![verdict("docker", "鲸鱼", true), verdict("海鲜", "过敏", false)]
}
