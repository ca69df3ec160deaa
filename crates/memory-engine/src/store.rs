//! The contracts of a backend, with every type in their signatures, and the stores in memory. For programs that bring
//! a store of their own.

pub use memory_engine_core::{
    Adjacent, Basis, BlockReason, ContentHash, Cursor, Decision, DeletionReport, Done, Embedding, EmbeddingSpace,
    Failure, FoundRecord, Hit, Index, Job, JobQueue, MemoryRecordStore, Metric, MultiVector, Neighbor, Order, Outcome,
    PackedTerms, Page, Pending, PeriodCount, Periods, ProjectEntry, PutMode, Record, RecordGroup, RecordStore,
    RecordWithTerms, RemovalCounts, ScanQuery, Score, Source, Stats, StoreOptions, Terms, Ticket, Tombstone, Write,
    WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};
pub use memory_engine_graph::{
    AliasRow, Edge, EdgeRow, Entity, EntityId, EntityKind, Extraction, GraphEntry, GraphQuery, GraphRows, GraphStats,
    GraphStore, GraphStoreExt, MemoryGraphStore, Mention, MentionRow, Relation, Seeds, Subgraph,
};
pub use memory_engine_indexing::{REPETITIONS, count_repetition, index_fingerprint, is_countable, repetitions};
pub use memory_engine_keyword_store::{
    Analyzer, Clause, KeywordEntry, KeywordQuery, KeywordStore, MemoryKeywordStore, TextAnalyzer, WeightedTerm,
    WordSpan,
};
pub use memory_engine_synonyms::{
    ApplicableGroups, MemorySynonymStore, PairVerdict, SynonymGroup, SynonymStore, SynonymStoreExt, WordPair,
};
pub use memory_engine_vector_store::{
    EmbeddingVersion, EmbeddingVersionRole, EmbeddingVersionStore, EmbeddingVersions, MemoryVectorStore, VectorEntry,
    VectorQuery, VectorStore,
};

pub use memory_engine_databases::Stores;

pub use crate::session_ledger::SessionLedger;
