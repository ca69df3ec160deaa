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
//! println!("{:?}", admin::check_health(&database).await?);
//! # Ok::<(), memory_engine::Error>(()) }).unwrap();
//! ```
//!
//! Reasons: `docs/design/decisions/0036-administration-bypasses-scopes.md`.

#![cfg_attr(
    not(all(feature = "sqlite", feature = "postgres")),
    allow(unused_imports, unused_variables, reason = "some are for one of the backends alone")
)]

use memory_engine_core::{
    Error, ErrorKind, HealthReport, Result, Scope, ViewSet,
    residue::{ResidueProbes, ResidueReport},
};
use memory_engine_indexing::run_blocking;
#[cfg(feature = "postgres")]
use memory_engine_postgres::PostgresOptions;

use crate::database::{Database, DatabaseFile, Location};

/// Runs one expression on the file and another one on the URL of the server of a database, each if its backend is
/// compiled in.
macro_rules! dispatch {
    ($database:ident, $file:ident => $on_file:expr, $url:ident => $on_server:expr $(,)?) => {
        match $database.openable()? {
            #[cfg(feature = "sqlite")]
            Location::File($file) => $on_file,
            #[cfg(feature = "postgres")]
            Location::Server($url) => $on_server,
        }
    };
}

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
    /// The installed sets of views.
    pub views: Vec<ViewSet>,
}

/// Checks the health of a whole database. Changes nothing. Reads every table several times, row by row: the time grows
/// with the size of the database. Of a SQLite file, the index caches are loaded, as a search loads them.
///
/// # Errors
/// `NotFound` if it does not exist, `Unavailable` if it cannot be reached, `InvalidInput` if it belongs to another
/// application, `SchemaMismatch` if a newer version created it.
pub async fn check_health(database: &Database) -> Result<HealthReport> {
    check_health_with_progress(database, |_, _| {}).await
}

/// As [`check_health`]. Calls `on_progress` after each step with the number of completed steps and the number of all
/// steps.
///
/// # Errors
/// Those of [`check_health`].
pub async fn check_health_with_progress(
    database: &Database,
    on_progress: impl Fn(usize, usize) + Send + Sync + 'static,
) -> Result<HealthReport> {
    dispatch!(
        database,
        file => on_file(file, move |file| memory_engine_sqlite::check_health_with_progress(file, &on_progress)).await,
        url => {
            memory_engine_postgres::check_health_with_progress(&url, &PostgresOptions::default(), &on_progress).await
        },
    )
}

/// Repairs the findings of [`check_health`] that are [repairable](memory_engine_core::Finding::repairable), each kind
/// in one transaction. Deletes no record and no tombstone. Terms and vectors that have to be computed again are queued.
/// Returns a description of each repair, and of each that failed.
///
/// # Errors
/// As [`check_health`]; `SchemaMismatch` for a database of an earlier schema; `Corrupt` if a file is damaged, or if
/// tables or columns are missing.
pub async fn repair(database: &Database) -> Result<Vec<String>> {
    dispatch!(
        database,
        file => on_file(file, memory_engine_sqlite::repair).await,
        url => memory_engine_postgres::repair(&url, &PostgresOptions::default()).await,
    )
}

/// Searches a whole database for traces of deleted records. Changes nothing.
///
/// # Errors
/// As [`check_health`].
pub async fn find_residue(database: &Database, probes: &ResidueProbes) -> Result<ResidueReport> {
    dispatch!(
        database,
        file => {
            let probes = probes.clone();
            on_file(file, move |file| memory_engine_sqlite::find_residue(file, &probes)).await
        },
        url => memory_engine_postgres::find_residue(&url, &PostgresOptions::default(), probes).await,
    )
}

/// Returns every tenant and every user in the database.
///
/// # Errors
/// As [`check_health`].
pub async fn namespaces(database: &Database) -> Result<Vec<Scope>> {
    dispatch!(
        database,
        file => on_file(file, memory_engine_sqlite::namespaces).await,
        url => memory_engine_postgres::namespaces(&url, &PostgresOptions::default()).await,
    )
}

/// Returns the applied and the pending migrations. Changes nothing.
///
/// # Errors
/// As [`check_health`].
pub async fn migrations(database: &Database) -> Result<Migrations> {
    dispatch!(
        database,
        file => migrations_of_file(file).await,
        url => migrations_of_server(&url).await,
    )
}

/// Migrates a database to the schema of this version. Returns the previous schema. The tables of a new Postgres
/// database get this many partitions; 0 for plain tables.
///
/// # Errors
/// As [`check_health`]; `Unsupported` for partitions in a file.
pub async fn migrate_up(database: &Database, partitions: u32) -> Result<u32> {
    match database.openable()? {
        #[cfg(feature = "sqlite")]
        Location::File(_) if partitions > 0 => {
            Err(Error::new(ErrorKind::Unsupported, "migrate", "a SQLite file has no partitions; leave them out"))
        }
        #[cfg(feature = "sqlite")]
        Location::File(file) => on_file(file, memory_engine_sqlite::migrate_up).await,
        #[cfg(feature = "postgres")]
        Location::Server(url) => {
            memory_engine_postgres::migrate_up(&url, &PostgresOptions::default().with_partitions(partitions)).await
        }
    }
}

/// Migrates a database back to an earlier schema, and deletes the data of later ones; 0 removes everything. Removes the
/// installed sets of views. The database must not be in use.
///
/// # Errors
/// As [`check_health`]; `InvalidInput` for a schema that is newer than that of the database.
pub async fn migrate_down(database: &Database, schema: u32) -> Result<()> {
    dispatch!(
        database,
        file => on_file(file, move |file| memory_engine_sqlite::migrate_down(file, schema)).await,
        url => memory_engine_postgres::migrate_down(&url, &PostgresOptions::default(), schema).await,
    )
}

/// Installs a set of views for programs that read the database by SQL under the names of one use case. Replaces the set
/// if it is installed, and migrates the database to the schema of this version.
///
/// # Errors
/// As [`check_health`]; `Unsupported` for a set that only Postgres has; `Conflict` if a table or a view of another
/// program has the name of a view.
pub async fn install_views(database: &Database, set: ViewSet) -> Result<()> {
    dispatch!(
        database,
        file => on_file(file, move |file| memory_engine_sqlite::install_views(file, set)).await,
        url => memory_engine_postgres::install_views(&url, &PostgresOptions::default(), set).await,
    )
}

/// Removes a set of views, except those that another installed set has.
///
/// # Errors
/// As [`check_health`]; `Conflict` if views of other programs depend on them.
pub async fn remove_views(database: &Database, set: ViewSet) -> Result<()> {
    dispatch!(
        database,
        file => on_file(file, move |file| memory_engine_sqlite::remove_views(file, set)).await,
        url => memory_engine_postgres::remove_views(&url, &PostgresOptions::default(), set).await,
    )
}

/// Encrypts a SQLite file, changes its key, or decrypts it (without a new key). The present key is that of `database`.
/// The file must not be in use, and is changed in place, in one transaction. Needs free space for two copies of the
/// file, and the feature `encryption`.
///
/// What the file system keeps of the former content, such as freed blocks and snapshots, is not overwritten.
///
/// # Errors
/// As [`check_health`]; `Unauthorized` for a wrong key; `InvalidInput` for an empty file, or if there is neither a
/// present nor a new key; `Unavailable` if the file is in use; `Unsupported` for a Postgres database, or if the feature
/// is off.
#[cfg(feature = "sqlite")]
pub async fn rekey(database: &Database, new_key: Option<memory_engine_sqlite::EncryptionKey>) -> Result<()> {
    match database.openable()? {
        Location::File(file) => on_file(file, move |file| memory_engine_sqlite::rekey(file, new_key.as_ref())).await,
        #[cfg(feature = "postgres")]
        Location::Server(_) => {
            let message = "only a SQLite file has a key; encrypt the disk of the Postgres server";
            Err(Error::new(ErrorKind::Unsupported, "rekey", message))
        }
    }
}

/// Runs work on a file in a thread of its own.
#[cfg(feature = "sqlite")]
async fn on_file<T: Send + 'static>(
    file: DatabaseFile,
    work: impl FnOnce(DatabaseFile) -> Result<T> + Send + 'static,
) -> Result<T> {
    run_blocking("admin", move || work(file)).await?
}

#[cfg(feature = "sqlite")]
async fn migrations_of_file(file: DatabaseFile) -> Result<Migrations> {
    let schema = on_file(file.clone(), memory_engine_sqlite::schema).await?;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let known = memory_engine_sqlite::migration_names();
    let (applied, pending) = known.split_at(known.len().min(schema as usize));
    let views = on_file(file, memory_engine_sqlite::installed_views).await?.into_iter().collect();
    Ok(Migrations { schema, applied: names(applied), pending: names(pending), views })
}

#[cfg(feature = "postgres")]
async fn migrations_of_server(url: &str) -> Result<Migrations> {
    let status = memory_engine_postgres::migration_status(url, &PostgresOptions::default()).await?;
    let views = status.views.into_iter().collect();
    Ok(Migrations { schema: status.schema, applied: status.applied, pending: status.pending, views })
}
