//! The schema and its versions.

use memory_engine_core::{
    Error, ErrorKind, Result,
    observe::{Operation, observe_as},
    operation_span,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{
    database::{error::PostgresError, secret::Secret, server::Server},
    options::PostgresOptions,
};

/// The schema that this version reads and writes.
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

struct Migration {
    name: &'static str,
    up: &'static str,
    down: &'static str,
}

macro_rules! migration {
    ($name:literal) => {
        Migration {
            name: $name,
            up: include_str!(concat!("../../../../migrations/postgres/", $name, ".up.sql")),
            down: include_str!(concat!("../../../../migrations/postgres/", $name, ".down.sql")),
        }
    };
}

/// The step to each schema from the one before, and back.
const MIGRATIONS: [Migration; 11] = [
    migration!("0001_initial"),
    migration!("0002_documents"),
    migration!("0003_synonyms"),
    migration!("0004_life"),
    migration!("0005_graph"),
    migration!("0006_companion"),
    migration!("0007_generations"),
    migration!("0008_waiting"),
    migration!("0009_whole_tenants"),
    migration!("0010_relation_rule"),
    migration!("0011_lease_owners"),
];

/// Marks the places in a migration where a table is partitioned, if that is configured.
const PARTITION_MARKER: &str = "/* by namespace */";

/// The oldest pgvector with iterative index scans, which continue if a filter leaves too few rows.
const PGVECTOR: (u32, u32) = (0, 8);

/// The applied and the pending migrations of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationStatus {
    /// The database's schema; 0 for an empty one.
    pub schema: u32,
    /// The migrations that are applied, by name.
    pub applied: Vec<String>,
    /// Those that this version knows and the database does not.
    pub pending: Vec<String>,
    /// Over how many partitions each table is spread; 0 for plain tables.
    pub partitions: u32,
}

/// Brings a database to the schema of this version, and gives the schema that it had.
///
/// # Errors
/// Those of [`PostgresStore::connect`](crate::PostgresStore::connect) but for the mismatches, which are left alone.
pub async fn migrate_up(url: &str, options: &PostgresOptions) -> Result<u32> {
    let run = async {
        let mut connection = locked(&server(url, options)?, options).await?;
        let found = up(&mut connection, options).await?;
        unlock(connection).await?;
        Ok(found)
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("migrate"))
}

/// Migrates a database back to an earlier schema, and deletes the data of the later ones; 0 removes everything. The
/// database must not be in use.
///
/// # Errors
/// As [`migrate_up`], and `InvalidInput` for a schema that is later than the database's.
pub async fn migrate_down(url: &str, options: &PostgresOptions, schema: u32) -> Result<()> {
    let run = async {
        let mut connection = locked(&server(url, options)?, options).await?;
        let found = version(&mut connection).await?;
        if schema > found {
            let message = format!("the database has schema {found}, which is before {schema}");
            return Err(Error::invalid("migrate", message).into());
        }
        if found == 0 {
            // The search path may lead to tables of another memory.
            return unlock(connection).await;
        }
        for step in (schema..found).rev() {
            let migration = &MIGRATIONS[step as usize];
            let work = async { Ok(sqlx::raw_sql(migration.down).execute(&mut connection).await.map(drop)?) };
            observe_migration(migration.name, "down", work).await?;
            sqlx::query("DELETE FROM memory_schema WHERE version = $1")
                .bind(i64::from(step + 1))
                .execute(&mut connection)
                .await?;
        }
        if schema == 0 {
            sqlx::raw_sql("DROP TABLE IF EXISTS memory_schema").execute(&mut connection).await?;
        }
        unlock(connection).await
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("migrate"))
}

/// Returns the applied and the pending migrations of a database. Changes nothing.
///
/// # Errors
/// As [`migrate_up`].
pub async fn migration_status(url: &str, options: &PostgresOptions) -> Result<MigrationStatus> {
    let run = async {
        let mut connection = PgConnection::connect_with(&server(url, options)?.options_for_migrations()).await?;
        let schema = version(&mut connection).await?;
        let partitions: i64 = match schema {
            0 => 0,
            _ => {
                sqlx::query_scalar("SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('records')")
                    .fetch_one(&mut connection)
                    .await?
            }
        };
        connection.close().await?;
        let names = |migrations: &[Migration]| migrations.iter().map(|migration| migration.name.to_owned()).collect();
        let (applied, pending) = MIGRATIONS.split_at(schema as usize);
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
        Ok(MigrationStatus { schema, applied: names(applied), pending: names(pending), partitions })
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("migrate"))
}

fn server(url: &str, options: &PostgresOptions) -> Result<Server> {
    Server::of(&Secret::new(url.to_owned()), options)
}

/// A connection in a transaction that no other migration runs beside. Of several processes that open a new database at
/// once, one does the work and the others find it done.
pub(crate) async fn locked(server: &Server, options: &PostgresOptions) -> Result<PgConnection, PostgresError> {
    let to = server.options_for_migrations();
    let connected = tokio::time::timeout(options.acquire_timeout, PgConnection::connect_with(&to)).await;
    let mut connection = connected.map_err(|_| PostgresError::from(sqlx::Error::PoolTimedOut))??;
    sqlx::raw_sql("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('memory-engine migrations', 0))")
        .execute(&mut connection)
        .await?;
    if let Some(schema) = &options.schema {
        // A user without the right to create schemas may still use an existing one.
        let there = sqlx::query_scalar::<_, bool>("SELECT to_regnamespace($1) IS NOT NULL").bind(schema);
        if !there.fetch_one(&mut connection).await? {
            // The name is plain: `Server::of` refuses any other.
            sqlx::raw_sql(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&mut connection).await?;
        }
    }
    Ok(connection)
}

pub(crate) async fn unlock(mut connection: PgConnection) -> Result<(), PostgresError> {
    sqlx::raw_sql("COMMIT").execute(&mut connection).await?;
    Ok(connection.close().await?)
}

pub(crate) async fn up(connection: &mut PgConnection, options: &PostgresOptions) -> Result<u32, PostgresError> {
    let found = version(connection).await?;
    if found == SCHEMA {
        return Ok(found);
    }
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS memory_schema
         (version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
    )
    .execute(&mut *connection)
    .await?;
    // A database that has tables already goes on as it was begun.
    let partitions = if found == 0 { options.partitions } else { partitions(connection).await? };
    for (step, migration) in (1_i64..).zip(&MIGRATIONS).skip(found as usize) {
        let work = async {
            for statement in spread(migration.up, partitions) {
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
    check_pgvector(connection).await?;
    Ok(found)
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

pub(crate) async fn partitions(connection: &mut PgConnection) -> Result<u32, PostgresError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('records')")
        .fetch_one(connection)
        .await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The statements of a migration with its marked tables spread over partitions; the whole of it, when there are none.
fn spread(sql: &str, partitions: u32) -> Vec<String> {
    if partitions == 0 {
        return vec![sql.to_owned()];
    }
    let mut statements = vec![sql.replace(PARTITION_MARKER, "PARTITION BY HASH (ns)")];
    for before in sql.split(PARTITION_MARKER).collect::<Vec<_>>().split_last().map_or(&[][..], |(_, tables)| tables) {
        let table = before.rsplit("CREATE TABLE ").next().and_then(|rest| rest.split_whitespace().next());
        let of = table.unwrap_or_default();
        statements.extend((0..partitions).map(|part| {
            format!(
                "CREATE TABLE {of}_{part} PARTITION OF {of} FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
            )
        }));
    }
    statements
}

async fn check_pgvector(connection: &mut PgConnection) -> Result<(), PostgresError> {
    let version: String = sqlx::query_scalar("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        .fetch_one(connection)
        .await?;
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found >= PGVECTOR {
        return Ok(());
    }
    let message = format!("the server has pgvector {version}; 0.8.0 is the oldest that will do");
    Err(Error::new(ErrorKind::Unsupported, "connect", message).into())
}

/// The schema of a database, 0 for an empty one.
///
/// # Errors
/// `SchemaMismatch` when it is newer than this version.
pub(crate) async fn version(connection: &mut PgConnection) -> Result<u32, PostgresError> {
    // Looks only where the tables would be created, not along the whole search path: a schema of its own, which may
    // not exist yet, comes before `public`, which may contain tables of another memory.
    let there = r#"SELECT to_regclass(format('%I.memory_schema', CASE
            WHEN p.first IN ('"$user"', '') THEN current_schema() ELSE trim(BOTH ' "' FROM p.first)
        END)) IS NOT NULL
        FROM (SELECT split_part(current_setting('search_path'), ',', 1)) p (first)"#;
    if !sqlx::query_scalar::<_, bool>(there).fetch_one(&mut *connection).await? {
        return Ok(0);
    }
    let found: i64 =
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM memory_schema").fetch_one(connection).await?;
    match u32::try_from(found) {
        Ok(found) if found <= SCHEMA => Ok(found),
        Ok(_) | Err(_) => {
            let message = format!(
                "the database was made by a newer memory-engine (schema {found}, this one knows {SCHEMA}); update"
            );
            Err(Error::new(ErrorKind::SchemaMismatch, "connect", message).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marked_table_gets_its_partitions_and_the_others_stay_plain() {
        let all: Vec<String> = MIGRATIONS.iter().flat_map(|migration| spread(migration.up, 3)).collect();
        let of = |table: &str| all.iter().filter(|sql| sql.contains(&format!(" PARTITION OF {table} "))).count();
        assert_eq!((of("records"), of("vectors"), of("origins")), (3, 3, 0));
        assert!(all.iter().all(|sql| !sql.contains(PARTITION_MARKER)));
        assert_eq!(spread(MIGRATIONS[0].up, 0), [MIGRATIONS[0].up]);
    }
}
