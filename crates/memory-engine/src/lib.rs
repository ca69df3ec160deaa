#![doc = include_str!("../README.md")]

mod backend;
mod branches;
mod builder;
mod database;
mod drain;
mod engine;
mod entity_graph;
pub mod facts;
mod forget;
mod import;
mod injection;
mod mode;
mod operations;
pub mod prelude;
mod prompt;
mod read;
mod records;
mod remember;
mod remember_all;
mod retraction;
mod turn;
mod update;
pub mod upkeep;

pub use builder::Builder;
pub use database::Database;
pub use engine::MemoryEngine;
pub use entity_graph::EntityGraph;
pub use forget::{Forget, Forgotten};
pub use import::{Import, ImportFailure, ImportItem, ImportReport};
pub use injection::{Injection, Injector};
pub use memory_engine_sql::options::Mismatch;
pub use mode::MemoryMode;
pub use operations::Admin;
pub use prompt::{ContextRequest, PromptContext};
pub use records::RecordQuery;
pub use retraction::{Retraction, Rewind};
pub use turn::Turn;
pub use update::Edit;

pub use memory_engine_context as context;
pub use memory_engine_context::{GatewayBlock, InjectionRules, MemoryBlock, MemoryList, Rendered};
pub use memory_engine_core::{
    BlockReason, Clock, ContentHash, Cursor, Embedding, EmbeddingSpace, Error, ErrorKind, Failure, Field, Filter,
    HealthReport, Job, JobQueue, Kind, Language, Locale, ManualClock, MemoryRecordStore, Metric, Op, Order, Outcome,
    Page, PutMode, QueueHealth, Record, RecordId, RecordStore, Removed, Result, Role, ScanQuery, Scope, Score, Source,
    State, Stats, SystemClock, Timestamp, Tombstone, Trust, Value, Written,
};
pub use memory_engine_embedder::{Embedder, HashEmbedder, Purpose};
pub use memory_engine_enrichment::{
    EnrichmentOptions, EnrichmentReport, Extracted, LatencyStats, Progress, REQUEST_ID,
};
pub use memory_engine_graph as graph;
pub use memory_engine_graph::{ChatExtractor, GraphExtractor, GraphStore, MemoryGraphStore, RuleExtractor};
#[cfg(feature = "http-models")]
pub use memory_engine_http_models as http_models;
pub use memory_engine_indexing::index_fingerprint;
pub use memory_engine_keyword_store::{Analyzer, KeywordStore, MemoryKeywordStore, TextAnalyzer};
pub use memory_engine_llm as llm;
#[cfg(feature = "local-models")]
pub use memory_engine_local_models::LocalModel;
#[cfg(feature = "postgres")]
pub use memory_engine_postgres as postgres;
pub use memory_engine_recall::{
    Boost, Citation, Degraded, Enhanced, Enhancement, Explanation, FactQuery, Fork, GraphFacts, Inherits, KeyEntity,
    KeyRelation, QueryForm, Recall, RecallHit, RecallOptions, RecallQuery, Retriever, RetrieverHit, Retrievers,
    Rewrite, StageTime, Verdict,
};
pub use memory_engine_reranker::{LexicalReranker, Method, Reranker};
pub use memory_engine_scene as scene;
pub use memory_engine_scene::{SceneDetector, ScenePolicy, SceneRules, SceneView};
#[cfg(feature = "sqlite")]
pub use memory_engine_sqlite as sqlite;
pub use memory_engine_summarizer as summarizer;
pub use memory_engine_synonyms as synonyms;
pub use memory_engine_synonyms::{SharedThesaurus, SynonymGroup, SynonymStore, SynonymStoreExt};
pub use memory_engine_vector_store::{Generation, Generations, MemoryVectorStore, VectorStore};
