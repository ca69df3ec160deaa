//! Operations on a whole database, across all tenants and scopes: migrations, health checks, its namespaces.
//!
//! ```
//! use memory_engine::{Database, MemoryEngine, Scope, admin};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("memory.db");
//! let memory = MemoryEngine::builder().sqlite(&path).build().await?;
//! memory.remember(&Scope::user("lin")?, "hello").await?;
//! let database = Database::file(path);
//! assert_eq!(admin::namespaces(&database).await?, [Scope::user("lin")?]);
//! assert!(admin::migrations(&database).await?.pending.is_empty());
//! println!("{:?}", admin::checkup(&database).await?);
//! # Ok::<(), memory_engine::Error>(()) }).unwrap();
//! ```

use std::path::Path;

use memory_engine_core::{Error, ErrorKind, HealthReport, Result, Scope};

use crate::database::{Database, DatabaseLocation};

/// The applied and the pending migrations.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Migrations {
    /// The schema version of the database; 0 for an empty one.
    pub schema: u32,
    /// The names of the applied migrations.
    pub applied: Vec<String>,
    /// The names of the migrations of this version that are not applied yet.
    pub pending: Vec<String>,
}

/// Checks the health of a whole database. Changes nothing.
///
/// # Errors
/// `NotFound` if it does not exist, `Unavailable` if it cannot be reached, `InvalidInput` if it belongs to another
/// application, `SchemaMismatch` if a newer version created it.
pub async fn checkup(database: &Database) -> Result<HealthReport> {
    match &database.0 {
        DatabaseLocation::File(path) => file::checkup(path).await,
        DatabaseLocation::Server(address) => server::checkup(&address.0).await,
        DatabaseLocation::Unknown(address) => Err(address.error()),
    }
}

/// Counts the groups of records again if they differ from the records, and rebuilds the index caches of a SQLite file
/// that disagree with the database. Returns a description of each. Postgres has no such caches.
///
/// # Errors
/// As [`checkup`]; `SchemaMismatch` for a database of an earlier schema.
pub async fn repair(database: &Database) -> Result<Vec<String>> {
    match &database.0 {
        DatabaseLocation::File(path) => file::repair(path).await,
        DatabaseLocation::Server(address) => server::repair(&address.0).await,
        DatabaseLocation::Unknown(address) => Err(address.error()),
    }
}

/// Returns every tenant and every user in the database.
///
/// # Errors
/// As [`checkup`].
pub async fn namespaces(database: &Database) -> Result<Vec<Scope>> {
    match &database.0 {
        DatabaseLocation::File(path) => file::namespaces(path).await,
        DatabaseLocation::Server(address) => server::namespaces(&address.0).await,
        DatabaseLocation::Unknown(address) => Err(address.error()),
    }
}

/// Returns the applied and the pending migrations. Changes nothing.
///
/// # Errors
/// As [`checkup`].
pub async fn migrations(database: &Database) -> Result<Migrations> {
    match &database.0 {
        DatabaseLocation::File(path) => file::migrations(path).await,
        DatabaseLocation::Server(address) => server::migrations(&address.0).await,
        DatabaseLocation::Unknown(address) => Err(address.error()),
    }
}

/// Migrates a database to the schema of this version. Returns the previous schema. The tables of a new Postgres
/// database get this many partitions; 0 for plain tables.
///
/// # Errors
/// As [`checkup`]; `Unsupported` for partitions in a file.
pub async fn migrate_up(database: &Database, partitions: u32) -> Result<u32> {
    match &database.0 {
        DatabaseLocation::File(_) if partitions > 0 => {
            Err(Error::new(ErrorKind::Unsupported, "migrate", "a SQLite file has no partitions; leave them out"))
        }
        DatabaseLocation::File(path) => file::migrate_up(path).await,
        DatabaseLocation::Server(address) => server::migrate_up(&address.0, partitions).await,
        DatabaseLocation::Unknown(address) => Err(address.error()),
    }
}

/// Migrates a database back to an earlier schema, and deletes the data of later ones; 0 removes everything. The
/// database must not be in use.
///
/// # Errors
/// As [`checkup`]; `InvalidInput` for a schema that is newer than that of the database.
pub async fn migrate_down(database: &Database, schema: u32) -> Result<()> {
    match &database.0 {
        DatabaseLocation::File(path) => file::migrate_down(path, schema).await,
        DatabaseLocation::Server(address) => server::migrate_down(&address.0, schema).await,
        DatabaseLocation::Unknown(address) => Err(address.error()),
    }
}

#[cfg(feature = "sqlite")]
mod file {
    use memory_engine_indexing::run_blocking;

    use super::*;

    async fn run<T: Send + 'static>(path: &Path, work: impl FnOnce(&Path) -> Result<T> + Send + 'static) -> Result<T> {
        let path = path.to_owned();
        run_blocking("upkeep", move || work(&path)).await?
    }

    pub(super) async fn checkup(path: &Path) -> Result<HealthReport> {
        run(path, memory_engine_sqlite::checkup).await
    }

    pub(super) async fn repair(path: &Path) -> Result<Vec<String>> {
        run(path, memory_engine_sqlite::repair).await
    }

    pub(super) async fn namespaces(path: &Path) -> Result<Vec<Scope>> {
        run(path, memory_engine_sqlite::namespaces).await
    }

    pub(super) async fn migrations(path: &Path) -> Result<Migrations> {
        let schema = run(path, memory_engine_sqlite::schema).await?;
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (applied, pending) = memory_engine_sqlite::MIGRATIONS_BY_NAME.split_at(schema as usize);
        Ok(Migrations { schema, applied: names(applied), pending: names(pending) })
    }

    pub(super) async fn migrate_up(path: &Path) -> Result<u32> {
        run(path, memory_engine_sqlite::migrate_up).await
    }

    pub(super) async fn migrate_down(path: &Path, schema: u32) -> Result<()> {
        run(path, move |path| memory_engine_sqlite::migrate_down(path, schema)).await
    }
}

#[cfg(not(feature = "sqlite"))]
mod file {
    use super::*;

    fn feature_off<T>() -> Result<T> {
        Err(Error::new(ErrorKind::Unsupported, "upkeep", "the feature `sqlite` is off; switch it on"))
    }

    pub(super) async fn checkup(_: &Path) -> Result<HealthReport> {
        feature_off()
    }

    pub(super) async fn repair(_: &Path) -> Result<Vec<String>> {
        feature_off()
    }

    pub(super) async fn namespaces(_: &Path) -> Result<Vec<Scope>> {
        feature_off()
    }

    pub(super) async fn migrations(_: &Path) -> Result<Migrations> {
        feature_off()
    }

    pub(super) async fn migrate_up(_: &Path) -> Result<u32> {
        feature_off()
    }

    pub(super) async fn migrate_down(_: &Path, _: u32) -> Result<()> {
        feature_off()
    }
}

#[cfg(feature = "postgres")]
mod server {
    use memory_engine_postgres::PostgresOptions;

    use super::*;

    pub(super) async fn checkup(url: &str) -> Result<HealthReport> {
        memory_engine_postgres::checkup(url, &PostgresOptions::default()).await
    }

    pub(super) async fn repair(url: &str) -> Result<Vec<String>> {
        memory_engine_postgres::repair(url, &PostgresOptions::default()).await
    }

    pub(super) async fn namespaces(url: &str) -> Result<Vec<Scope>> {
        memory_engine_postgres::namespaces(url, &PostgresOptions::default()).await
    }

    pub(super) async fn migrations(url: &str) -> Result<Migrations> {
        let status = memory_engine_postgres::migration_status(url, &PostgresOptions::default()).await?;
        Ok(Migrations { schema: status.schema, applied: status.applied, pending: status.pending })
    }

    pub(super) async fn migrate_up(url: &str, partitions: u32) -> Result<u32> {
        memory_engine_postgres::migrate_up(url, &PostgresOptions::default().with_partitions(partitions)).await
    }

    pub(super) async fn migrate_down(url: &str, schema: u32) -> Result<()> {
        memory_engine_postgres::migrate_down(url, &PostgresOptions::default(), schema).await
    }
}

#[cfg(not(feature = "postgres"))]
mod server {
    use super::*;

    fn feature_off<T>() -> Result<T> {
        Err(Error::new(ErrorKind::Unsupported, "upkeep", "the feature `postgres` is off; switch it on"))
    }

    pub(super) async fn checkup(_: &str) -> Result<HealthReport> {
        feature_off()
    }

    pub(super) async fn repair(_: &str) -> Result<Vec<String>> {
        feature_off()
    }

    pub(super) async fn namespaces(_: &str) -> Result<Vec<Scope>> {
        feature_off()
    }

    pub(super) async fn migrations(_: &str) -> Result<Migrations> {
        feature_off()
    }

    pub(super) async fn migrate_up(_: &str, _: u32) -> Result<u32> {
        feature_off()
    }

    pub(super) async fn migrate_down(_: &str, _: u32) -> Result<()> {
        feature_off()
    }
}
