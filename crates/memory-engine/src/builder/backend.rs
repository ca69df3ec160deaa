//! The stores that a builder opens.

use std::path::PathBuf;

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
use memory_engine_core::ErrorKind;
use memory_engine_core::StoreOptions;
use memory_engine_core::{Error, MemoryRecordStore, Result};
#[cfg(feature = "postgres")]
use memory_engine_postgres::{PostgresOptions, PostgresStore, sqlx::PgPool};
#[cfg(feature = "sqlite")]
use memory_engine_sqlite::{DatabaseFile, SqliteOptions, SqliteStore};

#[cfg(not(feature = "sqlite"))]
use crate::database::DatabaseFile;
use crate::{
    builder::stores::Stores,
    database::{DatabaseUrl, UnknownAddress},
};

/// The error of a builder without a store. A store in memory by default would lose what a program wants to keep.
const CHOICES: &str = "the builder has no store; name one: `sqlite(path)`, `postgres(url)`, `database(&database)`, \
    `stores(stores)`, or `in_memory()` for memories that end with the program";

/// The store of a builder.
#[derive(Debug, Default)]
pub(crate) enum Backend {
    #[default]
    Unset,
    /// More than one store was set. Opening it is an error.
    Several,
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

impl Backend {
    /// Returns the backend of a SQLite file with the default settings.
    #[cfg(feature = "sqlite")]
    pub(crate) fn sqlite(path: PathBuf) -> Self {
        Self::Sqlite(path, SqliteOptions::default())
    }

    /// Returns the backend of a SQLite file and its key, with the default settings.
    #[cfg(feature = "sqlite")]
    pub(crate) fn file(file: DatabaseFile) -> Self {
        let options = SqliteOptions::default();
        let options = match file.key() {
            Some(key) => options.with_encryption_key(key.clone()),
            None => options,
        };
        Self::Sqlite(file.path().to_owned(), options)
    }

    #[cfg(not(feature = "sqlite"))]
    pub(crate) fn file(_: DatabaseFile) -> Self {
        Self::Missing("sqlite")
    }

    #[cfg(not(feature = "sqlite"))]
    pub(crate) fn sqlite(_: PathBuf) -> Self {
        Self::Missing("sqlite")
    }

    /// Returns the backend of a Postgres database with the default settings.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(address: DatabaseUrl) -> Self {
        Self::Postgres(address, Box::default())
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn postgres(_: DatabaseUrl) -> Self {
        Self::Missing("postgres")
    }

    /// Opens the stores. Those in memory use the clock and the space of the options.
    pub(crate) async fn open(self, store: StoreOptions) -> Result<Stores> {
        match self {
            Self::Unset => Err(Error::invalid("build", CHOICES)),
            Self::Several => {
                Err(Error::invalid("build", "the builder has more than one store; call one of its methods, once"))
            }
            Self::Memory => Ok(Stores::in_memory_with(MemoryRecordStore::with_clock(store.clock), store.space)),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path, options) => Ok(SqliteStore::open_with(path, store, options).await?.into()),
            #[cfg(feature = "postgres")]
            Self::Postgres(DatabaseUrl(url), options) => {
                crate::builder::runtime::check_network("build")?;
                Ok(PostgresStore::connect_with(&url, store, *options).await?.into())
            }
            #[cfg(feature = "postgres")]
            Self::PostgresPool(pool, options) => {
                crate::builder::runtime::check_network("build")?;
                Ok(PostgresStore::from_pool(pool, store, *options).await?.into())
            }
            Self::Stores(stores) => Ok(stores),
            Self::Unknown(address) => Err(address.error()),
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            Self::Missing(feature) => {
                let message = format!("the feature `{feature}` is off; switch it on");
                Err(Error::new(ErrorKind::Unsupported, "build", message))
            }
        }
    }
}
