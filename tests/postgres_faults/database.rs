//! A separate schema of the test server.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use memory_engine::{Builder, MemoryEngine, Result, embed::HashEmbedder, postgres::PostgresOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgConnectOptions};

/// A schema that is dropped with this value.
#[derive(Debug)]
pub(crate) struct Database {
    url: String,
    schema: String,
}

impl Database {
    pub(crate) fn new(url: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self { url: url.to_owned(), schema: format!("faults_{}_{count}", std::process::id()) }
    }

    /// Opens an engine on this schema, without background work.
    pub(crate) async fn open(&self, url: &str, options: PostgresOptions) -> Result<MemoryEngine> {
        self.builder(url, options).build().await
    }

    /// The builder of an engine on this schema, without background work.
    pub(crate) fn builder(&self, url: &str, options: PostgresOptions) -> Builder {
        let builder = MemoryEngine::builder().embedder(HashEmbedder::default()).background(false);
        builder.postgres_with(url, options.with_schema(&self.schema))
    }

    /// Opens a connection that does not belong to an engine.
    pub(crate) async fn connect(&self, url: &str) -> PgConnection {
        let options: PgConnectOptions = url.parse().unwrap();
        let path = format!("{},public", self.schema);
        PgConnection::connect_with(&options.options([("search_path", path)])).await.unwrap()
    }

    /// Waits until another connection waits for a lock of this one.
    pub(crate) async fn wait_for_blocked(&self, holder: &mut PgConnection) {
        let own: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(holder).await.unwrap();
        // Within a transaction, the view would not change.
        let mut observer = self.connect(&self.url).await;
        let is_blocked = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))";
        while !sqlx::query_scalar::<_, bool>(is_blocked).bind(own).fetch_one(&mut observer).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Checks that the health check finds no problem.
    pub(crate) async fn check_health(&self, url: &str) {
        let options = PostgresOptions::default().with_schema(&self.schema);
        let report = memory_engine_postgres::check_health(url, &options).await.unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (url, schema) = (self.url.clone(), self.schema.clone());
        let drop_schema = async move {
            let mut connection = PgConnection::connect(&url).await?;
            let sql = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.map(drop)
        };
        // A value is dropped within a runtime, which cannot block.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let dropping = std::thread::spawn(move || runtime.block_on(drop_schema));
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("the schema {} could not be dropped: {error}", self.schema);
        }
    }
}
