#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod admin;
pub mod audit;
mod backend;
#[cfg(feature = "blocking")]
pub mod blocking;
mod branches;
mod builder;
#[cfg(feature = "certificates")]
pub mod certificate;
pub mod context;
mod database;
mod database_admin;
mod drain;
pub mod embed;
mod engine;
#[cfg(feature = "enrichment")]
pub mod enrichment;
#[cfg(feature = "enrichment")]
pub mod facts;
mod forget;
#[cfg(feature = "graph")]
pub mod graph;
pub mod history;
pub mod import;
mod injection;
mod lifecycle;
#[cfg(feature = "enrichment")]
mod opening_context;
mod operations;
mod pinned;
pub mod prelude;
mod prompt;
mod read;
pub mod recall;
mod records;
mod remember;
mod remember_all;
pub mod retention;
mod retraction;
pub mod review;
mod runtime;
pub mod screening;
pub mod store;
mod stores;
pub mod synonyms;
pub mod testing;
pub mod transfer;
mod turn;
mod update;
mod verb;

pub use builder::Builder;
pub use database::Database;
pub use engine::MemoryEngine;
pub use forget::{Forget, ForgetReport, preview::ForgetPreview};
pub use injection::Injector;
pub use records::RecordQuery;
pub use turn::Turn;

pub use memory_engine_core::{
    Clock, Cursor, DamagedRecord, Error, ErrorKind, Field, Filter, FilterValue, Job, Kind, Language, Op, Order,
    Outcome, Page, PutMode, Record, RecordId, Result, Role, ScanQuery, Scope, State, Stats, SystemClock, Timestamp,
    Trust, WriteResult,
};
#[cfg(feature = "enrichment")]
pub use memory_engine_enrichment::EnrichmentOptions;
pub use memory_engine_recall::{Recall, RecallHit, RecallOptions, RecallQuery};

#[cfg(feature = "http-models")]
pub use memory_engine_http_models as http_models;
#[cfg(feature = "llm")]
pub use memory_engine_llm as llm;
#[cfg(feature = "postgres")]
pub use memory_engine_postgres as postgres;
#[cfg(feature = "sqlite")]
pub use memory_engine_sqlite as sqlite;
pub use {jiff, memory_engine_scene as scene, serde_json};
