//! The forms in which the builder accepts parts and stores.

use std::sync::Arc;

use memory_engine::{
    Clock, EnrichmentOptions, ErrorKind, MemoryEngine, Scope, Timestamp,
    embed::{DefaultEmbedder, Embedder, EmbeddingSpace, HashEmbedder},
    graph::{GraphExtractor, RuleExtractor},
    llm::{ChatModel, ScriptedModel},
    recall::{LexicalReranker, Reranker},
    store::{Analyzer, MemoryVectorStore, Stores, TextAnalyzer, VectorStore},
    testing::ManualClock,
};

const NOON: Timestamp = Timestamp::from_micros(1_772_000_000_000_000);

#[tokio::test]
async fn parts_are_accepted_by_value_shared_or_as_trait_objects() {
    let clock = Arc::new(ManualClock::new(NOON));
    let by_value = MemoryEngine::builder()
        .embedder(HashEmbedder::default())
        .replacing(HashEmbedder::default())
        .reranker(LexicalReranker)
        .analyzer(TextAnalyzer)
        .clock(ManualClock::new(NOON))
        .graph(RuleExtractor::default());
    let shared = MemoryEngine::builder()
        .embedder(Arc::new(HashEmbedder::default()))
        .reranker(Arc::new(LexicalReranker))
        .analyzer(Arc::new(TextAnalyzer))
        .clock(clock.clone())
        .graph(Arc::new(RuleExtractor::default()));
    let embedder: Arc<dyn Embedder> = Arc::new(HashEmbedder::default());
    let reranker: Arc<dyn Reranker> = Arc::new(LexicalReranker);
    let analyzer: Arc<dyn Analyzer> = Arc::new(TextAnalyzer);
    let extractor: Arc<dyn GraphExtractor> = Arc::new(RuleExtractor::default());
    let object = MemoryEngine::builder()
        .embedder(embedder.clone())
        .replacing(embedder)
        .reranker(reranker.clone())
        .analyzer(analyzer.clone())
        .clock(clock.clone() as Arc<dyn Clock>)
        .graph(extractor.clone());
    for builder in [by_value, shared, object] {
        let memory = builder.in_memory().background(false).build().await.unwrap();
        let id = memory.remember(&Scope::user("lin").unwrap(), "I live in Porto.").await.unwrap();
        let record = memory.get(&Scope::user("lin").unwrap(), id).await.unwrap().unwrap();
        assert_eq!(record.occurred_at, NOON);
    }
    let model = Arc::new(ScriptedModel::default());
    assert!(EnrichmentOptions::model(ScriptedModel::default()).is_ok());
    assert!(EnrichmentOptions::model(model.clone()).is_ok());
    assert!(EnrichmentOptions::model(model as Arc<dyn ChatModel>).is_ok());
}

#[tokio::test]
async fn a_mixture_of_stores_uses_each_given_store() {
    let space = DefaultEmbedder::default().space().clone();
    let vectors = Arc::new(MemoryVectorStore::new(space.clone()));
    let stores = Stores { vectors: vectors.clone(), ..Stores::in_memory(space) };
    let records = Arc::clone(&stores.records);
    let synonyms = Arc::clone(&stores.synonyms);
    let memory = MemoryEngine::builder().stores(stores).background(false).build().await.unwrap();
    let lin = Scope::user("lin").unwrap();
    let id = memory.remember(&lin, "I live in Porto.").await.unwrap();
    memory.drain(&lin, |_| ()).await.unwrap();
    assert!(records.get(&lin, &[id]).await.unwrap()[0].is_some());
    assert_eq!(VectorStore::delete(&vectors, &lin, &[id]).await.unwrap(), 1);
    assert!(Arc::ptr_eq(memory.settings().synonyms().store(), &synonyms));
}

#[tokio::test]
async fn stores_with_vectors_of_another_space_are_refused() {
    let stores = Stores::in_memory(EmbeddingSpace::cosine("another", 3));
    let e = MemoryEngine::builder().stores(stores).background(false).build().await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::DimensionMismatch);
}

#[tokio::test]
async fn a_builder_without_a_store_or_with_two_is_refused_and_says_what_to_do() {
    let none = MemoryEngine::builder().background(false).build().await.unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidInput);
    for choice in ["sqlite(", "postgres(", "database(", "stores(", "in_memory()"] {
        assert!(none.to_string().contains(choice), "{none}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let two = MemoryEngine::builder().in_memory().database(path.display().to_string().as_str()).build().await;
    assert_eq!(two.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(!path.exists());
}
