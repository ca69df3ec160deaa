//! The kinds of problems that a health check finds.

use serde::{Serialize, Serializer};

use crate::error::Error;

/// The way to fix a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// `memory doctor --repair` and `admin::repair` fix it. The text says how.
    Repair(&'static str),
    /// A person has to decide. The text says what to do.
    Manual(&'static str),
}

impl Remedy {
    /// Returns true if a repair fixes the problem.
    pub const fn is_repair(self) -> bool {
        matches!(self, Self::Repair(_))
    }

    /// Returns the text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Repair(text) | Self::Manual(text) => text,
        }
    }
}

macro_rules! problem_kinds {
    ($($variant:ident = $id:literal, $remedy:ident, $meaning:literal, $text:literal;)+) => {
        /// A kind of problem in a database. Its name in JSON is a stable id.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $(#[doc = concat!("`", $id, "`: ", $meaning, ".")] $variant,)+
        }

        crate::enum_names! {
            ProblemKind, "kind of problem" {
                $($variant => $id,)+
            }
        }

        impl ProblemKind {
            /// Returns a description, which continues a number: "vectors belong to no record".
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }

            /// Returns the way to fix problems of this kind.
            pub const fn remedy(self) -> Remedy {
                match self {
                    $(Self::$variant => Remedy::$remedy($text),)+
                }
            }
        }
    };
}

problem_kinds! {
    // The database as a whole.
    FileDamaged = "file-damaged", Manual,
        "places in the file are damaged", "restore it from a backup";
    RowInvalid = "row-invalid", Manual,
        "values violate a constraint of their table", "restore them from a backup";
    TableMissing = "table-missing", Manual,
        "tables are missing", "restore the database from a backup";
    ColumnMissing = "column-missing", Manual,
        "columns are missing", "restore the database from a backup";
    IndexMissing = "index-missing", Repair,
        "indexes are missing or have other columns", "creates them";
    IndexInvalid = "index-invalid", Repair,
        "indexes are not valid or disagree with their table", "rebuilds them";
    VectorIndexMissing = "vector-index-missing", Repair,
        "vector indexes are recorded but missing", "deletes the entry, and opening the database creates the index";
    ViewMissing = "view-missing", Repair,
        "views are missing", "creates them";
    FunctionMissing = "function-missing", Repair,
        "functions are missing", "creates them";
    ConstraintMissing = "constraint-missing", Repair,
        "constraints are missing", "adds them, if all rows satisfy them";
    TriggerDisabled = "trigger-disabled", Repair,
        "tables have triggers that are switched off", "switches them on";
    SpaceUnreadable = "space-unreadable", Manual,
        "embedding spaces cannot be read", "restore the table `index_metadata` from a backup, or run `memory reindex`";
    IndexUnrecorded = "index-unrecorded", Manual,
        "indexes have entries but no recorded analyzer or embedding space",
        "restore the table `index_metadata` from a backup, or run `memory reindex`";
    ServingTableUnknown = "serving-table-unknown", Repair,
        "entries name a serving table that does not exist", "deletes them, so that the first table serves";
    StoreIdMissing = "store-id-missing", Repair,
        "ids of the database are missing or cannot be read, so that index caches are not used",
        "creates a new id and removes the caches";
    CacheEpochUnreadable = "cache-epoch-unreadable", Repair,
        "epochs of the index caches cannot be read", "deletes the epoch and the caches";
    ChangeLogEmpty = "change-log-empty", Repair,
        "logs of index changes are empty although there are index entries", "starts the log again";
    CacheWrong = "cache-wrong", Repair,
        "index caches are damaged or disagree with the database", "rebuilds them";

    // Users and scopes.
    NamespaceOrphan = "namespace-orphan", Manual,
        "users belong to no tenant", "restore the table `tenants` from a backup";
    ScopeOrphan = "scope-orphan", Manual,
        "scopes belong to no user", "restore the table `namespaces` from a backup";
    ScopeNameInvalid = "scope-name-invalid", Manual,
        "scopes have names that no scope can have", "restore the names from a backup";
    ScopeIdWrong = "scope-id-wrong", Manual,
        "users or scopes are stored under the id of other names", "restore the names from a backup";

    // Records.
    RecordScopeMissing = "record-scope-missing", Manual,
        "records belong to no scope", "restore the tables of scopes from a backup";
    RecordNamespaceMismatch = "record-namespace-mismatch", Manual,
        "records have a scope of another user", "restore them from a backup";
    RecordStateUnknown = "record-state-unknown", Manual,
        "records have an unknown state", "restore them from a backup, or set the column `state`";
    RecordTrustUnknown = "record-trust-unknown", Manual,
        "records have an unknown trust class", "restore them from a backup, or set the column `trust`";
    RecordKindEmpty = "record-kind-empty", Manual,
        "records have no kind", "restore them from a backup, or set the column `kind`";
    RecordTextEmpty = "record-text-empty", Manual,
        "records have no text", "restore them from a backup, or delete them with `memory forget`";
    RecordTextUnreadable = "record-text-unreadable", Manual,
        "records have a text that is not UTF-8",
        "restore them from a backup, or move them to a file with `memory doctor --repair --quarantine FILE`";
    RecordListUnreadable = "record-list-unreadable", Manual,
        "records have entities, tags or sources that cannot be read",
        "restore them from a backup, or move them to a file with `memory doctor --repair --quarantine FILE`";
    RecordMetadataUnreadable = "record-metadata-unreadable", Manual,
        "records have metadata that are not a JSON object",
        "restore them from a backup, or move them to a file with `memory doctor --repair --quarantine FILE`";
    RecordShareInvalid = "record-share-invalid", Repair,
        "records have a confidence or importance outside of 0 to 1", "sets the nearest valid number";
    RecordValidityReversed = "record-validity-reversed", Manual,
        "records are valid until a time before their validity begins",
        "restore them from a backup, or set the column `valid_until`";
    RecordRevisionInvalid = "record-revision-invalid", Repair,
        "records have a revision below 1", "sets the revision 1";
    RecordRoundInvalid = "record-round-invalid", Manual,
        "records have a round that is not a number from 0 to 4294967295",
        "restore them from a backup, or set the column `round`";
    RecordDeleted = "record-deleted", Manual,
        "records have the id of a deleted record",
        "delete them again with `memory forget`, or restore the table `tombstones` from a backup";
    RecordHashWrong = "record-hash-wrong", Repair,
        "records have a content hash or a folded text of another text", "computes both again";
    DerivationMissing = "derivation-missing", Repair,
        "sources of records are not in the table of derivations", "adds them";
    DerivationOrphan = "derivation-orphan", Repair,
        "derivations belong to no record or are not among its sources", "deletes them";
    RecordGroupsWrong = "record-groups-wrong", Repair,
        "groups of records have a wrong count or time", "counts them again";
    DeletionUnfinished = "deletion-unfinished", Manual,
        "deletions of everything within a scope are not complete", "if they are not running, repeat them";

    // Tombstones.
    TombstoneScopeMissing = "tombstone-scope-missing", Manual,
        "tombstones belong to no scope", "restore the tables of scopes from a backup";
    TombstoneUnblocked = "tombstone-unblocked", Repair,
        "tombstones do not block the content of their record", "blocks it";
    TombstoneWeak = "tombstone-weak", Repair,
        "contents that a user deleted are blocked only as derived content", "blocks them fully";
    BlockOrphan = "block-orphan", Manual,
        "blocked contents belong to no user", "restore the table `namespaces` from a backup";

    // The job queue.
    QueueOrphan = "queue-orphan", Repair,
        "queued jobs belong to no record", "deletes them";
    QueueJobUnknown = "queue-job-unknown", Repair,
        "queued jobs have an unknown name", "deletes them";
    QueueVersionMissing = "queue-version-missing", Repair,
        "jobs are queued for a second embedding version that does not exist", "deletes them";
    QueueOwnerUnknown = "queue-owner-unknown", Repair,
        "jobs are leased to an unknown owner", "releases them";
    QueueLeaseTooLong = "queue-lease-too-long", Repair,
        "jobs are leased or delayed for more than a year", "releases them";
    QueueAttemptsInvalid = "queue-attempts-invalid", Repair,
        "queued jobs have a number of attempts outside of 0 to 4294967295", "sets it to 0";
    QueueReasonMissing = "queue-reason-missing", Repair,
        "failed jobs have no reason and are not listed", "queues them again";
    QueueTicketInvalid = "queue-ticket-invalid", Repair,
        "queued jobs have a negative ticket", "gives them new tickets";

    // The keyword index.
    KeywordOrphan = "keyword-orphan", Repair,
        "entries of the keyword index belong to no record", "deletes them";
    KeywordInactive = "keyword-inactive", Repair,
        "inactive records are in the keyword index", "removes them from it";
    KeywordIdMismatch = "keyword-id-mismatch", Repair,
        "entries of the keyword index have another id than their record", "sets the id of the record";
    KeywordScopeMismatch = "keyword-scope-mismatch", Repair,
        "entries of the keyword index have another scope than their record", "corrects or recomputes them";
    KeywordTermsUnreadable = "keyword-terms-unreadable", Repair,
        "entries of the keyword index cannot be read", "recomputes them";
    KeywordLengthWrong = "keyword-length-wrong", Repair,
        "entries of the keyword index have a length that is not the number of their terms", "recomputes them";
    KeywordLexemesWrong = "keyword-lexemes-wrong", Repair,
        "entries of the keyword index have lexemes or counts that differ from their terms", "recomputes them";
    KeywordMissing = "keyword-missing", Repair,
        "active records are neither in the keyword index nor queued for it", "queues them";
    KeywordCountWrong = "keyword-count-wrong", Repair,
        "scopes have a wrong count of entries of the keyword index", "counts them again";

    // The vectors.
    VectorOrphan = "vector-orphan", Repair,
        "vectors belong to no record", "deletes them";
    VectorInactive = "vector-inactive", Repair,
        "inactive records have a vector", "deletes it";
    VectorIdMismatch = "vector-id-mismatch", Repair,
        "vectors have another id than their record", "sets the id of the record";
    VectorScopeMismatch = "vector-scope-mismatch", Repair,
        "vectors have another scope than their record", "sets the scope of the record";
    VectorDimensionsWrong = "vector-dimensions-wrong", Repair,
        "vectors have another number of dimensions than their embedding space", "recomputes them";
    VectorUnreadable = "vector-unreadable", Repair,
        "vectors hold a number that is not finite, or only zeros", "recomputes them";
    TokenVectorsOrphan = "token-vectors-orphan", Repair,
        "token vectors belong to no vector", "deletes them";
    TokenVectorsUnreadable = "token-vectors-unreadable", Repair,
        "token vectors cannot be read", "recomputes them with their vector";
    SecondVectorsUnused = "second-vectors-unused", Repair,
        "vectors belong to a second embedding version that does not exist", "deletes them";
    VectorMissing = "vector-missing", Repair,
        "active records have no vector and are not queued for one", "queues them";
    VectorCountWrong = "vector-count-wrong", Repair,
        "scopes have a wrong count of vectors", "counts them again";

    // The graph.
    GraphOrphan = "graph-orphan", Repair,
        "entities, aliases or relations belong to no record", "deletes them";
    GraphInactive = "graph-inactive", Repair,
        "entities, aliases or relations belong to inactive records", "deletes them";
    GraphScopeMismatch = "graph-scope-mismatch", Repair,
        "entities, aliases or relations have another scope than their record", "sets the scope of the record";
    GraphAliasDangling = "graph-alias-dangling", Repair,
        "aliases belong to no entity of their record", "deletes them";
    GraphRuleInvalid = "graph-rule-invalid", Repair,
        "relations name a rule that no rule can be called", "deletes the name of the rule";

    // Synonyms.
    SynonymOrphan = "synonym-orphan", Manual,
        "synonyms or verdicts on them belong to no user", "restore the table `namespaces` from a backup";
    SynonymUnreadable = "synonym-unreadable", Manual,
        "synonym groups cannot be read", "correct their words, a JSON array of texts, or delete the rows";
    VerdictUnreadable = "verdict-unreadable", Manual,
        "verdicts on synonyms do not have two different words", "correct or delete the rows";
}

impl Serialize for ProblemKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
