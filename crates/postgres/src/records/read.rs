//! Reads records by id, finds adjacent records, and counts records.

use memory_engine_core::{Adjacent, Neighbor, Record, RecordId, Scope, Stats, Timestamp};
use memory_engine_sql::rows;
use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    queue::job_rows,
    records::groups,
    rows::{
        row,
        scopes::{self, CoveredScope, record_id, uuids},
    },
};

/// Returns the records with these ids, in the order of the ids; `None` for missing ones.
pub(crate) async fn get(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<Record>>, PostgresError> {
    let mut found: FxHashMap<RecordId, Record> = FxHashMap::default();
    for stored in row::find(connection, &CoveredScope::of(scope), ids).await? {
        // If several users have a record with this id, the record of the first user is returned.
        found.entry(stored.record.id).or_insert(stored.record);
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// Returns the addresses and ids of the first records that have expired, of all tenants, in the order of their expiry.
pub(crate) async fn expired(
    connection: &mut PgConnection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<(Scope, RecordId)>, PostgresError> {
    let sql = "SELECT n.tenant, n.username, a.agent, a.session, a.branch, x.id FROM
        (SELECT r.namespace, r.scope, r.id, r.expires_at FROM records r
         WHERE r.expires_at IS NOT NULL AND NOT r.pinned AND r.expires_at <= $1
         ORDER BY r.expires_at, r.id LIMIT $2) x
        JOIN namespaces n ON n.namespace = x.namespace JOIN scopes a ON a.namespace = x.namespace AND a.scope = x.scope
        ORDER BY x.expires_at, x.id";
    let rows = sqlx::query(sql).bind(now.as_micros()).bind(rows::sql_limit(limit)).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((scopes::read_or_user(row)?, record_id(row.try_get("id")?)))).collect()
}

/// SQL that joins the adjacent record: its id, and whether its role or speaker differs.
macro_rules! join_adjacent {
    ($name:literal, $relation:literal, $order:literal) => {
        concat!(
            " LEFT JOIN LATERAL (SELECT p.id, (p.role IS DISTINCT FROM r.role OR p.speaker IS DISTINCT FROM r.speaker) \
               AS another_voice FROM records p WHERE p.namespace = r.namespace AND p.scope = r.scope
               AND p.state = 'active' \
               AND p.kind = r.kind AND (p.occurred_at, p.place, p.id) ",
            $relation,
            " (r.occurred_at, r.place, r.id) ORDER BY p.occurred_at ",
            $order,
            ", p.place ",
            $order,
            ", p.id ",
            $order,
            " LIMIT 1) ",
            $name,
            " ON true"
        )
    };
}

/// Returns for each id the adjacent active records of its kind in exactly the same scope.
pub(crate) async fn adjacent(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Adjacent>, PostgresError> {
    let mut statement = StatementBuilder::new(concat!(
        "SELECT r.id, before.id AS before_id, before.another_voice AS before_voice, next.id AS next_id,
                next.another_voice AS next_voice FROM records r
         JOIN namespaces n ON n.namespace = r.namespace",
        join_adjacent!("before", "<", "DESC"),
        join_adjacent!("next", ">", "ASC"),
        " WHERE r.id = ANY ("
    ));
    statement.bind(uuids(ids)).push(") AND ");
    CoveredScope::of(scope).push_row_condition("r", &mut statement);
    statement.push(" ORDER BY n.username");
    let mut found: FxHashMap<RecordId, Adjacent> = FxHashMap::default();
    for row in statement.fetch_all(connection).await? {
        let neighbor = |id: &str, voice: &str| -> Result<Option<Neighbor>, PostgresError> {
            let id = row.try_get::<Option<Uuid>, _>(id)?.map(record_id);
            let another_voice = row.try_get::<Option<bool>, _>(voice)?;
            Ok(id.zip(another_voice).map(|(id, another_voice)| Neighbor { id, another_voice }))
        };
        let previous = neighbor("before_id", "before_voice")?;
        let next = neighbor("next_id", "next_voice")?;
        found.entry(record_id(row.try_get("id")?)).or_insert(Adjacent { previous, next });
    }
    Ok(ids.iter().map(|id| found.get(id).copied().unwrap_or_default()).collect())
}

/// Returns the statistics of a scope.
pub(crate) async fn stats(connection: &mut PgConnection, scope: &Scope) -> Result<Stats, PostgresError> {
    let mut stats = Stats::default();
    let covered = CoveredScope::of(scope);
    stats.add_groups(groups::read(connection, &covered).await?);
    job_rows::count_queued(connection, &covered, &mut stats).await?;
    let mut statement = StatementBuilder::new("SELECT count(*) AS tombstones FROM tombstones b WHERE ");
    covered.push_row_condition("b", &mut statement);
    let tombstones: i64 = statement.fetch_one(connection).await?.try_get("tombstones")?;
    stats.tombstones = u64::try_from(tombstones).unwrap_or_default();
    Ok(stats)
}
