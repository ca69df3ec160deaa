//! Reads and writes the rows of the table `records`.

use std::sync::LazyLock;

use memory_engine_core::{Cursor, DamagedRecord, Kind, Record, RecordId, Role, Scope, State, Timestamp, Trust};
use memory_engine_sql::{indexed, record_columns, rows::ScannedRow};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params, params_from_iter, types::ToSqlOutput};
use serde_json::{Map, Value};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::{
        field::SqliteField,
        scopes::{self, CoveredScope, RecordAddress},
    },
};

/// A record with the number of its row.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    /// Number of the row.
    pub(crate) row: i64,
    /// The record.
    pub(crate) record: Record,
}

/// Generates what reads and writes the fields of a record from the description of their columns. A row is read by
/// positions: looking up each column by name costs more than reading it.
macro_rules! fields {
    ($($column:ident: $type:ty = $($field:ident).+),* $(,)?) => {
        /// The columns of the fields.
        const FIELD_COLUMNS: &[&str] = &[$(stringify!($column)),*];

        /// Reads the fields from the columns from `first` on. The error is the name of a column that cannot be read.
        fn read_fields(row: &Row<'_>, first: usize, record: &mut Record) -> Result<(), &'static str> {
            let mut index = first;
            $(
                let value = row.get_ref(index).ok().and_then(<$type as SqliteField>::read);
                record.$($field).+ = value.ok_or(stringify!($column))?;
                index += 1;
            )*
            debug_assert_eq!(index, first + FIELD_COLUMNS.len());
            Ok(())
        }

        /// Returns the values of the fields, in the order of [`FIELD_COLUMNS`].
        fn field_values(record: &Record) -> Result<Vec<ToSqlOutput<'_>>, SqliteError> {
            Ok(vec![$(SqliteField::write(&record.$($field).+)?),*])
        }
    };
}
record_columns!(fields);

/// The number of a row of `records`, the id, and the [`FIELD_COLUMNS`].
macro_rules! columns {
    () => {
        memory_engine_sql::record_columns!($crate::rows::row::joined_columns)
    };
}
pub(crate) use columns;

macro_rules! joined_columns {
    ($($column:ident: $type:ty = $($field:ident).+),* $(,)?) => {
        concat!("r.record, r.id" $(, ", r.", stringify!($column))*)
    };
}
pub(crate) use joined_columns;

/// The number of columns before the fields in [`columns!`]: the row and the id.
const KEY_COLUMNS: usize = 2;

/// The number of columns before [`columns!`] in a row of [`selected!`].
const ADDRESS_COLUMNS: usize = 8;

/// Selects the columns of records `r` with their scope, up to the joins. `$before` is a table and the
/// join that follows it; `$more` are further columns, each with a preceding comma.
macro_rules! selected {
    ($before:literal) => {
        selected!($before, "")
    };
    ($before:literal, $more:literal) => {
        concat!(
            "SELECT t.name, n.user, s.agent, s.session, s.branch, t.tenant, n.namespace, s.scope, ",
            $crate::rows::row::columns!(),
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
    let scope =
        scopes::read(row).map_err(|_| DamagedRecord::new(readable_id_of(row, ADDRESS_COLUMNS), "scopes", "scope"))?;
    let record = content(row, ADDRESS_COLUMNS, scope)?;
    let number = row.get(ADDRESS_COLUMNS).map_err(|_| DamagedRecord::new(record.id, "records", "record"))?;
    Ok(StoredRecord { row: number, record })
}

/// Reads a row of [`selected!`] for a page.
pub(crate) fn scanned(row: &Row<'_>) -> ScannedRow {
    match read(row) {
        Ok(stored) => ScannedRow::Record(Box::new(stored.record)),
        Err(damaged) => ScannedRow::Damaged(damaged, position(row)),
    }
}

/// Returns the position of the record in a row of [`selected!`], if it can be read.
fn position(row: &Row<'_>) -> Option<Cursor> {
    let id = RecordId::from_bytes(row.get(ADDRESS_COLUMNS + 1).ok()?);
    let occurred_at = row.get("occurred_at").ok().map(Timestamp::from_micros)?;
    let sequence = row.get::<_, Option<i64>>("sequence").ok()?.unwrap_or(0);
    Some(Cursor { occurred_at, sequence, id })
}

/// Reads the record of this scope whose [`columns!`] begin at column `first`.
pub(crate) fn content(row: &Row<'_>, first: usize, scope: Scope) -> Result<Record, DamagedRecord> {
    let id = readable_id_of(row, first);
    let damage = |column| DamagedRecord::new(id, "records", column);
    let id = row.get(first + 1).map(RecordId::from_bytes).map_err(|_| damage("id"))?;
    let mut record = Record::with_id(id, scope, Kind::TURN, String::new(), Timestamp::from_micros(0));
    read_fields(row, first + KEY_COLUMNS, &mut record).map_err(damage)?;
    Ok(record)
}

/// Returns the id of the record whose [`columns!`] begin at column `first`; of a damaged id, what there is of its
/// bytes.
fn readable_id_of(row: &Row<'_>, first: usize) -> RecordId {
    let value = row.get_ref(first + 1).ok();
    readable_id(value.and_then(|value| value.as_bytes().ok()).unwrap_or_default())
}

/// Returns the id with these bytes. Missing bytes of a damaged id are 0, and further bytes are ignored.
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
    statement.read_all(connection, |row| Ok(row.get(0)?))
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
            // A revision that cannot be read is 0, which no stored record has: it equals no other one.
            revision: row.get("revision").unwrap_or_default(),
            indexed: row.get("indexed")?,
        })
    };
    connection.prepare_cached(sql)?.query_row(params![id.as_bytes(), namespace], read).optional()
}

/// Stores a new record. Returns its row.
pub(crate) fn insert(connection: &Connection, address: RecordAddress, record: &Record) -> Result<i64, SqliteError> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let parameters = vec!["?"; FIELD_COLUMNS.len()].join(", ");
        let columns = FIELD_COLUMNS.join(", ");
        format!("INSERT INTO records (namespace, scope, id, {columns}) VALUES (?, ?, ?, {parameters})")
    });
    write(connection, &SQL, address, record)?;
    Ok(connection.last_insert_rowid())
}

/// Overwrites the stored record of the same id and address.
pub(crate) fn replace(connection: &Connection, address: RecordAddress, record: &Record) -> Result<(), SqliteError> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let set: Vec<String> = (4..).zip(FIELD_COLUMNS).map(|(n, column)| format!("{column} = ?{n}")).collect();
        format!("UPDATE records SET {} WHERE namespace = ?1 AND scope = ?2 AND id = ?3", set.join(", "))
    });
    write(connection, &SQL, address, record)
}

/// Executes a statement with the parameters namespace, scope, id, and the values of the fields.
fn write(connection: &Connection, sql: &str, address: RecordAddress, record: &Record) -> Result<(), SqliteError> {
    let key: [&dyn ToSql; 3] = [&address.namespace, &address.scope, record.id.as_bytes()];
    let values = field_values(record)?;
    let values = key.into_iter().chain(values.iter().map(|value| value as &dyn ToSql));
    connection.prepare_cached(sql)?.execute(params_from_iter(values))?;
    Ok(())
}

/// Removes a record. The caller has removed its index entries and derivations.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<(), SqliteError> {
    connection.prepare_cached("DELETE FROM records WHERE record = ?1")?.execute([row])?;
    Ok(())
}
