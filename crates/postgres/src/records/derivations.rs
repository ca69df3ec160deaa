//! The derivations of records: which record was made from which.

use std::collections::BTreeSet;

use memory_engine_core::{RecordId, Scope};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    rows::{
        row,
        scopes::{CoveredScope, record_id, uuids},
        stub::{self, StoredStub, select_stubs},
    },
};

const SELECT_DERIVED_RECORDS: &str = concat!(
    "WITH RECURSIVE made (id) AS (
        SELECT m.id FROM records m WHERE m.namespace = $1 AND m.derived_from <> '{}' AND m.derived_from && $2
        UNION
        SELECT m.id FROM made x
        JOIN records m ON m.namespace = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[x.id]
     ) ",
    select_stubs!("made x JOIN records r ON r.namespace = $1 AND r.id = x.id"),
    "WHERE NOT r.id = ANY ($2) ORDER BY r.id"
);

/// Returns the records of a namespace that were derived from these, directly or through others, ordered by id.
pub(crate) async fn derived_records(
    connection: &mut PgConnection,
    namespace: Uuid,
    ids: &[RecordId],
) -> Result<Vec<StoredStub>, PostgresError> {
    let rows = sqlx::query(SELECT_DERIVED_RECORDS).bind(namespace).bind(uuids(ids)).fetch_all(connection).await?;
    rows.iter().map(stub::read).collect()
}

/// Selects the ids of all records that were derived from one of several sources. One source may be derived from
/// another.
const SELECT_DERIVED_IDS: &str = "WITH RECURSIVE made (source, id) AS (
        SELECT s.id, m.id FROM unnest($2::uuid[]) s (id)
        JOIN records m ON m.namespace = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[s.id]
        UNION
        SELECT x.source, m.id FROM made x
        JOIN records m ON m.namespace = $1 AND m.derived_from <> '{}' AND m.derived_from @> ARRAY[x.id]
     ) SELECT DISTINCT x.id FROM made x WHERE x.id <> x.source";

/// Returns the ids of the records within `scope` that were derived from these, in order.
pub(crate) async fn derived_ids(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<RecordId>, PostgresError> {
    let covered = CoveredScope::of(scope);
    let mut derived = BTreeSet::new();
    for (namespace, sources) in row::ids_by_namespace(connection, &covered, ids).await? {
        let uuids: Vec<Uuid> =
            sqlx::query_scalar(SELECT_DERIVED_IDS).bind(namespace).bind(sources).fetch_all(&mut *connection).await?;
        let ids: Vec<RecordId> = uuids.into_iter().map(record_id).collect();
        let visible = row::ids_by_namespace(connection, &covered.within(namespace), &ids).await?;
        derived.extend(visible.into_values().flatten().map(record_id));
    }
    Ok(derived.into_iter().collect())
}
