//! Reads and writes the rows of the table `records`.

use memory_engine_core::{
    Error, ErrorKind, Kind, Record, RecordId, Role, Scope, SortedJson, Source, State, Timestamp, Trust,
};
use memory_engine_sql::indexed;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    database::error::SqliteError,
    database::statement::Statement,
    records::scopes::{self, CoveredScope, RecordAddress},
};

/// A record with the numbers of its row and address.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    /// Number of the row.
    pub(crate) row: i64,
    /// The ids of its tenant, namespace and scope.
    pub(crate) address: RecordAddress,
    /// The record.
    pub(crate) record: Record,
}

/// The columns of a record, in the order of [`Column`].
macro_rules! columns {
    () => {
        "r.record, r.id, r.kind, r.text, r.role, r.speaker, r.scene, r.topic, r.emotion, r.message_id, r.sequence, \
         r.round, r.confidence, r.importance, r.occurred_at, r.recorded_at, r.valid_from, r.valid_until, r.trust, \
         r.state, r.pinned, r.expires_at, r.revision, r.entities, r.tags, r.derived_from, r.metadata"
    };
}
pub(crate) use columns;

/// The positions of [`columns!`] in a row. Looking up 27 columns by name in every row costs more than reading them.
#[derive(Debug, Clone, Copy)]
enum Column {
    Record,
    Id,
    Kind,
    Text,
    Role,
    Speaker,
    Scene,
    Topic,
    Emotion,
    MessageId,
    Sequence,
    Round,
    Confidence,
    Importance,
    OccurredAt,
    RecordedAt,
    ValidFrom,
    ValidUntil,
    Trust,
    State,
    Pinned,
    ExpiresAt,
    Revision,
    Entities,
    Tags,
    DerivedFrom,
    Metadata,
}

/// The number of columns before [`columns!`] in a row of [`selected!`].
const ADDRESS_COLUMNS: usize = 8;

/// Selects the columns of records `r` with their scope, up to the joins. `$before` is a table joined before `records`;
/// `$more` are further columns.
macro_rules! selected {
    ($before:literal) => {
        selected!($before, "")
    };
    ($before:literal, $more:literal) => {
        concat!(
            "SELECT t.name, n.user, s.agent, s.session, s.branch, t.tenant, n.namespace, s.scope, ",
            $crate::records::row::columns!(),
            $more,
            " FROM ",
            $before,
            "records r CROSS JOIN scopes s ON s.scope = r.scope CROSS JOIN namespaces n ON n.namespace = r.namespace ",
            "CROSS JOIN tenants t ON t.tenant = n.tenant "
        )
    };
}
pub(crate) use selected;

/// Reads a row of [`selected!`].
pub(crate) fn read(row: &Row<'_>) -> Result<StoredRecord, SqliteError> {
    let address =
        RecordAddress { tenant: row.get("tenant")?, namespace: row.get("namespace")?, scope: row.get("scope")? };
    let record = content(row, ADDRESS_COLUMNS, scopes::read(row)?)?;
    Ok(StoredRecord { row: row.get(ADDRESS_COLUMNS + Column::Record as usize)?, address, record })
}

/// Reads the record of this scope whose [`columns!`] begin at column `first`.
pub(crate) fn content(row: &Row<'_>, first: usize, scope: Scope) -> Result<Record, SqliteError> {
    let at = |column: Column| first + column as usize;
    let time = |column| row.get(at(column)).map(Timestamp::from_micros);
    let optional_time =
        |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at(column))?.map(Timestamp::from_micros));
    let text = |column| row.get_ref(at(column))?.as_str().map_err(rusqlite::Error::from);
    let id = RecordId::from_bytes(row.get(at(Column::Id))?);
    let kind = Kind::new(row.get::<_, String>(at(Column::Kind))?);
    let mut record = Record::with_id(id, scope, kind, row.get(at(Column::Text))?, time(Column::OccurredAt)?);
    record.role = row.get::<_, Option<String>>(at(Column::Role))?.map(Role::new);
    record.speaker = row.get(at(Column::Speaker))?;
    record.scene = row.get(at(Column::Scene))?;
    record.topic = row.get(at(Column::Topic))?;
    record.emotion = row.get(at(Column::Emotion))?;
    record.source = Source {
        message_id: row.get(at(Column::MessageId))?,
        sequence: row.get(at(Column::Sequence))?,
        round: row.get(at(Column::Round))?,
    };
    record.confidence = row.get(at(Column::Confidence))?;
    record.importance = row.get(at(Column::Importance))?;
    record.recorded_at = time(Column::RecordedAt)?;
    record.valid_from = optional_time(Column::ValidFrom)?;
    record.valid_until = optional_time(Column::ValidUntil)?;
    record.trust = text(Column::Trust)?.parse::<Trust>().map_err(|_| SqliteError::corrupt("a trust"))?;
    record.state = text(Column::State)?.parse::<State>().map_err(|_| SqliteError::corrupt("a state"))?;
    record.pinned = row.get(at(Column::Pinned))?;
    record.expires_at = optional_time(Column::ExpiresAt)?;
    record.revision = row.get(at(Column::Revision))?;
    record.entities = json(text(Column::Entities)?)?;
    record.tags = json(text(Column::Tags)?)?;
    record.derived_from = json(text(Column::DerivedFrom)?)?;
    record.metadata = json(text(Column::Metadata)?)?;
    Ok(record)
}

fn json<T: DeserializeOwned + Default>(text: &str) -> Result<T, SqliteError> {
    match text {
        "[]" | "{}" => Ok(T::default()),
        text => serde_json::from_str(text).map_err(|_| SqliteError::corrupt("a list or metadata")),
    }
}

/// Returns the covered records of this id, ordered by user. Two users may have a record of the same id.
pub(crate) fn find_all(
    connection: &Connection,
    covered: &CoveredScope,
    id: RecordId,
) -> Result<Vec<StoredRecord>, SqliteError> {
    let mut statement = Statement::new(concat!(selected!(""), "WHERE r.id = "));
    statement.bind(id.as_bytes().to_vec()).push(" AND ");
    covered.push_condition_for_scope(&mut statement);
    statement.push(" ORDER BY n.user");
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

/// Returns the record of this id in a namespace.
pub(crate) fn find(connection: &Connection, namespace: i64, id: RecordId) -> Result<Option<StoredRecord>, SqliteError> {
    let sql = concat!(selected!(""), "WHERE r.id = ?1 AND r.namespace = ?2");
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![id.as_bytes(), namespace])?;
    rows.next()?.map(read).transpose()
}

/// The version of a stored record, without its content. Read before an index entry of the record is stored.
#[derive(Debug)]
pub(crate) struct CurrentVersion {
    pub(crate) row: i64,
    pub(crate) scope: i64,
    pub(crate) revision: u64,
    /// True if the record belongs in the indexes.
    pub(crate) indexed: bool,
}

impl CurrentVersion {
    /// Returns true if this is the version `record` at `address`, and belongs in the indexes.
    pub(crate) fn matches(&self, record: &Record, address: RecordAddress) -> bool {
        self.indexed && self.scope == address.scope && self.revision == record.revision
    }
}

/// Returns the version of the record of this id in a namespace.
pub(crate) fn current(
    connection: &Connection,
    namespace: i64,
    id: RecordId,
) -> rusqlite::Result<Option<CurrentVersion>> {
    let sql = concat!(
        "SELECT r.record, r.scope, r.revision, ",
        indexed!(),
        " AS indexed FROM records r WHERE r.id = ?1 AND r.namespace = ?2"
    );
    let read = |row: &Row<'_>| {
        Ok(CurrentVersion {
            row: row.get("record")?,
            scope: row.get("scope")?,
            revision: row.get("revision")?,
            indexed: row.get("indexed")?,
        })
    };
    connection.prepare_cached(sql)?.query_row(params![id.as_bytes(), namespace], read).optional()
}

/// Stores a new record. Returns its row.
pub(crate) fn insert(connection: &Connection, address: RecordAddress, record: &Record) -> Result<i64, SqliteError> {
    let sql = "INSERT INTO records (namespace, scope, id, revision, state, kind, trust, occurred_at, recorded_at,
        valid_from, valid_until, role, speaker, scene, topic, emotion, confidence, importance, message_id, sequence,
        round, entities, tags, derived_from, metadata, text, pinned, expires_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
        ?23, ?24, ?25, ?26, ?27, ?28)";
    write(connection, sql, address, record)?;
    Ok(connection.last_insert_rowid())
}

/// Overwrites the stored record of the same id and address.
pub(crate) fn replace(connection: &Connection, address: RecordAddress, record: &Record) -> Result<(), SqliteError> {
    let sql = "UPDATE records SET revision = ?4, state = ?5, kind = ?6, trust = ?7, occurred_at = ?8,
        recorded_at = ?9, valid_from = ?10, valid_until = ?11, role = ?12, speaker = ?13, scene = ?14, topic = ?15,
        emotion = ?16, confidence = ?17, importance = ?18, message_id = ?19, sequence = ?20, round = ?21,
        entities = ?22, tags = ?23, derived_from = ?24, metadata = ?25, text = ?26, pinned = ?27, expires_at = ?28
        WHERE id = ?3 AND namespace = ?1 AND scope = ?2";
    write(connection, sql, address, record)
}

fn write(
    connection: &Connection,
    sql: &'static str,
    address: RecordAddress,
    record: &Record,
) -> Result<(), SqliteError> {
    let revision = i64::try_from(record.revision).unwrap_or(i64::MAX);
    connection.prepare_cached(sql)?.execute(params![
        address.namespace,
        address.scope,
        record.id.as_bytes(),
        revision,
        record.state.as_str(),
        record.kind.as_str(),
        record.trust.as_str(),
        record.occurred_at.as_micros(),
        record.recorded_at.as_micros(),
        record.valid_from.map(Timestamp::as_micros),
        record.valid_until.map(Timestamp::as_micros),
        record.role.as_ref().map(Role::as_str),
        record.speaker,
        record.scene,
        record.topic,
        record.emotion,
        record.confidence,
        record.importance,
        record.source.message_id,
        record.source.sequence,
        record.source.round,
        as_json(&record.entities)?,
        as_json(&record.tags)?,
        as_json(&record.derived_from)?,
        as_json(&SortedJson(&record.metadata))?,
        record.text,
        record.pinned,
        record.expires_at.map(Timestamp::as_micros),
    ])?;
    Ok(())
}

fn as_json(value: &impl Serialize) -> Result<String, SqliteError> {
    serde_json::to_string(value).map_err(|error| {
        Error::new(ErrorKind::Internal, "put", "a field cannot be written as JSON").with_source(error).into()
    })
}

/// Removes a record. The caller has removed its index entries and derivations.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<(), SqliteError> {
    connection.prepare_cached("DELETE FROM records WHERE record = ?1")?.execute([row])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_selected_in_the_order_of_the_enum() {
        let columns: Vec<String> =
            columns!().split(", r.").map(|name| name.replace("r.", "").replace('_', "")).collect();
        let last = Column::Metadata as usize;
        assert_eq!(columns.len(), last + 1);
        let order = [
            Column::Record,
            Column::Id,
            Column::Kind,
            Column::Text,
            Column::Role,
            Column::Speaker,
            Column::Scene,
            Column::Topic,
            Column::Emotion,
            Column::MessageId,
            Column::Sequence,
            Column::Round,
            Column::Confidence,
            Column::Importance,
            Column::OccurredAt,
            Column::RecordedAt,
            Column::ValidFrom,
            Column::ValidUntil,
            Column::Trust,
            Column::State,
            Column::Pinned,
            Column::ExpiresAt,
            Column::Revision,
            Column::Entities,
            Column::Tags,
            Column::DerivedFrom,
            Column::Metadata,
        ];
        for (name, column) in columns.iter().zip(order) {
            assert_eq!(*name, format!("{column:?}").to_lowercase());
        }
    }
}
