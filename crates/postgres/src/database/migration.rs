//! Migrates the schema of a database, and reports its version.
//!
//! Migrations are numbered SQL files, compiled into the crate. They run under an advisory lock, so that one of several
//! processes does the work and the others find it done.

use std::{collections::BTreeSet, time::Duration};

use memory_engine_core::{
    Error, ErrorKind, Result, ViewSet,
    observe::{Operation, observe_as},
    operation_span,
};
use memory_engine_sql::migrations::Migration;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{
    database::{error::PostgresError, options::PostgresOptions, server::ServerConfig, views},
    rows::row,
};

/// Version of the schema that this version of the crate reads and writes.
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// The migrations in order, each with its reversal. Their number is the schema version.
const MIGRATIONS: &[Migration] = &memory_engine_sql::migrations!();

/// The functions that the program calls, with a placeholder for the statement that inserts records.
const FUNCTIONS: &str = include_str!("../../data/functions.sql");

/// Removes the [`FUNCTIONS`] of the current schema, in any version. Another memory may have its own in `public`.
const DROP_FUNCTIONS: &str = "DO $$
    DECLARE f regprocedure;
    BEGIN
        FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = to_regnamespace(quote_ident(current_schema()))
            AND p.proname IN ('memory_lock_if_new', 'memory_insert_batch')
        LOOP
            EXECUTE format('DROP FUNCTION %s', f);
        END LOOP;
    END $$";

/// True if the current schema lacks a function.
const LACKS_FUNCTIONS: &str = "SELECT count(DISTINCT p.proname) < 2 FROM pg_proc p
    WHERE p.pronamespace = to_regnamespace(quote_ident(current_schema()))
    AND p.proname IN ('memory_lock_if_new', 'memory_insert_batch')";

/// Returns the SQL that installs the functions of this version.
fn functions() -> String {
    FUNCTIONS.replace("{insert_records}", &row::insert_records("records_json"))
}

/// Marks the places in a migration where a table is partitioned, if that is configured.
const PARTITION_MARKER: &str = "/* by namespace */";

/// The oldest supported version of pgvector: the first with iterative index scans, which continue if a filter leaves
/// too few rows.
const MIN_PGVECTOR_VERSION: (u32, u32) = (0, 8);

/// The applied and the pending migrations of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationStatus {
    /// Schema version of the database; 0 for an empty one.
    pub schema: u32,
    /// Names of the applied migrations.
    pub applied: Vec<String>,
    /// Names of the migrations that this version has and the database lacks.
    pub pending: Vec<String>,
    /// Number of partitions of each table; 0 for plain tables.
    pub partitions: u32,
    /// The installed sets of views.
    pub views: BTreeSet<ViewSet>,
}

/// SQL of the key of the lock for index builds. Before the schema is created, this is the key of `public`:
/// harmless, but the migration waits for builds there.
macro_rules! build_lock_key {
    () => {
        "(hashtextextended('memory-engine index ' || coalesce(current_schema(), ''), 0))"
    };
}

/// Migrates a database to the schema of this version. Returns the schema version that it had.
///
/// # Errors
/// Those of [`PostgresStore::connect`](crate::PostgresStore::connect), except for mismatches, which are not checked.
pub async fn migrate_up(url: &str, options: &PostgresOptions) -> Result<u32> {
    on_locked_connection(url, options, "migrate", async |connection| up(connection, options).await).await
}

/// Migrates a database back to an earlier schema, and deletes the data of the later ones; 0 removes everything. Removes
/// the installed sets of views. The database must not be in use.
///
/// # Errors
/// Those of [`migrate_up`], and `InvalidInput` for a schema version above that of the database.
pub async fn migrate_down(url: &str, options: &PostgresOptions, schema: u32) -> Result<()> {
    on_locked_connection(url, options, "migrate", async |connection| {
        let found = version(connection).await?;
        if schema > found {
            let message =
                format!("the database has schema {found}; choose a schema of at most {found} instead of {schema}");
            return Err(Error::invalid("migrate", message).into());
        }
        if found == 0 {
            // The search path may contain tables of another memory.
            return Ok(());
        }
        views::replace(connection, &BTreeSet::new()).await?;
        if schema < found {
            sqlx::raw_sql(DROP_FUNCTIONS).execute(&mut *connection).await?;
        }
        for step in (schema..found).rev() {
            let migration = &MIGRATIONS[step as usize];
            let work = async { Ok(sqlx::raw_sql(migration.down).execute(&mut *connection).await.map(drop)?) };
            observe_migration(migration.name, "down", work).await?;
            sqlx::query("DELETE FROM memory_schema WHERE version = $1")
                .bind(i64::from(step + 1))
                .execute(&mut *connection)
                .await?;
        }
        if schema == 0 {
            sqlx::raw_sql("DROP TABLE IF EXISTS memory_schema").execute(&mut *connection).await?;
        }
        Ok(())
    })
    .await
}

/// Returns the applied and the pending migrations of a database. Changes nothing.
///
/// # Errors
/// Those of [`migrate_up`].
pub async fn migration_status(url: &str, options: &PostgresOptions) -> Result<MigrationStatus> {
    let run = async {
        let mut connection =
            PgConnection::connect_with(&ServerConfig::of_url(url, options)?.migration_options()).await?;
        let schema = version(&mut connection).await?;
        let (partitions, views) = match schema {
            0 => (0, BTreeSet::new()),
            _ => (partitions(&mut connection).await?, views::installed(&mut connection).await?),
        };
        connection.close().await?;
        let names = |migrations: &[Migration]| migrations.iter().map(|migration| migration.name.to_owned()).collect();
        let (applied, pending) = MIGRATIONS.split_at(schema as usize);
        Ok(MigrationStatus { schema, applied: names(applied), pending: names(pending), partitions, views })
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("migrate"))
}

/// Installs a set of views. Replaces it if it is installed, and migrates the database to the schema of this version.
///
/// # Errors
/// Those of [`migrate_up`], and `Conflict` if a table or another view has the name of a view.
pub async fn install_views(url: &str, options: &PostgresOptions, set: ViewSet) -> Result<()> {
    change_views(url, options, |sets| sets.insert(set)).await
}

/// Removes a set of views, except those that another installed set has, and migrates the database to the schema of this
/// version. Other views must not depend on them.
///
/// # Errors
/// Those of [`migrate_up`], and `Conflict` if other views depend on them.
pub async fn remove_views(url: &str, options: &PostgresOptions, set: ViewSet) -> Result<()> {
    change_views(url, options, |sets| sets.remove(&set)).await
}

async fn change_views(
    url: &str,
    options: &PostgresOptions,
    edit: impl FnOnce(&mut BTreeSet<ViewSet>) -> bool,
) -> Result<()> {
    on_locked_connection(url, options, "views", async |connection| {
        up(connection, options).await?;
        let mut sets = views::installed(connection).await?;
        edit(&mut sets);
        views::replace(connection, &sets).await
    })
    .await
}

/// Runs the work of an administrative operation in a transaction that holds the migration lock.
pub(crate) async fn on_locked_connection<T>(
    url: &str,
    options: &PostgresOptions,
    operation: &'static str,
    work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, PostgresError>,
) -> Result<T> {
    let run = async {
        let mut connection = connect_locked(&ServerConfig::of_url(url, options)?, options).await?;
        let value = work(&mut connection).await?;
        unlock(connection).await?;
        Ok(value)
    };
    run.await.map_err(|failure: PostgresError| failure.into_error(operation))
}

/// Opens a connection with a transaction that holds the migration lock. Creates the schema of the options if it is
/// missing.
pub(crate) async fn connect_locked(
    server: &ServerConfig,
    options: &PostgresOptions,
) -> Result<PgConnection, PostgresError> {
    let mut connection = server.connect_for_maintenance(options).await?;
    sqlx::raw_sql("BEGIN").execute(&mut connection).await?;
    lock(&mut connection).await?;
    if let Some(schema) = &options.schema {
        // A user without the right to create schemas may still use an existing one.
        let exists = sqlx::query_scalar::<_, bool>("SELECT to_regnamespace($1) IS NOT NULL").bind(schema);
        if !exists.fetch_one(&mut connection).await? {
            // The name contains no special characters: `ServerConfig` rejects any other.
            sqlx::raw_sql(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&mut connection).await?;
        }
    }
    Ok(connection)
}

/// Time between two attempts to get a lock.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits for the migration lock of the whole database, without a time limit, and holds it until the transaction ends.
/// Migrations, and everything that creates or removes an index, hold it. A transaction takes it before all other locks.
///
/// It also takes the lock of this schema that a background build of an index holds. Such a build waits until all older
/// snapshots have ended, and a statement that waits for a lock has one: a deadlock. So this function tries again
/// between statements.
pub(crate) async fn lock(connection: &mut PgConnection) -> Result<(), PostgresError> {
    let migrations = "SELECT pg_try_advisory_xact_lock(hashtextextended('memory-engine migrations', 0))";
    for sql in [migrations, concat!("SELECT pg_try_advisory_xact_lock", build_lock_key!())] {
        while !sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut *connection).await? {
            tokio::time::sleep(LOCK_POLL_INTERVAL).await;
        }
    }
    Ok(())
}

/// Takes the lock for the background build of an index of this schema until the connection is closed. Returns false if
/// another session holds it.
pub(crate) async fn try_lock_build(connection: &mut PgConnection) -> Result<bool, PostgresError> {
    let sql = concat!("SELECT pg_try_advisory_lock", build_lock_key!());
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}

/// Commits the transaction of [`connect_locked`], which releases the lock, and closes the connection.
pub(crate) async fn unlock(mut connection: PgConnection) -> Result<(), PostgresError> {
    sqlx::raw_sql("COMMIT").execute(&mut connection).await?;
    Ok(connection.close().await?)
}

/// Applies the pending migrations. Returns the schema version that the database had.
pub(crate) async fn up(connection: &mut PgConnection, options: &PostgresOptions) -> Result<u32, PostgresError> {
    let found = version(connection).await?;
    if found == SCHEMA {
        install_functions(connection).await?;
        return Ok(found);
    }
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS memory_schema
         (version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
    )
    .execute(&mut *connection)
    .await?;
    // An existing database keeps its number of partitions.
    let partitions = if found == 0 { options.partitions } else { partitions(connection).await? };
    sqlx::raw_sql(DROP_FUNCTIONS).execute(&mut *connection).await?;
    // A table cannot be changed under a view.
    let sets = if found == 0 { BTreeSet::new() } else { views::installed(connection).await? };
    if !sets.is_empty() {
        views::replace(connection, &BTreeSet::new()).await?;
    }
    for (step, migration) in (1_i64..).zip(MIGRATIONS).skip(found as usize) {
        let work = async {
            for statement in partitioned_statements(migration.up, partitions) {
                sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await?;
            }
            Ok(())
        };
        observe_migration(migration.name, "up", work).await?;
        sqlx::query("INSERT INTO memory_schema (version, name) VALUES ($1, $2)")
            .bind(step)
            .bind(migration.name)
            .execute(&mut *connection)
            .await?;
    }
    if !sets.is_empty() {
        views::replace(connection, &sets).await?;
    }
    install_functions(connection).await?;
    check_pgvector(connection).await?;
    Ok(found)
}

/// Installs the functions if they are missing: in a new schema, after a migration, and in a schema that a later version
/// migrated down.
async fn install_functions(connection: &mut PgConnection) -> Result<(), PostgresError> {
    if sqlx::query_scalar::<_, bool>(LACKS_FUNCTIONS).fetch_one(&mut *connection).await? {
        // One of them may be there.
        sqlx::raw_sql(DROP_FUNCTIONS).execute(&mut *connection).await?;
        sqlx::raw_sql(AssertSqlSafe(functions())).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Runs one migration in a span of its own.
async fn observe_migration(
    name: &'static str,
    direction: &'static str,
    work: impl Future<Output = Result<(), PostgresError>>,
) -> Result<(), PostgresError> {
    let span = operation_span!(
        INFO,
        "memory_engine.store.migrate",
        "db.system.name" = "postgresql",
        migration = name,
        direction = direction,
    );
    observe_as(&span, Operation::Unmeasured, PostgresError::kind, work).await
}

/// Returns the number of partitions of each table; 0 for plain tables.
pub(crate) async fn partitions(connection: &mut PgConnection) -> Result<u32, PostgresError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('records')")
        .fetch_one(connection)
        .await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the statements of a migration, with the marked tables partitioned. Without partitions, the migration as it
/// is.
fn partitioned_statements(sql: &str, partitions: u32) -> Vec<String> {
    if partitions == 0 {
        return vec![sql.to_owned()];
    }
    let mut statements = vec![sql.replace(PARTITION_MARKER, "PARTITION BY HASH (namespace)")];
    let pieces: Vec<&str> = sql.split(PARTITION_MARKER).collect();
    for before_marker in pieces.split_last().map_or(&[][..], |(_, before_markers)| before_markers) {
        let table = before_marker.rsplit("CREATE TABLE ").next().and_then(|rest| rest.split_whitespace().next());
        let table = table.unwrap_or_default();
        statements.extend((0..partitions).map(|part| {
            format!(
                "CREATE TABLE {table}_{part} PARTITION OF {table} \
                 FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
            )
        }));
    }
    statements
}

/// Returns the statement that creates an index or a function, from the [`FUNCTIONS`], or else from the newest migration
/// that has one. `what` is `INDEX` or `FUNCTION`. Each statement begins at the start of a line, and ends with a
/// semicolon, or `$$;`, at the end of one.
pub(crate) fn creating_statement(what: &str, name: &str) -> Option<String> {
    let beginnings = [" ", "("].map(|next| format!("\nCREATE {what} {name}{next}"));
    let end = if what == "FUNCTION" { "$$;\n" } else { ";\n" };
    let functions = functions();
    let texts = std::iter::once(&functions[..]).chain(MIGRATIONS.iter().rev().map(|migration| migration.up));
    texts.into_iter().find_map(|text| {
        let start = beginnings.iter().find_map(|beginning| text.rfind(beginning))?;
        let (statement, _) = text[start..].split_once(end)?;
        Some(format!("{}{}", statement.trim_start(), end.trim_end_matches(";\n")))
    })
}

async fn check_pgvector(connection: &mut PgConnection) -> Result<(), PostgresError> {
    let version: String = sqlx::query_scalar("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        .fetch_one(connection)
        .await?;
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found >= MIN_PGVECTOR_VERSION {
        return Ok(());
    }
    let message = format!("the server has pgvector {version}; install 0.8.0 or later");
    Err(Error::new(ErrorKind::Unsupported, "connect", message).into())
}

/// Returns the schema version of a database; 0 for an empty one.
///
/// # Errors
/// `SchemaMismatch` if the schema is newer than this version.
pub(crate) async fn version(connection: &mut PgConnection) -> Result<u32, PostgresError> {
    // Looks only where the tables would be created, not along the whole search path: a schema of its own, which may
    // not exist yet, comes before `public`, which may contain tables of another memory.
    let exists = r#"SELECT to_regclass(format('%I.memory_schema', CASE
            WHEN p.first IN ('"$user"', '') THEN current_schema() ELSE trim(BOTH ' "' FROM p.first)
        END)) IS NOT NULL
        FROM (SELECT split_part(current_setting('search_path'), ',', 1)) p (first)"#;
    if !sqlx::query_scalar::<_, bool>(exists).fetch_one(&mut *connection).await? {
        return Ok(0);
    }
    let found: i64 =
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM memory_schema").fetch_one(connection).await?;
    match u32::try_from(found) {
        Ok(found) if found <= SCHEMA => Ok(found),
        Ok(_) | Err(_) => {
            let message = format!(
                "the database has schema {found}, and this version of memory-engine supports schemas up to {SCHEMA}; \
                 install a newer version"
            );
            Err(Error::new(ErrorKind::SchemaMismatch, "connect", message).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_created_by_its_statement_alone() {
        let index = creating_statement("INDEX", "records_by_id").unwrap();
        assert_eq!(index, "CREATE INDEX records_by_id ON records (id)");
        let function = creating_statement("FUNCTION", "memory_add_to_groups").unwrap();
        assert!(function.starts_with("CREATE FUNCTION") && function.ends_with("RETURN NULL;\nEND $$"), "{function}");
        assert_eq!(creating_statement("INDEX", "records"), None);
    }

    #[test]
    fn only_marked_tables_are_partitioned() {
        let all: Vec<String> =
            MIGRATIONS.iter().flat_map(|migration| partitioned_statements(migration.up, 3)).collect();
        let partitions_of =
            |table: &str| all.iter().filter(|sql| sql.contains(&format!(" PARTITION OF {table} "))).count();
        assert_eq!((partitions_of("records"), partitions_of("vectors"), partitions_of("index_metadata")), (3, 3, 0));
        assert!(all.iter().all(|sql| !sql.contains(PARTITION_MARKER)));
        assert_eq!(partitioned_statements(MIGRATIONS[0].up, 0), [MIGRATIONS[0].up]);
    }
}
