//! Describes the tables of a backup. Both backends generate the statements that read and write their rows from it.

/// What a row of a table belongs to. The columns that identify it are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOwner {
    /// The whole database.
    Database,
    /// A namespace: a user, or a whole tenant.
    Namespace,
    /// The address of a conversation.
    Scope,
    /// A record, which the row names by its id.
    Record,
}

/// How a column is stored, and the cell that a backup has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellType {
    /// A 64-bit number.
    Integer,
    /// A truth value; the cell is 0 or 1.
    Boolean,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// An id of 16 bytes.
    Id,
    /// The packed terms of a record. SQLite stores them as text, and they can contain any byte.
    PackedTerms,
    /// A vector; the cell has its values as 32-bit floats, little-endian.
    Vector,
    /// A list of texts; the cell is JSON.
    TextList,
    /// A list of ids; the cell has one after the other.
    IdList,
    /// The position of the row among those of its record. SQLite does not store it: its rows are in this order.
    Position,
    /// The end of a lease. The cell is 1 for a dead letter and 0 otherwise: leases and delays of retries are not part
    /// of a backup.
    DeadLetterFlag,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name. Postgres calls `vector` and `user` otherwise, because they are words of its SQL.
    pub name: &'static str,
    /// How it is stored.
    pub cell: CellType,
}

macro_rules! backup_tables {
    ($($(#[doc = $doc:literal])* $table:ident: $name:ident of $owner:ident ($($column:ident: $cell:ident),*);)+) => {
        /// The tables of a backup, in the order in which their rows are written: rows refer to rows of earlier tables.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum BackupTable {
            $($(#[doc = $doc])* $table),+
        }

        impl BackupTable {
            /// All tables, in the order in which their rows are written.
            pub const ALL: &[Self] = &[$(Self::$table),+];

            /// The name of the table in SQLite. Postgres has the token vectors in the tables of vectors.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$table => stringify!($name)),+
                }
            }

            /// What its rows belong to.
            pub fn owner(self) -> RowOwner {
                match self {
                    $(Self::$table => RowOwner::$owner),+
                }
            }

            /// Its columns, except those that identify the owner and the record. Empty for `records`: a row of it is a
            /// whole record.
            pub fn columns(self) -> &'static [Column] {
                match self {
                    $(Self::$table => &[$(Column { name: stringify!($column), cell: CellType::$cell }),*]),+
                }
            }
        }
    };
}

backup_tables! {
    /// The analyzer and the embedding spaces of the indexes.
    IndexMetadata: index_metadata of Database (part: Text, made_by: Text);
    /// The records.
    Records: records of Scope ();
    /// The tombstones.
    Tombstones: tombstones of Scope (id: Id, content_hash: Bytes, deleted_at: Integer, cascade_deleted: Boolean);
    /// The contents that tombstones block.
    BlockedContents: blocked_contents of Namespace (content_hash: Bytes, cascade_deleted: Boolean);
    /// The terms of the records.
    Terms: keyword_documents of Record (length: Integer, terms: PackedTerms, counts: Bytes);
    /// The vectors of the first version.
    Vectors: vectors of Record (vector: Vector);
    /// The vectors of the second version.
    SecondVectors: secondary_vectors of Record (vector: Vector);
    /// The token vectors of the first version. Postgres has them in `vectors`.
    Tokens: vector_tokens of Record (tokens: Bytes);
    /// The token vectors of the second version. Postgres has them in `secondary_vectors`.
    SecondTokens: secondary_vector_tokens of Record (tokens: Bytes);
    /// The entities of the graph.
    Entities: graph_entities of Record (entity: Id, name: Text, kind: Text);
    /// The aliases of entities.
    Aliases: graph_aliases of Record (entity: Id, alias: Id, name: Text);
    /// The relations.
    Relations: graph_edges of Record (
        number: Position, source: Id, relation: Text, target: Id, valid_from: Integer, valid_until: Integer, rule: Text
    );
    /// The groups of synonyms.
    SynonymGroups: synonym_groups of Namespace (term: Text, members: TextList, category: Text);
    /// The decisions about suggested synonyms.
    SynonymVerdicts: synonym_verdicts of Namespace (first: Text, second: Text, accepted: Boolean);
    /// The queue.
    Jobs: jobs of Record (job: Text, queued_at: Integer, attempts: Integer, reason: Text, leased_until: DeadLetterFlag);
    /// The heads of the audit log.
    AuditChains: audit_chains of Database (
        tenant: Text, sequence: Integer, hash: Bytes, pruned_sequence: Integer, pruned_hash: Bytes
    );
    /// The entries of the audit log.
    AuditLog: audit_log of Database (
        tenant: Text, sequence: Integer, written_at: Integer, actor_key: Text, actor_agent: Text, action: Text,
        operation: Text, user: Text, agent: Text, session: Text, branch: Text, records: IdList, record_count: Integer,
        failed_entry: Integer, error: Text, previous_hash: Bytes, hash: Bytes
    );
}

impl BackupTable {
    /// Returns the `WHERE` clause for the rows of a backup, for a table with the alias `x`; otherwise an empty text.
    /// The other parts of the metadata describe the index files of a store, which a backup does not contain.
    pub fn condition(self) -> &'static str {
        if self == Self::IndexMetadata {
            " WHERE x.part IN ('keywords', 'embedding', 'reembedding', 'serving table', 'views')"
        } else {
            ""
        }
    }
}
