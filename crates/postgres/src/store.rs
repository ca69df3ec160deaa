//! The store and its connections.

use std::{fmt, sync::Arc};

use memory_engine_core::{
    Clock, EmbeddingSpace, Result,
    observe::{Operation, observe_as},
    operation_span,
};
use memory_engine_sql::{
    index_metadata::IndexMetadata,
    options::{Mismatch, StoreOptions},
};
use memory_engine_vector_store::GenerationStore;
use sqlx::PgPool;

use crate::{
    database::{
        connections::Connections,
        error::PostgresError,
        index_metadata, migration,
        secret::Secret,
        server::Server,
        transaction::{reading, writing},
    },
    options::PostgresOptions,
    queue::lease_owner::LeaseOwner,
    reconcile::reconcile,
    vectors::{generations, vector_index::VectorIndex},
};

/// Every store of memory-engine over one Postgres database: [`RecordStore`](memory_engine_core::RecordStore),
/// [`KeywordStore`](memory_engine_keyword_store::KeywordStore),
/// [`VectorStore`](memory_engine_vector_store::VectorStore), [`GraphStore`](memory_engine_graph::GraphStore) and
/// [`SynonymStore`](memory_engine_synonyms::SynonymStore).
///
/// Any number of stores, in any number of processes, can have one database open. The writes of one user come one after
/// the other; those of different users do not wait for each other.
///
/// A transaction that lost against another one is run again. A call that fails because the server cannot be reached
/// fails with `Unavailable`; later ones find the server when it is back.
pub struct PostgresStore {
    server: Server,
    primary: Arc<Connections>,
    replica: Option<Arc<Connections>>,
    space: EmbeddingSpace,
    clock: Arc<dyn Clock>,
    origin: IndexMetadata,
    index: VectorIndex,
    fuzzy: bool,
    lease_owner: Arc<LeaseOwner>,
}

impl PostgresStore {
    /// Connects to a database and brings it to the schema of this version.
    ///
    /// `url` is `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`; `sslmode` (`disable`, `prefer`, `require`,
    /// `verify-ca`, `verify-full`) says how much of TLS is asked for. The password is never shown.
    ///
    /// # Errors
    /// `InvalidInput` for an address that is not understood, or a database with tables of another application;
    /// `Unavailable` when the server cannot be reached; `Unauthorized` when it refuses the user; `NotFound` for a
    /// missing database; `SchemaMismatch` for a database of a newer version, or of another analyzer or embedder (see
    /// [`Mismatch`](crate::Mismatch)); `Unsupported` for a server without pgvector 0.8.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the database as it was, or wholly migrated.
    pub async fn connect(url: &str, store: StoreOptions) -> Result<Self> {
        Self::connect_with(url, store, PostgresOptions::default()).await
    }

    /// Connects as [`connect`](Self::connect) does, with these settings.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and `InvalidInput` for a setting out of its range.
    ///
    /// # Cancel safety
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, store: StoreOptions, options: PostgresOptions) -> Result<Self> {
        let server = Server::of(&Secret::new(url.to_owned()), &options)?;
        let primary = Connections::to(&server, &options);
        Self::open(server, primary, store, options).await
    }

    /// Opens a database through a pool of the caller, which may have other users.
    ///
    /// Each call takes a connection, saves its settings and applies its own: `statement_timeout`, `timezone`,
    /// `random_page_cost`, those of pgvector (`hnsw.…`) and, with [`PostgresOptions::schema`], `search_path`. It gives
    /// the connection back with the settings that it had, so a call costs two round trips more than with a pool of the
    /// store. A connection whose call fails or is cancelled is closed. The pool's size and timeouts apply;
    /// [`max_connections`](PostgresOptions::max_connections) and [`acquire_timeout`](PostgresOptions::acquire_timeout)
    /// do not. Migrations use a connection next to the pool. [`close`](Self::close) leaves the pool open.
    ///
    /// # Errors
    /// As [`connect_with`](Self::connect_with).
    ///
    /// # Cancel safety
    /// As [`connect`](Self::connect).
    pub async fn from_pool(pool: PgPool, store: StoreOptions, options: PostgresOptions) -> Result<Self> {
        let server = Server::of_pool(&pool, &options)?;
        let primary = Connections::borrowed(pool, &options);
        Self::open(server, primary, store, options).await
    }

    async fn open(server: Server, primary: Connections, store: StoreOptions, options: PostgresOptions) -> Result<Self> {
        let replica = options.replica.as_ref().map(|url| Server::of(url, &options)).transpose()?;
        let origin = IndexMetadata::new(&store);
        let index = VectorIndex::of(store.space.clone(), &options);
        let primary = Arc::new(primary);
        let span = operation_span!(
            INFO,
            "memory_engine.store.open",
            "db.system.name" = "postgresql",
            schema = migration::SCHEMA,
        );
        let open = async {
            if !is_settled(&primary, &origin, &index).await? {
                reconcile(&server, &store, &options, &origin, &index).await?;
            }
            knows_letters(&primary).await
        };
        let fuzzy = observe_as(&span, Operation::Unmeasured, PostgresError::kind, open).await;
        let fuzzy = fuzzy.map_err(|failure| failure.into_error("connect"))?;
        let mismatch = store.mismatch;
        let opened = Self {
            lease_owner: Arc::new(LeaseOwner::new(server.clone())),
            server,
            primary,
            replica: replica.map(|server| Arc::new(Connections::to(&server, &options))),
            space: store.space,
            clock: store.clock,
            origin,
            index,
            fuzzy,
        };
        opened.refill(mismatch).await?;
        Ok(opened)
    }

    /// Begins a second generation of vectors, or goes on with it, where that is what the store was opened for.
    async fn refill(&self, mismatch: Mismatch) -> Result<()> {
        let versions = reading!(self, "connect", |connection| index_metadata::versions(connection).await)?;
        if versions.serving.is_some_and(|found| self.origin.refills(&found, mismatch)) {
            self.begin().await?;
        }
        Ok(())
    }

    /// Creates the vector index if it is due after this many written vectors. The written data stays in any case:
    /// until there is an index every vector is compared, and later writes try again.
    pub(crate) async fn see_to_index(&self, written: usize) {
        if !self.index.is_due(written as u64) {
            return;
        }
        let made: Result<bool> = writing!(self, "index", |connection| {
            generations::make_index(connection, &self.origin, &self.index).await
        });
        if made.unwrap_or(false) {
            self.index.note_made();
        }
    }

    /// Another handle on the same database, in another space.
    pub(crate) fn in_space(&self, space: EmbeddingSpace) -> Self {
        Self {
            server: self.server.clone(),
            primary: Arc::clone(&self.primary),
            replica: self.replica.clone(),
            clock: Arc::clone(&self.clock),
            origin: self.origin.in_space(&space),
            index: self.index.in_space(space.clone()),
            space,
            fuzzy: self.fuzzy,
            lease_owner: Arc::clone(&self.lease_owner),
        }
    }

    /// Lets running calls end and closes every connection, but not a pool of the caller. Calls that come later fail
    /// with `Closed`.
    pub async fn close(&self) {
        self.lease_owner.close().await;
        self.primary.close().await;
        if let Some(replica) = &self.replica {
            replica.close().await;
        }
    }

    /// Returns true if [`fuzzy`](Self::fuzzy) works on this database: `pg_trgm` is installed, and its locale supports
    /// letters beyond ASCII.
    pub fn is_fuzzy(&self) -> bool {
        self.fuzzy
    }

    pub(crate) fn lease_owner(&self) -> &LeaseOwner {
        &self.lease_owner
    }

    pub(crate) fn primary(&self) -> &Connections {
        &self.primary
    }

    pub(crate) fn replica(&self) -> Option<&Connections> {
        self.replica.as_deref()
    }

    pub(crate) fn embedding_space(&self) -> &EmbeddingSpace {
        &self.space
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn origin(&self) -> &IndexMetadata {
        &self.origin
    }

    pub(crate) fn index(&self) -> &VectorIndex {
        &self.index
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("server", &self.server)
            .field("space", &self.space)
            .finish_non_exhaustive()
    }
}

/// Returns true if there is nothing to do, which is the usual case. Takes no lock.
async fn is_settled(
    connections: &Connections,
    origin: &IndexMetadata,
    index: &VectorIndex,
) -> Result<bool, PostgresError> {
    let mut connection = connections.acquire().await?;
    let settled = migration::version(&mut connection).await? == migration::SCHEMA
        && index_metadata::fits(&mut connection, origin).await?
        && {
            let table = index_metadata::versions(&mut connection).await?.table;
            index.is_settled(&mut connection, table).await?
        };
    connection.give_back().await;
    Ok(settled)
}

/// Returns true if trigrams work for Chinese: under some locales `pg_trgm` drops everything but ASCII.
async fn knows_letters(connections: &Connections) -> Result<bool, PostgresError> {
    let mut connection = connections.acquire().await?;
    let installed = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm')";
    let knows = sqlx::query_scalar::<_, bool>(installed).fetch_one(&mut *connection).await?
        && sqlx::query_scalar("SELECT show_trgm('昨天') <> '{}'").fetch_one(&mut *connection).await?;
    connection.give_back().await;
    Ok(knows)
}
