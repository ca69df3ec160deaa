//! Builds the HNSW index over the vectors in the background, while writes and searches continue. Until it is complete,
//! searches compare every vector.
//!
//! A session that builds an index holds the [build lock](migration::try_lock_build). `CREATE INDEX CONCURRENTLY` waits
//! for every transaction with an older snapshot. A session that waited for the lock inside of a statement would have
//! such a snapshot, and both would wait for each other. So the lock is polled.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use memory_engine_core::observe::tracing;
use memory_engine_sql::{embedding_versions::VectorTable, index_metadata::IndexMetadata};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    database::{error::PostgresError, index_metadata, migration, server::ServerConfig},
    vectors::{
        embedding_versions,
        vector_index::{IndexState, VectorIndex, index_name},
    },
};

/// A build begins after this time without new vectors. Inserting a vector into an existing index takes several times as
/// long as building the index with it.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// Maximum time for which writes delay a build.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// Maximum number of attempts: a build may deadlock with statements of other programs.
const MAX_ATTEMPTS: u32 = 5;

/// Time before another attempt, and between two attempts to get the lock while another session builds an index or
/// migrates the schema.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The background task of a store that builds its index.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    task: Mutex<Option<JoinHandle<()>>>,
    is_closing: watch::Sender<bool>,
}

impl Default for IndexBuilder {
    fn default() -> Self {
        Self { task: Mutex::default(), is_closing: watch::Sender::new(false) }
    }
}

impl IndexBuilder {
    /// Starts the task, unless it is running or the store is closed.
    ///
    /// After an error the build is repeated, at most [`MAX_ATTEMPTS`] times in all. If all fail, every vector is
    /// compared, and a later write starts the task again.
    pub(crate) fn start(&self, server: ServerConfig, metadata: IndexMetadata, index: VectorIndex) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let is_running = task.as_ref().is_some_and(|task| !task.is_finished());
        if is_running || *self.is_closing.borrow() {
            return;
        }
        let build = Build { server, metadata, index, is_closing: self.is_closing.subscribe() };
        *task = Some(tokio::spawn(async move {
            build.run().await;
        }));
    }

    /// Begins a delayed build at once, and waits for the task until `deadline`. After that the server completes the
    /// build by itself, and the next process that starts a builder records the index.
    pub(crate) async fn close(&self, deadline: Instant) {
        self.is_closing.send_replace(true);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _: Result<_, _> = timeout_at(deadline, task).await;
        }
    }
}

/// One build.
struct Build {
    server: ServerConfig,
    metadata: IndexMetadata,
    index: VectorIndex,
    is_closing: watch::Receiver<bool>,
}

impl Build {
    async fn run(mut self) {
        self.wait_until_quiet().await;
        for _ in 0..MAX_ATTEMPTS {
            let Err(failure) = self.try_build().await else { return };
            tracing::warn!(error = %failure.into_error("index"), "the vector index is not built yet");
            if self.wait(RETRY_INTERVAL).await {
                return;
            }
        }
    }

    async fn try_build(&mut self) -> Result<(), PostgresError> {
        let mut connection = PgConnection::connect_with(&self.server.migration_options()).await?;
        while !migration::try_lock_build(&mut connection).await? {
            if self.wait(RETRY_INTERVAL).await {
                return Ok(());
            }
        }
        let (_, table) = index_metadata::read_versions(&mut connection).await?.role(&self.metadata, "index")?;
        match self.index.state(&mut connection, table).await? {
            IndexState::Reconciled => {}
            IndexState::Missing { .. } if migration::partitions(&mut connection).await? == 0 => {
                self.build(&mut connection, table).await?;
            }
            // The server cannot build an index of a partitioned table while writes continue.
            IndexState::Missing { .. } | IndexState::Outdated => {
                let mut transaction = connection.begin().await?;
                embedding_versions::create_index(&mut transaction, &self.metadata, &self.index).await?;
                transaction.commit().await?;
            }
        }
        if VectorIndex::recorded_definition(&mut connection, table).await?.is_some() {
            self.index.set_created();
        }
        Ok(connection.close().await?)
    }

    /// Waits until no vectors were written for [`QUIET_TIME`], at most [`MAX_DELAY`]. Returns at once if this process
    /// has written none.
    async fn wait_until_quiet(&mut self) {
        let deadline = Instant::now() + MAX_DELAY;
        let mut written = self.index.total_written();
        if written == 0 {
            return;
        }
        while Instant::now() < deadline && !self.wait(QUIET_TIME).await {
            let now_written = self.index.total_written();
            if now_written == written {
                return;
            }
            written = now_written;
        }
    }

    /// Waits for this time. Returns true, at once, if the store is being closed.
    async fn wait(&mut self, duration: Duration) -> bool {
        timeout(duration, self.is_closing.wait_for(|is_closing| *is_closing)).await.is_ok()
    }

    async fn build(&self, connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
        if self.index.can_index() && !VectorIndex::exists(connection, table).await? {
            // A build that failed leaves an invalid index.
            VectorIndex::remove(connection, table).await?;
            self.index.set_build_memory(connection, table).await?;
            let sql = format!(
                "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw {}",
                index_name(table),
                table.name(),
                self.index.definition()
            );
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        }
        self.index.record(connection, table).await
    }
}
