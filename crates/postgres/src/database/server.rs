//! The address of a server, and the settings of every connection to it. The password is never shown.

use std::{fmt, str::FromStr};

use memory_engine_core::{Error, Result};
use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::database::{error::PostgresError, options::PostgresOptions, secret_url::SecretUrl};

/// Iterative scans of pgvector's HNSW graph, until enough rows pass the filter. Relaxed order is enough, since the
/// candidates are scored again. Set for the connection, so that searches need not set it.
const HNSW_SETTINGS: [(&str, &str); 3] =
    [("hnsw.iterative_scan", "relaxed_order"), ("hnsw.ef_search", "100"), ("hnsw.max_scan_tuples", "40000")];

/// The cost of reading a random page. The default of Postgres is for rotating disks: with it, the planner reads a
/// whole table to find a handful of rows.
const PAGE_COST_SETTING: (&str, &str) = ("random_page_cost", "1.1");

/// The address of a server, and the settings of every connection to it.
#[derive(Clone)]
pub(crate) struct ServerConfig {
    options: PgConnectOptions,
    /// The address without the password.
    display: String,
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

impl fmt::Display for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

impl ServerConfig {
    /// Parses a URL.
    ///
    /// # Errors
    /// `InvalidInput`. The message does not contain the URL: the invalid part may be the password.
    pub(crate) fn parse(url: &SecretUrl, options: &PostgresOptions) -> Result<Self> {
        let invalid = "the address of the database is invalid; \
                       write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX";
        if !url.expose().starts_with("postgres://") && !url.expose().starts_with("postgresql://") {
            return Err(Error::invalid("connect", invalid));
        }
        // The error of the parser is dropped, since it may quote a part of the URL.
        let parsed = PgConnectOptions::from_str(url.expose()).map_err(|_| Error::invalid("connect", invalid))?;
        Self::new(parsed, options)
    }

    /// As [`parse`](Self::parse), of a URL from a caller.
    pub(crate) fn of_url(url: &str, options: &PostgresOptions) -> Result<Self> {
        Self::parse(&SecretUrl::new(url.to_owned()), options)
    }

    /// Returns the server of a caller's pool.
    ///
    /// # Errors
    /// `InvalidInput` for an option out of its range.
    pub(crate) fn from_pool(pool: &PgPool, options: &PostgresOptions) -> Result<Self> {
        Self::new(PgConnectOptions::clone(&pool.connect_options()), options)
    }

    fn new(parsed: PgConnectOptions, options: &PostgresOptions) -> Result<Self> {
        options.validate()?;
        let display = format!(
            "postgres://{}@{}:{}/{}",
            parsed.get_username(),
            parsed.get_host(),
            parsed.get_port(),
            parsed.get_database().unwrap_or_default()
        );
        let has_application_name = parsed.get_application_name().is_some();
        let mut parsed = parsed.options(settings(options)).disable_statement_logging();
        if !has_application_name {
            parsed = parsed.application_name("memory-engine");
        }
        Ok(Self { options: parsed, display })
    }

    /// Returns a pool, which opens connections when they are needed.
    pub(crate) fn pool(&self, options: &PostgresOptions) -> PgPool {
        PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            .connect_lazy_with(self.options.clone())
    }

    /// Opens a connection outside of the pool.
    pub(crate) async fn connect(&self) -> sqlx::Result<PgConnection> {
        self.options.connect().await
    }

    /// Returns the options of a connection for migrations and health checks, without a statement timeout: reading whole
    /// tables may take longer than that of searches.
    pub(crate) fn migration_options(&self) -> PgConnectOptions {
        self.options.clone().options([("statement_timeout", "0")])
    }

    /// Opens a connection for migrations and health checks.
    pub(crate) async fn connect_for_maintenance(
        &self,
        options: &PostgresOptions,
    ) -> Result<PgConnection, PostgresError> {
        let target = self.migration_options();
        let connected = tokio::time::timeout(options.acquire_timeout, PgConnection::connect_with(&target)).await;
        Ok(connected.map_err(|_| PostgresError::from(sqlx::Error::PoolTimedOut))??)
    }
}

/// Runs the work of an administrative operation on a connection of its own, and closes the connection.
pub(crate) async fn on_connection<T>(
    url: &str,
    options: &PostgresOptions,
    operation: &'static str,
    work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, PostgresError>,
) -> Result<T> {
    let run = async {
        let mut connection = ServerConfig::of_url(url, options)?.connect_for_maintenance(options).await?;
        let value = work(&mut connection).await?;
        connection.close().await?;
        Ok(value)
    };
    run.await.map_err(|failure: PostgresError| failure.into_error(operation))
}

/// Returns the settings of every session.
pub(crate) fn settings(options: &PostgresOptions) -> Vec<(&'static str, String)> {
    let timeout = options.statement_timeout.as_millis().to_string();
    let mut settings = vec![("statement_timeout", timeout), ("timezone", "UTC".to_owned())];
    settings.extend([PAGE_COST_SETTING].into_iter().chain(HNSW_SETTINGS).map(|(name, value)| (name, value.to_owned())));
    if let Some(schema) = &options.schema {
        // Extensions are installed in one of the other two schemas.
        settings.push(("search_path", format!("{schema},public,extensions")));
    }
    settings
}

#[cfg(test)]
mod tests {
    use memory_engine_core::ErrorKind;

    use super::*;

    fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    #[test]
    fn the_password_is_never_shown() {
        let url = SecretUrl::new("postgres://lin:hunter2@db.example:5433/memory?sslmode=require".into());
        let server = ServerConfig::parse(&url, &options().with_replica("postgres://lin:hunter2@other/memory")).unwrap();
        let shown =
            format!("{url:?} {server:?} {server} {:?}", options().with_replica("postgres://lin:hunter2@other/m"));
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("postgres://lin@db.example:5433/memory"), "{shown}");
    }

    #[test]
    fn an_invalid_address_is_not_repeated() {
        for url in
            ["mysql://lin:hunter2@db/x", "postgres://lin:hunter2@db:port/x", "hunter2", "postgres://lin:hun%ter2@[/"]
        {
            let e = ServerConfig::parse(&SecretUrl::new(url.into()), &options()).unwrap_err();
            let shown = format!("{e} {e:?}");
            assert_eq!(e.kind(), ErrorKind::InvalidInput);
            assert!(!shown.contains("hunter2") && !shown.contains("ter2"), "{shown}");
        }
    }
}
