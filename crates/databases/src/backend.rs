//! Opens every store of an engine.

use std::fmt;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;

use memory_engine_core::{MemoryRecordStore, Result, StoreOptions};
#[cfg(feature = "postgres")]
use memory_engine_postgres::{PostgresOptions, PostgresStore, sqlx::PgPool};
#[cfg(feature = "sqlite")]
use memory_engine_sqlite::{SqliteOptions, SqliteStore};

#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::database::Location;
use crate::{database::Database, stores::Stores};
#[cfg(feature = "postgres")]
use crate::{database::DatabaseUrl, runtime::check_network};

/// The stores of an engine, before they are opened. Default: in memory.
#[derive(Default)]
pub struct Backend(BackendKind);

impl fmt::Debug for Backend {
    /// Writes no part of an address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

#[derive(Default)]
enum BackendKind {
    #[default]
    Memory,
    /// A database, with the default settings.
    Database(Database),
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf, SqliteOptions),
    #[cfg(feature = "postgres")]
    Postgres(DatabaseUrl, Box<PostgresOptions>),
    #[cfg(feature = "postgres")]
    PostgresPool(PgPool, Box<PostgresOptions>),
    Stores(Stores),
}

impl From<Database> for Backend {
    fn from(database: Database) -> Self {
        Self(BackendKind::Database(database))
    }
}

impl From<Stores> for Backend {
    fn from(stores: Stores) -> Self {
        Self(BackendKind::Stores(stores))
    }
}

impl Backend {
    /// Creates the backend of a SQLite file.
    #[cfg(feature = "sqlite")]
    pub fn sqlite(path: PathBuf, options: SqliteOptions) -> Self {
        Self(BackendKind::Sqlite(path, options))
    }

    /// Creates the backend of a Postgres database.
    #[cfg(feature = "postgres")]
    pub fn postgres(url: String, options: PostgresOptions) -> Self {
        Self(BackendKind::Postgres(DatabaseUrl(url), Box::new(options)))
    }

    /// Creates the backend of a Postgres database, through an existing pool.
    #[cfg(feature = "postgres")]
    pub fn postgres_pool(pool: PgPool, options: PostgresOptions) -> Self {
        Self(BackendKind::PostgresPool(pool, Box::new(options)))
    }

    /// Opens the stores. Those in memory use the clock and the space of the options; stores of the caller ignore them.
    ///
    /// # Errors
    /// Those of the store; `InvalidInput` for an unknown address; `Unsupported` if a feature is off.
    pub async fn open(self, store: StoreOptions) -> Result<Stores> {
        match self.0 {
            BackendKind::Memory => Ok(Stores::in_memory_with(MemoryRecordStore::with_clock(store.clock), store.space)),
            BackendKind::Stores(stores) => Ok(stores),
            BackendKind::Database(database) => match database.openable()? {
                #[cfg(feature = "sqlite")]
                Location::File(file) => {
                    let options = SqliteOptions::default();
                    let options = match file.key() {
                        Some(key) => options.with_encryption_key(key.clone()),
                        None => options,
                    };
                    Ok(SqliteStore::open_with(file.path(), store, options).await?.into())
                }
                #[cfg(feature = "postgres")]
                Location::Server(url) => connect(&url, store, PostgresOptions::default()).await,
            },
            #[cfg(feature = "sqlite")]
            BackendKind::Sqlite(path, options) => Ok(SqliteStore::open_with(path, store, options).await?.into()),
            #[cfg(feature = "postgres")]
            BackendKind::Postgres(DatabaseUrl(url), options) => connect(&url, store, *options).await,
            #[cfg(feature = "postgres")]
            BackendKind::PostgresPool(pool, options) => {
                check_network("build")?;
                Ok(PostgresStore::from_pool(pool, store, *options).await?.into())
            }
        }
    }
}

#[cfg(feature = "postgres")]
async fn connect(url: &str, store: StoreOptions, options: PostgresOptions) -> Result<Stores> {
    check_network("build")?;
    Ok(PostgresStore::connect_with(url, store, options).await?.into())
}
