//! Opens and closes a [`PostgresStore`], and holds its connections.

use std::{fmt, sync::Arc, time::Duration};

use memory_engine_core::{
    Clock, EmbeddingSpace, Result, Timestamp, Write, WriteResult,
    observe::{Operation, observe_as},
    operation_span,
};
use memory_engine_sql::{
    index_metadata::IndexMetadata,
    options::{Mismatch, StoreOptions},
};
use memory_engine_vector_store::EmbeddingVersionStore;
use sqlx::PgPool;
use tokio::time::Instant;

use crate::{
    database::{
        connections::Connections, error::PostgresError, index_metadata, migration, options::PostgresOptions,
        server::ServerConfig, statistics::PlannerStatistics, transaction::with_reader,
    },
    keywords::keyword_search::KeywordIndex,
    queue::lease_owner::LeaseOwner,
    reconcile::reconcile,
    records::put,
    rows::remembered_scopes::RememberedScopes,
    vectors::{
        index_builder::IndexBuilder,
        vector_index::{IndexState, SMALL_TABLE_VECTORS, VectorIndex},
    },
};

/// Maximum time for which [`PostgresStore::close`] waits for background tasks.
const MAX_CLOSE_TIME: Duration = Duration::from_secs(10);

/// Every store of memory-engine over one Postgres database: [`RecordStore`](memory_engine_core::RecordStore),
/// [`KeywordStore`](memory_engine_keyword_store::KeywordStore),
/// [`VectorStore`](memory_engine_vector_store::VectorStore), [`GraphStore`](memory_engine_graph::GraphStore) and
/// [`SynonymStore`](memory_engine_synonyms::SynonymStore).
///
/// Any number of stores, in any number of processes, can have one database open. The writes of one user come one after
/// the other; those of different users do not wait for each other.
///
/// A transaction that conflicts with another one is repeated. If the server cannot be reached, a call fails with
/// `Unavailable`; later calls succeed when the server is reachable again.
pub struct PostgresStore {
    server: ServerConfig,
    primary: Arc<Connections>,
    replica: Option<Arc<Connections>>,
    space: EmbeddingSpace,
    clock: Arc<dyn Clock>,
    metadata: IndexMetadata,
    index: VectorIndex,
    /// Scopes in which a query term is often in many records.
    large_keyword_scopes: RememberedScopes,
    /// Scopes with a record whose terms the server cannot count.
    uncounted_keyword_scopes: RememberedScopes,
    lease_owner: Arc<LeaseOwner>,
    statistics: Arc<PlannerStatistics>,
    index_builder: Arc<IndexBuilder>,
}

impl PostgresStore {
    /// Connects to a database and brings it to the schema of this version.
    ///
    /// `url` is `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`. `sslmode` is the required level of TLS:
    /// `disable`, `prefer` (the default), `require`, `verify-ca` or `verify-full`. The password is never shown.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid address, or a database with tables of another application; `Unavailable` if the
    /// server cannot be reached; `Unauthorized` if it rejects the user; `NotFound` for a missing database;
    /// `SchemaMismatch` for a database of a newer version, or of another analyzer or embedder (see
    /// [`Mismatch`](crate::Mismatch)); `Unsupported` for a server without pgvector 0.8.
    ///
    /// # Cancel safety
    /// If the future is dropped, the database is unchanged or completely migrated.
    pub async fn connect(url: &str, store: StoreOptions) -> Result<Self> {
        Self::connect_with(url, store, PostgresOptions::default()).await
    }

    /// Connects with these options. See [`connect`](Self::connect).
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect), and `InvalidInput` for an option out of its range.
    ///
    /// # Cancel safety
    /// That of [`connect`](Self::connect).
    pub async fn connect_with(url: &str, store: StoreOptions, options: PostgresOptions) -> Result<Self> {
        let server = ServerConfig::of_url(url, &options)?;
        let primary = Connections::new(&server, &options);
        Self::open(server, primary, store, options).await
    }

    /// Opens a database through a pool of the caller, which other code may also use.
    ///
    /// Each call takes a connection, saves its settings and applies those of the store: `statement_timeout`,
    /// `timezone`, `random_page_cost`, those of pgvector (`hnsw.…`) and, with [`PostgresOptions::schema`],
    /// `search_path`. Afterwards it restores the saved settings, so a call needs two round trips more than with a pool
    /// of the store. A connection whose call fails or is cancelled is closed. The size and the timeouts of the pool
    /// apply; [`max_connections`](PostgresOptions::max_connections) and
    /// [`acquire_timeout`](PostgresOptions::acquire_timeout) do not. Migrations use a connection next to the pool.
    /// [`close`](Self::close) leaves the pool open.
    ///
    /// # Errors
    /// Those of [`connect_with`](Self::connect_with).
    ///
    /// # Cancel safety
    /// That of [`connect`](Self::connect).
    pub async fn from_pool(pool: PgPool, store: StoreOptions, options: PostgresOptions) -> Result<Self> {
        let server = ServerConfig::from_pool(&pool, &options)?;
        let primary = Connections::from_pool(pool, &options);
        Self::open(server, primary, store, options).await
    }

    async fn open(
        server: ServerConfig,
        primary: Connections,
        store: StoreOptions,
        options: PostgresOptions,
    ) -> Result<Self> {
        let replica = options.replica.as_ref().map(|url| ServerConfig::parse(url, &options)).transpose()?;
        let metadata = IndexMetadata::new(&store);
        let index = VectorIndex::of(store.space.clone(), &options);
        let primary = Arc::new(primary);
        let span = operation_span!(
            INFO,
            "memory_engine.store.open",
            "db.system.name" = "postgresql",
            schema = migration::SCHEMA,
        );
        let reconcile = async {
            match is_reconciled(&primary, &metadata, &index).await? {
                Some(needs_index) => Ok(needs_index),
                None => reconcile(&server, &store, &options, &metadata, &index).await,
            }
        };
        let reconciled = observe_as(&span, Operation::Unmeasured, PostgresError::kind, reconcile).await;
        let needs_index = reconciled.map_err(|failure| failure.into_error("connect"))?;
        let mismatch = store.mismatch;
        let opened = Self {
            lease_owner: Arc::new(LeaseOwner::new(server.clone())),
            server,
            primary,
            replica: replica.map(|server| Arc::new(Connections::new(&server, &options))),
            space: store.space,
            clock: store.clock,
            metadata,
            index,
            large_keyword_scopes: RememberedScopes::default(),
            uncounted_keyword_scopes: RememberedScopes::default(),
            statistics: Arc::default(),
            index_builder: Arc::default(),
        };
        opened.refill(mismatch).await?;
        if needs_index {
            opened.index_builder.start(opened.server.clone(), opened.metadata.clone(), opened.index.clone());
        }
        Ok(opened)
    }

    /// Begins or continues a second embedding version, if the store was opened with [`Mismatch::Refill`] in a new
    /// embedding space.
    async fn refill(&self, mismatch: Mismatch) -> Result<()> {
        let versions = with_reader!(self, "connect", |connection| index_metadata::read_versions(connection).await)?;
        if versions.serving.is_some_and(|found| self.metadata.refills(&found, mismatch)) {
            self.begin().await?;
        }
        Ok(())
    }

    /// Writes records of which nothing is stored with one statement. Returns `None`, without a change, if the writes
    /// have to be decided on stored data.
    pub(crate) async fn put_new(
        &self,
        writes: &[Write],
        now: Timestamp,
    ) -> Result<Option<Vec<WriteResult>>, PostgresError> {
        let mut connection = self.primary.acquire().await?;
        let table = self.index.assumed_table();
        let results = put::put_new(&mut connection, &self.metadata, table, writes, now).await?;
        connection.release().await;
        Ok(results)
    }

    /// Updates the statistics of the planner and builds the vector index in the background, if enough has been written.
    /// The arguments are the numbers of records and vectors in the last write.
    pub(crate) fn maintain(&self, records: usize, vectors: usize) {
        if self.statistics.count_written(records as u64) {
            self.statistics.update(&self.server);
        }
        if self.index.count_written(vectors as u64) {
            self.index_builder.start(self.server.clone(), self.metadata.clone(), self.index.clone());
        }
    }

    /// Returns another handle to the same database, in another embedding space.
    pub(crate) fn in_space(&self, space: EmbeddingSpace) -> Self {
        Self {
            server: self.server.clone(),
            primary: Arc::clone(&self.primary),
            replica: self.replica.clone(),
            clock: Arc::clone(&self.clock),
            metadata: self.metadata.in_space(&space),
            index: self.index.in_space(space.clone()),
            space,
            large_keyword_scopes: self.large_keyword_scopes.clone(),
            uncounted_keyword_scopes: self.uncounted_keyword_scopes.clone(),
            lease_owner: Arc::clone(&self.lease_owner),
            statistics: Arc::clone(&self.statistics),
            index_builder: Arc::default(),
        }
    }

    /// Waits for running calls and, for at most ten seconds, for the build of the vector index and the update of
    /// the statistics. Then closes every connection, but not a pool of the caller. Later calls fail with `Closed`.
    pub async fn close(&self) {
        self.lease_owner.close().await;
        let deadline = Instant::now() + MAX_CLOSE_TIME;
        self.index_builder.close(deadline).await;
        self.statistics.close(deadline).await;
        self.primary.close().await;
        if let Some(replica) = &self.replica {
            replica.close().await;
        }
    }

    pub(crate) fn lease_owner(&self) -> &LeaseOwner {
        &self.lease_owner
    }

    pub(crate) fn server(&self) -> &ServerConfig {
        &self.server
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

    pub(crate) fn metadata(&self) -> &IndexMetadata {
        &self.metadata
    }

    pub(crate) fn index(&self) -> &VectorIndex {
        &self.index
    }

    pub(crate) fn keyword_index(&self) -> KeywordIndex<'_> {
        KeywordIndex {
            metadata: &self.metadata,
            tenants: self.index.tenants(),
            large_scopes: &self.large_keyword_scopes,
            uncounted_scopes: &self.uncounted_keyword_scopes,
        }
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

/// Returns whether the vector index has to be built in the background; `None` if the database needs a reconciliation,
/// which is not the usual case. Takes no lock.
async fn is_reconciled(
    connections: &Connections,
    metadata: &IndexMetadata,
    index: &VectorIndex,
) -> Result<Option<bool>, PostgresError> {
    let mut connection = connections.acquire().await?;
    let mut needs_index = None;
    if migration::version(&mut connection).await? == migration::SCHEMA
        && index_metadata::matches(&mut connection, metadata).await?
    {
        let table = index_metadata::read_versions(&mut connection).await?.table;
        needs_index = match index.state(&mut connection, table).await? {
            IndexState::Reconciled => Some(false),
            IndexState::Missing { vectors } if vectors > SMALL_TABLE_VECTORS => Some(true),
            IndexState::Missing { .. } | IndexState::Outdated => None,
        };
    }
    connection.release().await;
    Ok(needs_index)
}
