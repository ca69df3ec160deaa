//! A look at a whole file, for whoever keeps it.

use std::path::Path;

use memory_engine_core::{Checkup, Index, Job, Result, Scope, Timestamp, Waiting};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    database::connection,
    database::failure::Failure,
    database::migration,
    queue::backlog::GIVEN_UP,
    records::row::indexed,
    vectors::generations::{self, Table},
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
const FAULTS: [(&str, &str); 4] = [
    (
        concat!(
            "SELECT count(*) FROM records r WHERE ",
            indexed!(),
            " AND NOT EXISTS (SELECT 1 FROM keyword_documents k WHERE k.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = 'keywords')"
        ),
        "active records are not in the keyword index and do not wait for it; run `memory reindex`",
    ),
    (
        concat!(
            "SELECT count(*) FROM records r WHERE ",
            indexed!(),
            " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record = r.record)
             AND NOT EXISTS (SELECT 1 FROM backlog b WHERE b.record = r.record AND b.job = 'embedding')"
        ),
        "active records have no vector and do not wait for one; run `memory reindex`",
    ),
    (
        concat!(
            "SELECT count(*) FROM keyword_documents k JOIN records r ON r.record = k.record WHERE NOT ",
            indexed!()
        ),
        "records that are not active are in the keyword index; run `memory reindex`",
    ),
    (
        concat!("SELECT count(*) FROM vectors v JOIN records r ON r.record = v.record WHERE NOT ", indexed!()),
        "records that are not active have a vector; run `memory reindex`",
    ),
];

/// What waits for a job, since when, and for what it was given up.
const WAITING: &str = "SELECT count(*) FILTER (WHERE b.leased_until <> ?2),
        min(b.queued_at) FILTER (WHERE b.leased_until <> ?2), count(*) FILTER (WHERE b.leased_until = ?2)
    FROM backlog b WHERE b.job = ?1";

/// The same in an earlier schema, which knows of each record when it was written, and no more.
const WAITING_BEFORE: &str = "SELECT count(*) FILTER (WHERE b.leased_until <> ?2),
        min(r.recorded_at) FILTER (WHERE b.leased_until <> ?2), count(*) FILTER (WHERE b.leased_until = ?2)
    FROM backlog b JOIN records r ON r.record = b.record WHERE b.job = ?1";

/// How many faults of the file itself are told one by one.
const TOLD: usize = 5;

/// Looks at a whole file, and changes nothing. Call it from a place that may block: it reads everything once.
///
/// # Errors
/// `NotFound` when there is no file; else those of [`SqliteStore::open`](crate::SqliteStore::open) but for the mismatches.
pub fn checkup(path: &Path) -> Result<Checkup> {
    let connection = connection::open_existing(path)?;
    let look = || {
        let transaction = connection.unchecked_transaction()?;
        let checkup = examine(&transaction, path)?;
        transaction.finish()?;
        Ok(checkup)
    };
    look().map_err(|failure: Failure| failure.into_error("checkup"))
}

/// Every tenant and every user that the file knows, in the order of their names: for those who keep it, such as a copy of
/// the whole. Call it from a place that may block.
///
/// # Errors
/// As [`checkup`].
pub fn namespaces(path: &Path) -> Result<Vec<Scope>> {
    let connection = connection::open_existing(path)?;
    let read = || {
        let mut found = Vec::new();
        if migration::recognise(&connection, path)? == 0 {
            return Ok(found);
        }
        let mut statement = connection.prepare(
            "SELECT t.name, n.user FROM namespaces n JOIN tenants t ON t.tenant = n.tenant ORDER BY t.name, n.user",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (tenant, user): (String, String) = (row.get(0)?, row.get(1)?);
            let scope = Scope::tenant_wide(tenant);
            let scope = if user.is_empty() { scope } else { scope.and_then(|scope| scope.with_user(user)) };
            found.push(scope.map_err(|_| Failure::corrupt("an address"))?);
        }
        Ok(found)
    };
    read().map_err(|failure: Failure| failure.into_error("namespaces"))
}

fn examine(connection: &Connection, path: &Path) -> Result<Checkup, Failure> {
    let schema = migration::recognise(connection, path)?;
    let mut checkup = Checkup::new(format!("SQLite {}", rusqlite::version()), schema, migration::SCHEMA);
    let mut statement = connection.prepare("PRAGMA quick_check(100)")?;
    let faults = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let faults: Vec<_> = faults.into_iter().filter(|fault| fault != "ok").collect();
    // What SQLite finds wrong names tables and pages; nobody's words are in it.
    checkup.problems.extend(
        faults.iter().take(TOLD).map(|fault| format!("the file is damaged: {fault}; restore it from a backup")),
    );
    if schema == 0 {
        return Ok(checkup);
    }
    let made_by = |index: Index| {
        let sql = "SELECT made_by FROM origins WHERE part = ?1";
        connection.query_row(sql, [index.job().as_str()], |row| row.get::<_, String>(0)).optional()
    };
    (checkup.analyzer, checkup.space) = (made_by(Index::Keywords)?, made_by(Index::Embedding)?);
    // The statements name the first table of vectors; the one that serves may be the second.
    let known = if schema >= 7 { Some(generations::known(connection)?) } else { None };
    let serving = known.as_ref().map_or(Table::First, |known| known.table);
    let count = |sql: &str| {
        let sql = sql.replace("FROM vectors", &format!("FROM {}", serving.name()));
        connection.query_row(&sql, [], |row| row.get::<_, u64>(0))
    };
    for (name, sql) in COUNTS {
        checkup.counts.insert(name.to_owned(), count(sql)?);
    }
    if let Some(second) = known.and_then(|known| known.second) {
        let vectors = generations::count(connection)?.second.map_or(0, |second| second.vectors);
        checkup.counts.insert("vectors of the second generation".to_owned(), vectors);
        checkup.second_space = Some(second);
    }
    if schema >= 2 {
        checkup.counts.insert("synonym groups".to_owned(), count("SELECT count(*) FROM synonym_groups")?);
    }
    if schema >= 3 {
        let mentions = count("SELECT count(*) FROM graph_entities")?;
        checkup.counts.insert("mentions of entities".to_owned(), mentions);
        let stale =
            "SELECT count(*) FROM graph_entities g JOIN records r ON r.record = g.record WHERE r.state <> 'active'";
        checkup.blame(count(stale)?, "records that are not active are in the graph; run `memory reindex`");
    }
    let waiting = if schema == migration::SCHEMA { WAITING } else { WAITING_BEFORE };
    for job in Job::ALL {
        let waiting = connection.query_row(waiting, params![job.as_str(), GIVEN_UP], |row| {
            let oldest = row.get::<_, Option<i64>>(1)?.map(Timestamp::from_micros);
            Ok(Waiting::new(row.get(0)?, oldest).with_given_up(row.get(2)?))
        });
        checkup.waiting.insert(job, waiting?);
    }
    for (sql, what) in FAULTS {
        let found = count(sql)?;
        checkup.blame(found, what);
    }
    Ok(checkup)
}
