#![doc = include_str!("../README.md")]

pub mod audit;
mod embedding;
mod enum_names;
mod error;
pub mod fact_keys;
mod filter;
mod forward;
mod found_record;
mod health;
pub mod history;
mod history_keys;
mod id;
mod kernel;
mod language;
mod locale;
mod memory;
mod meters;
mod multi_vector;
pub mod observe;
pub mod packed_terms;
pub mod phrases;
mod project;
mod record;
mod record_zone;
pub mod residue;
pub mod retry;
mod review;
mod rule_id;
mod scope;
mod score;
mod setters;
pub mod snapshot;
mod sorted_json;
mod store;
mod store_options;
pub mod sync;
mod terms;
pub mod text;
mod time;
pub mod varint;
mod view_set;

pub use embedding::{Embedding, EmbeddingSpace, Metric};
pub use error::{Error, ErrorKind, Result};
pub use filter::{Field, FieldValue, Filter, FilterValue, Op, ValueType, compare_numbers};
pub use found_record::{FoundRecord, RecordWithTerms};
pub use health::{
    HealthReport, QueueHealth,
    finding::Finding,
    problem_kind::{ProblemKind, Remedy},
};
pub use id::RecordId;
pub use kernel::Kernel;
pub use language::Language;
pub use locale::Locale;
pub use memory::MemoryRecordStore;
pub use multi_vector::{CodeBits, MultiVector, Token};
pub use packed_terms::PackedTerms;
pub use phrases::Phrases;
pub use project::ProjectEntry;
pub use record::{ContentHash, Kind, Record, Role, Source, State, Trust};
pub use review::{ReviewMode, ReviewPolicy, ReviewSource, review_keys};
pub use rule_id::RuleId;
pub use scope::Scope;
pub use score::{Hit, Score};
pub use sorted_json::SortedJson;
pub use store::{
    Adjacent, Basis, BlockReason, Cursor, DamagedRecord, Decision, DeletionReport, Done, Failure, Index, Job, JobQueue,
    Neighbor, Order, Outcome, Page, Pending, PeriodCount, Periods, PutMode, RecordGroup, RecordStore, RemovalCounts,
    ScanQuery, Stats, Ticket, Tombstone, Write, WriteResult,
};
pub use store_options::{Mismatch, StoreOptions};
pub use terms::Terms;
pub use time::{Clock, ManualClock, SystemClock, Timestamp};
pub use view_set::ViewSet;
