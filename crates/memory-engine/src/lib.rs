#![doc = include_str!("../README.md")]

mod background;
mod branches;
mod builder;
pub mod companion;
mod database;
mod dates;
mod digest;
mod engine;
mod enhance;
mod entity_graph;
pub mod evidence;
mod explanation;
mod forget;
mod injection;
mod lag;
#[cfg(feature = "http-models")]
pub mod mem0;
mod mode;
mod options;
mod pipeline;
mod query;
mod recall;
mod remember;
mod retraction;
mod spaces;
pub mod story;
mod turn;
pub mod upkeep;

pub use background::{Learned, Progress, REQUEST_ID};
pub use branches::{Fork, Inherits};
pub use builder::Builder;
pub use database::Database;
pub use dates::index_fingerprint;
pub use digest::Digest;
pub use engine::MemoryEngine;
pub use enhance::{Enhanced, Enhancement, Layer, Rewrite};
pub use entity_graph::{Citation, EntityGraph, Extracted, FactQuery, GraphFacts, KeyEntity, KeyRelation};
pub use explanation::{Explanation, Verdict};
pub use forget::{Forget, Forgotten};
pub use injection::{Injection, Injector};
pub use lag::Lag;
pub use mode::MemoryMode;
pub use options::RecallOptions;
pub use query::{Arms, RecallQuery};
pub use recall::{Arm, Boost, Degraded, Found, Recall, RecallHit, StageTime};
pub use retraction::{Retraction, Rewind};
pub use turn::Turn;

pub use memory_engine_context as context;
pub use memory_engine_context::{GatewayBlock, InjectionRules, MemoryBlock, MemoryList, Rendered};
pub use memory_engine_core::{
    Barred, Checkup, Clock, ContentHash, Cursor, Embedding, EmbeddingSpace, Error, ErrorKind, Failure, Field, Filter,
    Job, JobQueue, Kind, ManualClock, MemoryRecordStore, Metric, Op, Order, Outcome, Page, PutMode, Record, RecordId,
    RecordStore, Removed, Result, Role, ScanQuery, Scope, Score, Source, State, Stats, SystemClock, Timestamp,
    Tombstone, Trust, Value, Waiting, Written,
};
pub use memory_engine_embedder::{Embedder, HashEmbedder, Purpose};
pub use memory_engine_graph as graph;
pub use memory_engine_graph::{ChatExtractor, GraphExtractor, GraphStore, MemoryGraphStore, RuleExtractor};
#[cfg(feature = "http-models")]
pub use memory_engine_http_models as http_models;
pub use memory_engine_keyword_store::{Analyzer, KeywordStore, MemoryKeywordStore, TextAnalyzer};
pub use memory_engine_llm as llm;
#[cfg(feature = "local-models")]
pub use memory_engine_local_models::LocalModel;
#[cfg(feature = "postgres")]
pub use memory_engine_postgres as postgres;
pub use memory_engine_reranker::{LexicalReranker, Method, Reranker};
pub use memory_engine_scene as scene;
pub use memory_engine_scene::{SceneDetector, ScenePolicy, SceneRules, SceneView};
pub use memory_engine_sql::options::Mismatch;
#[cfg(feature = "sqlite")]
pub use memory_engine_sqlite as sqlite;
pub use memory_engine_summarizer as summarizer;
pub use memory_engine_synonyms as synonyms;
pub use memory_engine_synonyms::{SharedThesaurus, SynonymGroup, SynonymStore, SynonymStoreExt};
pub use memory_engine_vector_store::{Generation, Generations, MemoryVectorStore, VectorStore};
