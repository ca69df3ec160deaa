//! The stores that a builder opens.

use std::path::PathBuf;

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
use memory_engine_core::{Error, ErrorKind};
use memory_engine_core::{MemoryRecordStore, Result};
use memory_engine_sql::options::StoreOptions;

use crate::{database::Address, stores::Stores};

/// Where a builder stores everything.
#[derive(Debug, Default)]
pub(crate) enum Backend {
    #[default]
    Memory,
    #[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "without the feature it is an error"))]
    Sqlite(PathBuf),
    #[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "without the feature it is an error"))]
    Postgres(Address),
    Stores(Stores),
}

impl Backend {
    /// Opens the stores. Those in memory use the clock and the space of the options; `page_cache` is the size of SQLite's page
    /// caches in bytes.
    pub(crate) async fn open(self, options: StoreOptions, page_cache: Option<usize>) -> Result<Stores> {
        match self {
            Self::Memory => Ok(Stores::in_memory_with(MemoryRecordStore::with_clock(options.clock), options.space)),
            Self::Stores(stores) => Ok(stores),
            Self::Sqlite(path) => open_sqlite(path, options, page_cache).await,
            Self::Postgres(Address(url)) => open_postgres(&url, options).await,
        }
    }
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(path: PathBuf, options: StoreOptions, page_cache: Option<usize>) -> Result<Stores> {
    let mut options = memory_engine_sqlite::SqliteOptions::from(options);
    options.cache_bytes = page_cache.unwrap_or(options.cache_bytes);
    Ok(Stores::from(memory_engine_sqlite::SqliteStore::open(path, options).await?))
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(_: PathBuf, _: StoreOptions, _: Option<usize>) -> Result<Stores> {
    Err(Error::new(ErrorKind::Unsupported, "build", "the feature `sqlite` is off; switch it on"))
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str, options: StoreOptions) -> Result<Stores> {
    crate::runtime::check_network("build")?;
    Ok(Stores::from(memory_engine_postgres::PostgresStore::connect(url, options.into()).await?))
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(_: &str, _: StoreOptions) -> Result<Stores> {
    Err(Error::new(ErrorKind::Unsupported, "build", "the feature `postgres` is off; switch it on"))
}
