//! Searches a database for traces of deleted records: every table of the schema.
//!
//! SQL reads only visible rows. Removed rows and index entries remain in the data files until `VACUUM`, which the
//! report says.

mod rows;
mod schema;

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Error, ErrorKind, RecordId, Result, Scope,
    residue::{PlaceKind, ResidueProbes, ResidueReport, SearchedPlace},
};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, migration, options::PostgresOptions, server::ServerConfig},
    rows::scopes::{self, record_id},
};
use rows::RowSearch;

/// The places that the search of a Postgres database does not cover.
const LIMITS: [&str; 3] = [
    "the write-ahead log, replicas, archives and backups: a removed row remains in the log until its segment is \
     recycled or removed",
    "copies of the data files that something else made: snapshots of the file system, cells of a solid-state drive",
    "fragments of a deleted text that a remaining record also contains",
];

/// Searches a database for traces of deleted records. Changes nothing. Reads every row of the users in question, and
/// with [`SearchExtent::Database`](memory_engine_core::residue::SearchExtent::Database) every row of tables without
/// users.
///
/// # Errors
/// Those of [`check_health`](crate::check_health()); `NotFound` for a database without memory.
pub async fn find_residue(url: &str, options: &PostgresOptions, probes: &ResidueProbes) -> Result<ResidueReport> {
    let run = async {
        let server = ServerConfig::of_url(url, options)?;
        search_server(&server, probes).await
    };
    run.await.map_err(|failure: PostgresError| failure.into_error("find residue"))
}

/// Searches the database of a server on a connection of its own, because reading whole tables may take longer than the
/// statement timeout of searches.
pub(crate) async fn search_server(
    server: &ServerConfig,
    probes: &ResidueProbes,
) -> Result<ResidueReport, PostgresError> {
    let mut connection = PgConnection::connect_with(&server.migration_options()).await?;
    if migration::version(&mut connection).await? == 0 {
        let message = "the database has no memory; check the address and the schema";
        return Err(Error::new(ErrorKind::NotFound, "find residue", message).into());
    }
    let store_id = store_id(&mut connection).await?;
    sqlx::query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").execute(&mut connection).await?;
    let mut report = search(&mut connection, probes).await?;
    report.store_id = store_id;
    sqlx::query("COMMIT").execute(&mut connection).await?;
    connection.close().await?;
    Ok(report)
}

/// Returns the identity of the database: that of the server's data directory, the database and the schema.
async fn store_id(connection: &mut PgConnection) -> Result<Option<String>, PostgresError> {
    let may_read = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')";
    if !sqlx::query_scalar::<_, bool>(may_read).fetch_one(&mut *connection).await? {
        return Ok(None);
    }
    let sql = "SELECT concat_ws('/', s.system_identifier, current_database(), current_schema())
        FROM pg_control_system() s";
    Ok(Some(sqlx::query_scalar(sql).fetch_one(connection).await?))
}

async fn search(connection: &mut PgConnection, probes: &ResidueProbes) -> Result<ResidueReport, PostgresError> {
    let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&mut *connection).await?;
    let mut report = ResidueReport::new(format!("PostgreSQL {version}"));
    let byte_search = probes.byte_search();
    let users: BTreeMap<Uuid, &Scope> =
        probes.namespaces().into_iter().map(|scope| (scopes::namespace(scope), scope)).collect();
    let search = RowSearch { probes, byte_search: &byte_search, users: &users };
    for table in schema::tables(connection).await? {
        search.table(connection, &table, &mut report).await?;
    }
    add_indexes(connection, &mut report).await?;
    let dead_rows = match probes.covers_database() {
        true => format!(" (about {} rows of this schema)", count_dead_rows(connection).await?),
        false => String::new(),
    };
    report.limits = vec![format!(
        "removed rows and index entries stay in the data files until VACUUM{dead_rows}, and their bytes until the \
         space is used again; VACUUM FULL writes new files"
    )];
    report.limits.extend(LIMITS.map(str::to_owned));
    if !probes.covers_database() {
        report.limits.push(ResidueReport::USERS_LIMIT.to_owned());
    }
    find_missing_tombstones(connection, probes, &mut report).await?;
    report.sort();
    Ok(report)
}

/// Adds the indexes of the schema to the report.
async fn add_indexes(connection: &mut PgConnection, report: &mut ResidueReport) -> Result<(), PostgresError> {
    let sql = "SELECT x.relname::text AS index, t.relname::text AS table
        FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
        WHERE t.relnamespace = to_regnamespace(quote_ident(current_schema())) AND NOT t.relispartition ORDER BY 2, 1";
    for row in sqlx::query(sql).fetch_all(&mut *connection).await? {
        let name = format!("{} of {}", row.try_get::<&str, _>("index")?, row.try_get::<&str, _>("table")?);
        let place = SearchedPlace::new(PlaceKind::Index, name);
        let reason = "SQL reads the entries of existing rows only; its table was searched";
        report.places.push(place.with_not_searched(reason));
    }
    Ok(())
}

/// Returns the number of removed rows that are not vacuumed, as the statistics of the server have it.
async fn count_dead_rows(connection: &mut PgConnection) -> Result<i64, PostgresError> {
    let sql = "SELECT coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0)::bigint FROM pg_class c
        WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind = 'r'";
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}

async fn find_missing_tombstones(
    connection: &mut PgConnection,
    probes: &ResidueProbes,
    report: &mut ResidueReport,
) -> Result<(), PostgresError> {
    for namespace in probes.namespaces() {
        let records = probes.records.iter().filter(|probe| probe.namespace == *namespace);
        let mut missing: BTreeSet<RecordId> = records.map(|probe| probe.id).collect();
        let ids: Vec<Uuid> = missing.iter().copied().map(scopes::uuid).collect();
        let sql = "SELECT b.id FROM tombstones b WHERE b.namespace = $1 AND b.id = ANY ($2)";
        let found = sqlx::query_scalar(AssertSqlSafe(sql)).bind(scopes::namespace(namespace)).bind(ids);
        for id in found.fetch_all(&mut *connection).await? {
            missing.remove(&record_id(id));
        }
        report.missing_tombstones.extend(missing);
    }
    Ok(())
}
