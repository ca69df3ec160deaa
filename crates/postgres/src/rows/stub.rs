//! Reads the parts of a record that its deletion needs. Its content is not read, because it may be damaged.

use memory_engine_core::{ContentHash, Kind, RecordId, Timestamp, Tombstone};
use memory_engine_sql::write::RecordStub;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::{
        scopes::{self, CoveredScope, record_id, uuids},
        tombstones,
    },
};

/// A record to delete.
#[derive(Debug)]
pub(crate) struct StoredStub {
    pub(crate) namespace: Uuid,
    /// Its address; `None` if it is not stored.
    pub(crate) address: Option<Uuid>,
    pub(crate) stub: RecordStub,
}

/// The values of a tombstone to store.
#[derive(Debug)]
pub(crate) struct NewTombstone {
    pub(crate) id: RecordId,
    /// `None` for the address of the user.
    pub(crate) address: Option<Uuid>,
    pub(crate) content_hash: ContentHash,
    pub(crate) deleted_at: Timestamp,
    pub(crate) cascade_deleted: bool,
}

impl NewTombstone {
    /// Returns the tombstone of a record. `cascade_deleted` is true if its source was deleted, not the record itself.
    pub(crate) fn of(stored: &StoredStub, deleted_at: Timestamp, cascade_deleted: bool) -> Self {
        let RecordStub { id, content_hash, .. } = stored.stub;
        Self { id, address: stored.address, content_hash, deleted_at, cascade_deleted }
    }
}

impl From<&Tombstone> for NewTombstone {
    fn from(tombstone: &Tombstone) -> Self {
        let Tombstone { id, content_hash, deleted_at, cascade_deleted, .. } = *tombstone;
        Self { id, address: Some(scopes::address(&tombstone.scope)), content_hash, deleted_at, cascade_deleted }
    }
}

/// SQL that selects the stubs of records, up to the conditions. `$from` must provide the table alias `r`.
macro_rules! select_stubs {
    ($from:literal) => {
        concat!(
            "SELECT r.namespace, a.scope, r.id, r.kind, r.content_hash, r.derived_from FROM ",
            $from,
            " JOIN namespaces n ON n.namespace = r.namespace
                LEFT JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope "
        )
    };
}
pub(crate) use select_stubs;

/// Reads a row of [`select_stubs!`].
pub(crate) fn read(row: &PgRow) -> Result<StoredStub, PostgresError> {
    let sources = row.try_get::<Vec<Option<Uuid>>, _>("derived_from").ok();
    let stub = RecordStub {
        id: record_id(row.try_get("id")?),
        kind: Kind::new(row.try_get::<String, _>("kind").unwrap_or_default()),
        content_hash: tombstones::content_hash(row)?,
        derived_from: sources.map(|sources| sources.into_iter().flatten().map(record_id).collect()),
    };
    Ok(StoredStub { namespace: row.try_get("namespace")?, address: row.try_get("scope")?, stub })
}

/// Returns the records with these ids in a scope, ordered by user. Two users may have records with the same id.
pub(crate) async fn find(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<Vec<StoredStub>, PostgresError> {
    let mut statement = StatementBuilder::new(concat!(select_stubs!("records r"), "WHERE r.id = ANY ("));
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_joined_record_condition(&mut statement);
    statement.push(" ORDER BY n.username");
    statement.fetch_all(connection).await?.iter().map(read).collect()
}

/// Returns the records of the covered users whose address is not stored, so that no scan finds them.
pub(crate) async fn find_unreachable(
    connection: &mut PgConnection,
    covered: &CoveredScope,
) -> Result<Vec<StoredStub>, PostgresError> {
    let mut statement = StatementBuilder::new(concat!(select_stubs!("records r"), "WHERE a.scope IS NULL AND "));
    covered.push_namespace_condition("r", &mut statement);
    statement.fetch_all(connection).await?.iter().map(read).collect()
}
