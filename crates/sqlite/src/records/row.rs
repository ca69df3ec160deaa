//! Reads and writes the rows of the table `records`.

use memory_engine_core::{
    Cursor, DamagedRecord, Error, ErrorKind, Kind, Record, RecordId, Role, Scope, SortedJson, Source, Timestamp,
};
use memory_engine_sql::{indexed, rows::ScannedRow};
use rusqlite::{Connection, OptionalExtension, Row, params, types::FromSql};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    database::error::SqliteError,
    database::statement::Statement,
    records::scopes::{self, CoveredScope, RecordAddress},
};

/// A record with the number of its row.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    /// Number of the row.
    pub(crate) row: i64,
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
pub(crate) fn read(row: &Row<'_>) -> Result<StoredRecord, DamagedRecord> {
    let values = RecordValues { row, first: ADDRESS_COLUMNS };
    let scope = scopes::read(row).map_err(|_| DamagedRecord::new(values.id(), "scopes", "scope"))?;
    let number = values.get(Column::Record).map_err(|column| values.damage(column))?;
    Ok(StoredRecord { row: number, record: content(row, ADDRESS_COLUMNS, scope)? })
}

/// Reads a row of [`selected!`] for a page.
pub(crate) fn scanned(row: &Row<'_>) -> ScannedRow {
    match read(row) {
        Ok(stored) => ScannedRow::Record(Box::new(stored.record)),
        Err(damaged) => {
            let position = RecordValues { row, first: ADDRESS_COLUMNS }.position();
            ScannedRow::Damaged(damaged, position.ok())
        }
    }
}

/// Reads the record of this scope whose [`columns!`] begin at column `first`.
pub(crate) fn content(row: &Row<'_>, first: usize, scope: Scope) -> Result<Record, DamagedRecord> {
    let values = RecordValues { row, first };
    values.record(scope).map_err(|column| values.damage(column))
}

/// The values of the [`columns!`] of a row. A value that cannot be read is named by its column.
struct RecordValues<'r> {
    row: &'r Row<'r>,
    first: usize,
}

impl RecordValues<'_> {
    fn record(&self, scope: Scope) -> Result<Record, Column> {
        let id = RecordId::from_bytes(self.get(Column::Id)?);
        let kind = Kind::new(self.get::<String>(Column::Kind)?);
        let mut record = Record::with_id(id, scope, kind, self.get(Column::Text)?, self.time(Column::OccurredAt)?);
        record.role = self.get::<Option<String>>(Column::Role)?.map(Role::new);
        record.speaker = self.get(Column::Speaker)?;
        record.scene = self.get(Column::Scene)?;
        record.topic = self.get(Column::Topic)?;
        record.emotion = self.get(Column::Emotion)?;
        record.source = Source {
            message_id: self.get(Column::MessageId)?,
            sequence: self.get(Column::Sequence)?,
            round: self.get(Column::Round)?,
        };
        record.confidence = self.get(Column::Confidence)?;
        record.importance = self.get(Column::Importance)?;
        record.recorded_at = self.time(Column::RecordedAt)?;
        record.valid_from = self.optional_time(Column::ValidFrom)?;
        record.valid_until = self.optional_time(Column::ValidUntil)?;
        record.trust = self.text(Column::Trust)?.parse().map_err(|_| Column::Trust)?;
        record.state = self.text(Column::State)?.parse().map_err(|_| Column::State)?;
        record.pinned = self.get(Column::Pinned)?;
        record.expires_at = self.optional_time(Column::ExpiresAt)?;
        record.revision = self.get(Column::Revision)?;
        record.entities = self.json(Column::Entities)?;
        record.tags = self.json(Column::Tags)?;
        record.derived_from = self.json(Column::DerivedFrom)?;
        record.metadata = self.json(Column::Metadata)?;
        Ok(record)
    }

    fn get<T: FromSql>(&self, column: Column) -> Result<T, Column> {
        self.row.get(self.first + column as usize).map_err(|_| column)
    }

    fn text(&self, column: Column) -> Result<&str, Column> {
        let value = self.row.get_ref(self.first + column as usize).map_err(|_| column)?;
        value.as_str().map_err(|_| column)
    }

    fn time(&self, column: Column) -> Result<Timestamp, Column> {
        self.get(column).map(Timestamp::from_micros)
    }

    fn optional_time(&self, column: Column) -> Result<Option<Timestamp>, Column> {
        Ok(self.get::<Option<i64>>(column)?.map(Timestamp::from_micros))
    }

    fn json<T: DeserializeOwned + Default>(&self, column: Column) -> Result<T, Column> {
        match self.text(column)? {
            "[]" | "{}" => Ok(T::default()),
            text => serde_json::from_str(text).map_err(|_| column),
        }
    }

    /// Returns the position of the record.
    fn position(&self) -> Result<Cursor, Column> {
        let id = RecordId::from_bytes(self.get(Column::Id)?);
        let sequence = self.get::<Option<i64>>(Column::Sequence)?.unwrap_or(0);
        Ok(Cursor { occurred_at: self.time(Column::OccurredAt)?, sequence, id })
    }

    /// Returns the id of the record; of a damaged id, what there is of its bytes.
    fn id(&self) -> RecordId {
        let value = self.row.get_ref(self.first + Column::Id as usize);
        readable_id(value.ok().and_then(|value| value.as_bytes().ok()).unwrap_or_default())
    }

    fn damage(&self, column: Column) -> DamagedRecord {
        let name = columns!().split(", ").nth(column as usize).unwrap_or_default();
        DamagedRecord::new(self.id(), "records", name.trim_start_matches("r."))
    }
}

/// Returns the id with these bytes, of which a damage may have changed the number.
pub(crate) fn readable_id(bytes: &[u8]) -> RecordId {
    let mut id = [0; 16];
    let length = bytes.len().min(id.len());
    id[..length].copy_from_slice(&bytes[..length]);
    RecordId::from_bytes(id)
}

/// Returns the numbers of the rows of the covered records of this id.
pub(crate) fn find_rows(
    connection: &Connection,
    covered: &CoveredScope,
    id: RecordId,
) -> Result<Vec<i64>, SqliteError> {
    let mut statement =
        Statement::new("SELECT r.record FROM records r CROSS JOIN scopes s ON s.scope = r.scope WHERE r.id = ");
    statement.bind(id.as_bytes().to_vec()).push(" AND ");
    covered.push_condition_for_scope(&mut statement);
    let (mut prepared, values) = statement.prepare(connection)?;
    Ok(prepared.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Returns the record of this id in a namespace.
pub(crate) fn find(connection: &Connection, namespace: i64, id: RecordId) -> Result<Option<StoredRecord>, SqliteError> {
    let sql = concat!(selected!(""), "WHERE r.id = ?1 AND r.namespace = ?2");
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![id.as_bytes(), namespace])?;
    Ok(rows.next()?.map(read).transpose()?)
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
            // No item of a queue and no precondition has the revision 0.
            revision: row.get("revision").unwrap_or_default(),
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
