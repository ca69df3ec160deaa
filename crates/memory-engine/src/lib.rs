#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod admin;
pub mod audit;
#[cfg(feature = "blocking")]
pub mod blocking;
mod builder;
#[cfg(feature = "certificates")]
pub mod certificate;
pub mod context;
pub mod deletion;
pub mod embed;
mod engine;
#[cfg(feature = "enrichment")]
pub mod enrichment;
#[cfg(feature = "graph")]
pub mod graph;
mod handles;
pub mod history;
pub mod prelude;
pub mod recall;
#[cfg(feature = "enrichment")]
pub mod requests;
pub mod review;
pub mod screening;
mod session_ledger;
mod settings;
pub mod store;
pub mod synonyms;
pub mod testing;
pub mod transfer;
mod verbs;

pub use builder::Builder;
pub use engine::MemoryEngine;
pub use settings::Settings;
#[cfg(feature = "enrichment")]
pub use verbs::facts;
pub use verbs::{import, records::RecordQuery};

/// Pins, importance and expiry of records.
pub mod retention {
    pub use memory_engine_curation::RecordPatch;
    pub use memory_engine_indexing::{RetentionPolicy, RetentionRule, parse_time_to_live};
}

pub use memory_engine_core::{
    Clock, Cursor, DamagedRecord, Error, ErrorKind, Field, Filter, FilterValue, Job, Kind, Language, Op, Order,
    Outcome, Page, PutMode, Record, RecordId, Result, Role, ScanQuery, Scope, State, Stats, SystemClock, Timestamp,
    Trust, WriteResult, compare_numbers, retry,
};
pub use memory_engine_curation::{Forget, ForgetReport, ForgetText, LinkedTurns};
pub use memory_engine_databases::Database;
#[cfg(feature = "enrichment")]
pub use memory_engine_enrichment::EnrichmentOptions;
pub use memory_engine_indexing::Turn;
pub use memory_engine_recall::{Injector, Recall, RecallHit, RecallOptions, RecallQuery};

#[cfg(feature = "http-models")]
pub use memory_engine_http_models as http_models;
#[cfg(feature = "llm")]
pub use memory_engine_llm as llm;
#[cfg(feature = "postgres")]
pub use memory_engine_postgres as postgres;
#[cfg(feature = "sqlite")]
pub use memory_engine_sqlite as sqlite;
pub use {jiff, memory_engine_scene as scene, serde_json};
