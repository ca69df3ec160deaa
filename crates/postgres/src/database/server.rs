//! The address of the server. The password is never shown.

use std::{fmt, str::FromStr};

use memory_engine_core::{Error, Result};
use sqlx::{
    ConnectOptions, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{database::secret::Secret, options::PostgresOptions};

/// Iterative scans of pgvector's HNSW graph, until enough rows pass the filter. Relaxed order is enough, since the
/// candidates are scored again. Set for the connection, so that searches need not set it.
const GRAPH: [(&str, &str); 3] =
    [("hnsw.iterative_scan", "relaxed_order"), ("hnsw.ef_search", "100"), ("hnsw.max_scan_tuples", "40000")];

/// The cost of reading a random page. The default of Postgres is for rotating disks: with it, the planner reads a
/// whole table to find a handful of rows.
const PAGES: (&str, &str) = ("random_page_cost", "1.1");

/// A server's address, and what every connection to it begins with.
#[derive(Clone)]
pub(crate) struct Server {
    options: PgConnectOptions,
    shown: String,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Server {
    /// Reads an address.
    ///
    /// # Errors
    /// `InvalidInput`, which does not repeat it: the part that is wrong may be the password.
    pub(crate) fn of(url: &Secret, options: &PostgresOptions) -> Result<Self> {
        let wrong = "the address of the database is not understood; \
                     write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX";
        if !url.expose().starts_with("postgres://") && !url.expose().starts_with("postgresql://") {
            return Err(Error::invalid("connect", wrong));
        }
        // The error is left behind: it can quote what it did not understand.
        let parsed = PgConnectOptions::from_str(url.expose()).map_err(|_| Error::invalid("connect", wrong))?;
        Self::new(parsed, options)
    }

    /// The server that a pool of the caller connects to.
    ///
    /// # Errors
    /// `InvalidInput` for an option out of its range.
    pub(crate) fn of_pool(pool: &PgPool, options: &PostgresOptions) -> Result<Self> {
        Self::new(PgConnectOptions::clone(&pool.connect_options()), options)
    }

    fn new(parsed: PgConnectOptions, options: &PostgresOptions) -> Result<Self> {
        options.validate()?;
        let shown = format!(
            "postgres://{}@{}:{}/{}",
            parsed.get_username(),
            parsed.get_host(),
            parsed.get_port(),
            parsed.get_database().unwrap_or_default()
        );
        let named = parsed.get_application_name().is_some();
        let mut parsed = parsed.options(settings(options)).disable_statement_logging();
        if !named {
            parsed = parsed.application_name("memory-engine");
        }
        Ok(Self { options: parsed, shown })
    }

    /// A pool of connections that are made when they are needed.
    pub(crate) fn pool(&self, options: &PostgresOptions) -> PgPool {
        PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            .connect_lazy_with(self.options.clone())
    }

    /// A connection outside of the pool.
    pub(crate) async fn connect(&self) -> sqlx::Result<PgConnection> {
        self.options.connect().await
    }

    /// One connection for changing the schema, which may take its time.
    pub(crate) fn options_for_migrations(&self) -> PgConnectOptions {
        self.options.clone().options([("statement_timeout", "0")])
    }
}

/// The settings of every session.
pub(crate) fn settings(options: &PostgresOptions) -> Vec<(&'static str, String)> {
    let timeout = options.statement_timeout.as_millis().to_string();
    let mut settings = vec![("statement_timeout", timeout), ("timezone", "UTC".to_owned())];
    settings.extend([PAGES].into_iter().chain(GRAPH).map(|(name, value)| (name, value.to_owned())));
    if let Some(schema) = &options.schema {
        // Extensions live in one of the other two.
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
    fn the_password_shows_nowhere() {
        let url = Secret::new("postgres://lin:hunter2@db.example:5433/memory?sslmode=require".into());
        let server = Server::of(&url, &options().with_replica("postgres://lin:hunter2@other/memory")).unwrap();
        let shown =
            format!("{url:?} {server:?} {server} {:?}", options().with_replica("postgres://lin:hunter2@other/m"));
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("postgres://lin@db.example:5433/memory"), "{shown}");
    }

    #[test]
    fn an_address_that_is_not_understood_is_not_repeated() {
        for url in
            ["mysql://lin:hunter2@db/x", "postgres://lin:hunter2@db:port/x", "hunter2", "postgres://lin:hun%ter2@[/"]
        {
            let e = Server::of(&Secret::new(url.into()), &options()).unwrap_err();
            let shown = format!("{e} {e:?}");
            assert_eq!(e.kind(), ErrorKind::InvalidInput);
            assert!(!shown.contains("hunter2") && !shown.contains("ter2"), "{shown}");
        }
    }
}
