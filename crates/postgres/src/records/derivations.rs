//! The derivations of records: which record was made from which.

use std::collections::BTreeSet;

use memory_engine_core::{Record, RecordId, Scope};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    records::row::{self, selected},
    records::scopes::{CoveredScope, record_id, uuids},
};

const MADE_FROM: &str = concat!(
    "WITH RECURSIVE made (id) AS (
        SELECT m.id FROM records m WHERE m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from && $2
        UNION
        SELECT m.id FROM made x
        JOIN records m ON m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[x.id]
     ) ",
    selected!("made x JOIN records r ON r.ns = $1 AND r.id = x.id"),
    "WHERE NOT r.id = ANY ($2) ORDER BY r.id"
);

/// The records of a namespace that were made from these, directly or through others, by id.
pub(crate) async fn made_from(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[RecordId],
) -> Result<Vec<Record>, PostgresError> {
    let rows = sqlx::query(MADE_FROM).bind(ns).bind(uuids(ids)).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(row::read(row)?.record)).collect()
}

/// For each of several records those that were made from it: one may have been made from another of them.
const DERIVED: &str = "WITH RECURSIVE made (source, id) AS (
        SELECT s.id, m.id FROM unnest($2::uuid[]) s (id)
        JOIN records m ON m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[s.id]
        UNION
        SELECT x.source, m.id FROM made x
        JOIN records m ON m.ns = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[x.id]
     ) SELECT DISTINCT x.id FROM made x WHERE x.id <> x.source";

/// The records within `scope` that were made from these, by id.
pub(crate) async fn derived(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<RecordId>, PostgresError> {
    let reach = CoveredScope::of(scope);
    let mut found = BTreeSet::new();
    for (ns, sources) in row::keys(connection, &reach, ids).await? {
        let made: Vec<Uuid> = sqlx::query_scalar(DERIVED).bind(ns).bind(sources).fetch_all(&mut *connection).await?;
        let made: Vec<RecordId> = made.into_iter().map(record_id).collect();
        let within = row::keys(connection, &reach.within(ns), &made).await?;
        found.extend(within.into_values().flatten().map(record_id));
    }
    Ok(found.into_iter().collect())
}
