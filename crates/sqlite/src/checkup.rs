//! The health check of a database file.

use std::path::Path;

use memory_engine_core::{HealthReport, Index, Job, QueueHealth, Result, Scope, Timestamp};
use memory_engine_sql::{
    count_indexed,
    embedding_versions::EmbeddingVersions,
    health, indexed,
    rows::{self, LEASE_DEAD},
};
use rusqlite::{Connection, params};

use crate::{
    database::connection,
    database::error::SqliteError,
    database::{index_metadata, schema},
    vectors::generations,
};

/// Inconsistencies that must not exist, each with the way to fix it.
const INCONSISTENCIES: [(&str, &str); 4] = [
    (
        concat!(
            count_indexed!(),
            " AND NOT EXISTS (SELECT 1 FROM keyword_documents k WHERE k.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = 'keywords')"
        ),
        health::NOT_IN_KEYWORD_INDEX,
    ),
    (
        concat!(
            count_indexed!(),
            " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = 'embedding')"
        ),
        health::WITHOUT_VECTOR,
    ),
    (
        concat!(
            "SELECT count(*) FROM keyword_documents k JOIN records r ON r.record = k.record WHERE NOT ",
            indexed!()
        ),
        health::INACTIVE_IN_KEYWORD_INDEX,
    ),
    (
        concat!("SELECT count(*) FROM vectors v JOIN records r ON r.record = v.record WHERE NOT ", indexed!()),
        health::INACTIVE_WITH_VECTOR,
    ),
];

/// Selects for one job the number of queued records, the time of the oldest, and the number that were given up.
const QUEUE_SQL: &str = "SELECT count(*) FILTER (WHERE b.leased_until <> ?2) AS waiting,
        min(b.queued_at) FILTER (WHERE b.leased_until <> ?2) AS oldest,
        count(*) FILTER (WHERE b.leased_until = ?2) AS given_up
    FROM backlog b WHERE b.job = ?1";

/// The same for an earlier schema, which only has the write time of each record.
const OLD_QUEUE_SQL: &str = "SELECT count(*) FILTER (WHERE b.leased_until <> ?2) AS waiting,
        min(r.recorded_at) FILTER (WHERE b.leased_until <> ?2) AS oldest,
        count(*) FILTER (WHERE b.leased_until = ?2) AS given_up
    FROM backlog b JOIN records r ON r.record = b.record WHERE b.job = ?1";

/// Maximum number of faults of the file that are listed one by one.
const MAX_LISTED_PROBLEMS: usize = 5;

/// Looks at a whole file, and changes nothing. Call it from a place that may block: it reads everything once.
///
/// # Errors
/// `NotFound` when there is no file; else those of [`SqliteStore::open`](crate::SqliteStore::open) but for the
/// mismatches.
pub fn checkup(path: &Path) -> Result<HealthReport> {
    let connection = connection::open_existing(path)?;
    let look = || {
        let transaction = connection.unchecked_transaction()?;
        let checkup = examine(&transaction, path)?;
        transaction.finish()?;
        Ok(checkup)
    };
    look().map_err(|failure: SqliteError| failure.into_error("checkup"))
}

/// Every tenant and every user that the file knows, in the order of their names: for those who keep it, such as a copy
/// of the whole. Call it from a place that may block.
///
/// # Errors
/// As [`checkup`].
pub fn namespaces(path: &Path) -> Result<Vec<Scope>> {
    let connection = connection::open_existing(path)?;
    let read = || {
        let mut found = Vec::new();
        if schema::recognise(&connection, path)? == 0 {
            return Ok(found);
        }
        let mut statement = connection.prepare(
            "SELECT t.name, n.user FROM namespaces n JOIN tenants t ON t.tenant = n.tenant ORDER BY t.name, n.user",
        )?;
        let mut users = statement.query([])?;
        while let Some(row) = users.next()? {
            let name = |column: &str| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
            found.push(rows::scope([name("name")?, name("user")?, "", "", ""])?);
        }
        Ok(found)
    };
    read().map_err(|failure: SqliteError| failure.into_error("namespaces"))
}

fn examine(connection: &Connection, path: &Path) -> Result<HealthReport, SqliteError> {
    let found = schema::recognise(connection, path)?;
    let mut checkup = HealthReport::new(format!("SQLite {}", rusqlite::version()), found, schema::SCHEMA);
    let mut statement = connection.prepare("PRAGMA quick_check(100)")?;
    let faults = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let faults: Vec<_> = faults.into_iter().filter(|fault| fault != "ok").collect();
    // The messages of SQLite name tables and pages, and contain no text of records.
    checkup.problems.extend(
        faults
            .iter()
            .take(MAX_LISTED_PROBLEMS)
            .map(|fault| format!("the file is damaged: {fault}; restore it from a backup")),
    );
    if found == 0 {
        return Ok(checkup);
    }
    checkup.analyzer = index_metadata::maker(connection, Index::Keywords)?;
    checkup.space = index_metadata::maker(connection, Index::Embedding)?;
    // The statements name the first table of vectors; the one that serves may be the second.
    let versions = if found >= 7 { index_metadata::versions(connection)? } else { EmbeddingVersions::default() };
    let count = |sql: &str| {
        connection.query_row(&health::on_serving_table(sql, versions.table), [], |row| row.get::<_, u64>(0))
    };
    for (name, sql) in health::COUNTS {
        checkup.counts.insert(name.to_owned(), count(sql)?);
    }
    if let Some(second) = &versions.second {
        let vectors = generations::count_vectors(connection, versions.table.other())?;
        health::add_second_version(&mut checkup, second.clone(), vectors);
    }
    if found >= 2 {
        checkup.counts.insert("synonym groups".to_owned(), count("SELECT count(*) FROM synonym_groups")?);
    }
    if found >= 3 {
        let mentions = count("SELECT count(*) FROM graph_entities")?;
        checkup.counts.insert("mentions of entities".to_owned(), mentions);
        let stale =
            "SELECT count(*) FROM graph_entities g JOIN records r ON r.record = g.record WHERE r.state <> 'active'";
        checkup.blame(count(stale)?, health::INACTIVE_IN_GRAPH);
    }
    let waiting = if found == schema::SCHEMA { QUEUE_SQL } else { OLD_QUEUE_SQL };
    for job in Job::ALL {
        let waiting = connection.query_row(waiting, params![job.as_str(), LEASE_DEAD], |row| {
            let oldest = row.get::<_, Option<i64>>("oldest")?.map(Timestamp::from_micros);
            Ok(QueueHealth::new(row.get("waiting")?, oldest).with_given_up(row.get("given_up")?))
        });
        checkup.waiting.insert(job, waiting?);
    }
    for (sql, what) in INCONSISTENCIES {
        let found = count(sql)?;
        checkup.blame(found, what);
    }
    Ok(checkup)
}
