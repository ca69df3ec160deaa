//! Opens every store of an engine.

#[cfg(feature = "sqlite")]
use std::path::PathBuf;

use memory_engine_core::StoreOptions;
#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
use memory_engine_core::{Error, ErrorKind};
use memory_engine_core::{MemoryRecordStore, Result};
#[cfg(feature = "postgres")]
use memory_engine_postgres::{PostgresOptions, PostgresStore, sqlx::PgPool};
#[cfg(feature = "sqlite")]
use memory_engine_sqlite::{SqliteOptions, SqliteStore};

#[cfg(feature = "postgres")]
use crate::{database::DatabaseUrl, runtime::check_network};
use crate::{
    database::{Database, DatabaseLocation, UnknownAddress},
    stores::Stores,
};

/// What an engine stores in. Default: memory.
#[derive(Debug, Default)]
pub struct Backend(BackendKind);

#[derive(Debug, Default)]
enum BackendKind {
    #[default]
    Memory,
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf, SqliteOptions),
    #[cfg(feature = "postgres")]
    Postgres(DatabaseUrl, Box<PostgresOptions>),
    #[cfg(feature = "postgres")]
    PostgresPool(PgPool, Box<PostgresOptions>),
    Stores(Stores),
    /// An address that cannot be opened.
    Unknown(UnknownAddress),
    /// A database whose feature is off. Opening it is an error.
    #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
    Missing(&'static str),
}

/// Opens the database with the default settings.
impl From<Database> for Backend {
    fn from(database: Database) -> Self {
        Self(match database.0 {
            #[cfg(feature = "sqlite")]
            DatabaseLocation::File(file) => {
                let options = SqliteOptions::default();
                let options = match file.key() {
                    Some(key) => options.with_encryption_key(key.clone()),
                    None => options,
                };
                BackendKind::Sqlite(file.path().to_owned(), options)
            }
            #[cfg(not(feature = "sqlite"))]
            DatabaseLocation::File(_) => BackendKind::Missing("sqlite"),
            #[cfg(feature = "postgres")]
            DatabaseLocation::Server(address) => BackendKind::Postgres(address, Box::default()),
            #[cfg(not(feature = "postgres"))]
            DatabaseLocation::Server(_) => BackendKind::Missing("postgres"),
            DatabaseLocation::Unknown(address) => BackendKind::Unknown(address),
        })
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

    /// Opens the stores. Those in memory use the clock and the space of the options.
    ///
    /// # Errors
    /// Those of the store; `InvalidInput` for an unknown address; `Unsupported` if a feature is off.
    pub async fn open(self, store: StoreOptions) -> Result<Stores> {
        match self.0 {
            BackendKind::Memory => Ok(Stores::in_memory_with(MemoryRecordStore::with_clock(store.clock), store.space)),
            #[cfg(feature = "sqlite")]
            BackendKind::Sqlite(path, options) => Ok(SqliteStore::open_with(path, store, options).await?.into()),
            #[cfg(feature = "postgres")]
            BackendKind::Postgres(DatabaseUrl(url), options) => {
                check_network("build")?;
                Ok(PostgresStore::connect_with(&url, store, *options).await?.into())
            }
            #[cfg(feature = "postgres")]
            BackendKind::PostgresPool(pool, options) => {
                check_network("build")?;
                Ok(PostgresStore::from_pool(pool, store, *options).await?.into())
            }
            BackendKind::Stores(stores) => Ok(stores),
            BackendKind::Unknown(address) => Err(address.error()),
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            BackendKind::Missing(feature) => {
                let message = format!("the feature `{feature}` is off; switch it on");
                Err(Error::new(ErrorKind::Unsupported, "build", message))
            }
        }
    }
}
