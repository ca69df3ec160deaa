//! A look at a whole database, for whoever keeps it.
//!
//! What is here serves all tenants, as migrations do: it is no part of any contract.

use memory_engine_core::{Checkup, Job, Result, Scope, Timestamp, Waiting};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use crate::{
    database::failure::Failure,
    database::migration,
    database::origin,
    database::server::{Secret, Server},
    options::PostgresOptions,
    queue::backlog::GIVEN_UP,
    records::row::indexed,
    vectors::generations::{self, Table},
    vectors::vector_index::{self, VectorIndex},
};

/// What is counted, by name.
const COUNTS: [(&str, &str); 6] = [
    ("records", "SELECT count(*) FROM records"),
    ("active records", "SELECT count(*) FROM records WHERE state = 'active'"),
    ("tombstones", "SELECT count(*) FROM tombstones"),
    ("keyword documents", "SELECT count(*) FROM keyword_documents"),
    ("vectors", "SELECT count(*) FROM vectors"),
    ("namespaces", "SELECT count(*) FROM namespaces"),
];

/// What must not be, and what puts it right.
const FAULTS: [(&str, &str); 5] = [
    (
        concat!(
            "SELECT count(*) FROM records r WHERE ",
            indexed!(),
            " AND NOT EXISTS (SELECT FROM keyword_documents k WHERE k.ns = r.ns AND k.id = r.id)
             AND NOT EXISTS (SELECT FROM backlog b WHERE b.ns = r.ns AND b.id = r.id AND b.job = 'keywords')"
        ),
        "active records are not in the keyword index and do not wait for it; run `memory reindex`",
    ),
    (
        concat!(
            "SELECT count(*) FROM records r WHERE ",
            indexed!(),
            " AND NOT EXISTS (SELECT FROM vectors v WHERE v.ns = r.ns AND v.id = r.id)
             AND NOT EXISTS (SELECT FROM backlog b WHERE b.ns = r.ns AND b.id = r.id AND b.job = 'embedding')"
        ),
        "active records have no vector and do not wait for one; run `memory reindex`",
    ),
    (
        concat!(
            "SELECT count(*) FROM keyword_documents k JOIN records r ON r.ns = k.ns AND r.id = k.id WHERE NOT ",
            indexed!()
        ),
        "records that are not active are in the keyword index; run `memory reindex`",
    ),
    (
        concat!("SELECT count(*) FROM vectors v JOIN records r ON r.ns = v.ns AND r.id = v.id WHERE NOT ", indexed!()),
        "records that are not active have a vector; run `memory reindex`",
    ),
    (
        "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('records'))
           AND NOT (i.indisvalid AND i.indisready)",
        "indexes are not valid; have the server make them anew with REINDEX",
    ),
];

/// The indexes that a search rests on.
const INDEXES: [&str; 3] = ["records_by_time", "keyword_documents_by_lexeme", "backlog_by_ticket"];

/// Looks at a whole database, and changes nothing. It counts every table once.
///
/// # Errors
/// Those of [`PostgresStore::connect`](crate::PostgresStore::connect) but for the mismatches.
pub async fn checkup(url: &str, options: &PostgresOptions) -> Result<Checkup> {
    let run = async {
        let mut connection = connect(url, options).await?;
        let checkup = examine(&mut connection).await?;
        connection.close().await?;
        Ok(checkup)
    };
    run.await.map_err(|failure: Failure| failure.into_error("checkup"))
}

/// Every tenant and every user that the database knows, in the order of their names: for those who keep it, such as a copy
/// of the whole.
///
/// # Errors
/// As [`checkup`].
pub async fn namespaces(url: &str, options: &PostgresOptions) -> Result<Vec<Scope>> {
    let run = async {
        let mut connection = connect(url, options).await?;
        let mut found = Vec::new();
        if migration::version(&mut connection).await? > 0 {
            let sql = "SELECT n.tenant, n.username FROM namespaces n ORDER BY n.tenant, n.username";
            for row in sqlx::query(sql).fetch_all(&mut connection).await? {
                let (tenant, user): (String, String) = (row.try_get(0)?, row.try_get(1)?);
                let scope = Scope::tenant_wide(tenant);
                let scope = if user.is_empty() { scope } else { scope.and_then(|scope| scope.with_user(user)) };
                found.push(scope.map_err(|_| Failure::corrupt("an address"))?);
            }
        }
        connection.close().await?;
        Ok(found)
    };
    run.await.map_err(|failure: Failure| failure.into_error("namespaces"))
}

async fn connect(url: &str, options: &PostgresOptions) -> Result<PgConnection, Failure> {
    // What is looked at is everything, which may take longer than one user's question.
    let to = Server::of(&Secret::new(url.to_owned()), options)?.options_for_migrations();
    let connected = tokio::time::timeout(options.connect_timeout, PgConnection::connect_with(&to)).await;
    Ok(connected.map_err(|_| Failure::from(sqlx::Error::PoolTimedOut))??)
}

async fn examine(connection: &mut PgConnection) -> Result<Checkup, Failure> {
    let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&mut *connection).await?;
    let schema = migration::version(connection).await?;
    let mut checkup = Checkup::new(format!("PostgreSQL {version}"), schema, migration::SCHEMA);
    let extensions = "SELECT extname::text, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_trgm')";
    for row in sqlx::query(extensions).fetch_all(&mut *connection).await? {
        checkup.extensions.insert(row.try_get(0)?, row.try_get(1)?);
    }
    if schema == 0 {
        return Ok(checkup);
    }
    let partitions = migration::partitions(connection).await?;
    checkup.partitions = partitions;
    checkup.analyzer = origin::made_by(connection, Job::Keywords.as_str()).await?;
    checkup.space = origin::made_by(connection, Job::Embedding.as_str()).await?;
    // The statements name the first table of vectors; the one that serves may be the second.
    let known = if schema >= 7 { Some(generations::known(connection).await?) } else { None };
    let table = known.as_ref().map_or(Table::First, |known| known.table);
    let of_serving = |sql: &str| sql.replace("FROM vectors", &format!("FROM {}", table.name()));
    for (name, sql) in COUNTS {
        checkup.counts.insert(name.to_owned(), count(connection, &of_serving(sql)).await?);
    }
    if let Some(second) = known.and_then(|known| known.second) {
        let vectors = format!("SELECT count(*) FROM {}", table.other().name());
        checkup.counts.insert("vectors of the second generation".to_owned(), count(connection, &vectors).await?);
        checkup.second_space = Some(second);
    }
    if schema >= 2 {
        let groups = count(connection, "SELECT count(*) FROM synonym_map").await?;
        checkup.counts.insert("synonym groups".to_owned(), groups);
    }
    if schema >= 4 {
        let mentions = count(connection, "SELECT count(*) FROM graph_entities").await?;
        checkup.counts.insert("mentions of entities".to_owned(), mentions);
        let stale = "SELECT count(*) FROM graph_entities g JOIN records r ON r.ns = g.ns AND r.id = g.id
                     WHERE r.state <> 'active'";
        let stale = count(connection, stale).await?;
        checkup.blame(stale, "records that are not active are in the graph; run `memory reindex`");
    }
    // An earlier schema knows of each record when it was written, and no more.
    let waiting = if checkup.schema == checkup.known_schema {
        "SELECT count(*) FILTER (WHERE b.leased_until <> $2), min(b.queued_at) FILTER (WHERE b.leased_until <> $2),
                count(*) FILTER (WHERE b.leased_until = $2) FROM backlog b WHERE b.job = $1"
    } else {
        "SELECT count(*) FILTER (WHERE b.leased_until <> $2), min(r.recorded_at) FILTER (WHERE b.leased_until <> $2),
                count(*) FILTER (WHERE b.leased_until = $2)
         FROM backlog b JOIN records r ON r.ns = b.ns AND r.id = b.id WHERE b.job = $1"
    };
    for job in Job::ALL {
        let row = sqlx::query(waiting).bind(job.as_str()).bind(GIVEN_UP).fetch_one(&mut *connection).await?;
        let count = |column| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or_default());
        let oldest = row.try_get::<Option<i64>, _>(1)?.map(Timestamp::from_micros);
        checkup.waiting.insert(job, Waiting::new(count(0)?, oldest).with_given_up(count(2)?));
    }
    for (sql, what) in FAULTS {
        let found = count(connection, &of_serving(sql)).await?;
        checkup.blame(found, what);
    }
    for index in INDEXES {
        let there = "SELECT to_regclass($1) IS NOT NULL";
        if !sqlx::query_scalar::<_, bool>(there).bind(index).fetch_one(&mut *connection).await? {
            checkup.problems.push(format!("the index {index} is missing; restore the schema from a backup"));
        }
    }
    let nearness = VectorIndex::noted(connection, table).await?;
    let there = sqlx::query_scalar::<_, bool>("SELECT to_regclass($1) IS NOT NULL").bind(vector_index::name(table));
    let there = there.fetch_one(connection).await?;
    if nearness.is_some_and(|definition| definition != "none") && !there {
        let name = vector_index::name(table);
        let missing =
            format!("the index {name} is missing; delete its row from the table origins and open the database");
        checkup.problems.push(missing);
    }
    Ok(checkup)
}

async fn count(connection: &mut PgConnection, sql: &str) -> Result<u64, Failure> {
    // Put together from the texts of this file.
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}
