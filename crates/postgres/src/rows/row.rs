//! Reads and writes rows of the table `records`.

use std::{collections::BTreeMap, sync::LazyLock};

use memory_engine_core::{Cursor, DamagedRecord, Kind, Record, RecordId, Role, Scope, State, Timestamp, Trust, text};
use memory_engine_sql::{indexed, record_columns, rows::ScannedRow};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};
use sqlx::{AssertSqlSafe, PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::{
        field::PostgresField,
        scopes::{self, CoveredScope, record_id, uuid, uuids},
    },
};

/// SQL of the columns of a record `r`, its namespace `n` and its row `a` of `scopes`.
macro_rules! columns_with_owner {
    () => {
        concat!("n.tenant, n.username, ", $crate::rows::row::columns_without_owner!())
    };
}
pub(crate) use columns_with_owner;

/// SQL of the columns of a record `r` and its row `a` of `scopes`, without the names in its namespace.
macro_rules! columns_without_owner {
    () => {
        memory_engine_sql::record_columns!($crate::rows::row::joined_columns)
    };
}
pub(crate) use columns_without_owner;

macro_rules! joined_columns {
    ($($column:ident: $type:ty = $($field:ident).+),* $(,)?) => {
        concat!("a.agent, a.session, a.branch, r.namespace, r.id" $(, ", r.", stringify!($column))*)
    };
}
pub(crate) use joined_columns;

/// Generates what reads and writes the fields of a record from the description of their columns.
macro_rules! fields {
    ($($column:ident: $type:ty = $($field:ident).+),* $(,)?) => {
        /// The columns of the fields, each with its type.
        const FIELD_COLUMNS: &[(&str, &str)] = &[$((stringify!($column), <$type as PostgresField>::TYPE)),*];

        /// Reads the fields. The error is the name of a column that cannot be read.
        fn read_fields(row: &PgRow, record: &mut Record) -> Result<(), &'static str> {
            $(
                let value = <$type as PostgresField>::read(row, stringify!($column));
                record.$($field).+ = value.ok_or(stringify!($column))?;
            )*
            Ok(())
        }

        /// Writes the fields as entries of a JSON object.
        fn write_fields<S: SerializeMap>(record: &Record, row: &mut S) -> Result<(), S::Error> {
            $(row.serialize_entry(stringify!($column), &record.$($field).+.to_json())?;)*
            Ok(())
        }
    };
}
record_columns!(fields);

/// SQL that looks up the record of each hit `h` as `y`.
///
/// `OFFSET 0` makes the planner look up each record by its key. Otherwise it may read all records of a user, since it
/// expects few.
const JOIN_RECORDS: &str = " LEFT JOIN LATERAL (
        SELECT {columns} FROM records r{join_namespaces}
        JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope
        WHERE r.namespace = h.namespace AND r.id = h.id{namespace} OFFSET 0
    ) y ON true";

/// Appends a join that adds the record of each hit `h` as `y`: all columns if `reads_records`, otherwise the namespace
/// and the id. `push_columns` appends further columns of `y`, each with a preceding comma.
pub(crate) fn push_join_records(
    scope: &Scope,
    covered: &CoveredScope,
    reads_records: bool,
    statement: &mut StatementBuilder,
    push_columns: impl Fn(&mut StatementBuilder),
) {
    statement.push_template(JOIN_RECORDS, |part, statement| match (part, scope.user_name()) {
        ("columns", _) if !reads_records => push_columns(statement.push("r.namespace, r.id")),
        ("columns", _) => {
            push_record_columns(scope, statement);
            push_columns(statement);
        }
        ("join_namespaces", None) if reads_records => {
            statement.push(" JOIN namespaces n ON n.namespace = r.namespace");
        }
        ("join_namespaces", _) => {}
        ("namespace", _) => covered.push_joined_namespace_condition("r", statement),
        (unknown, _) => statement.refuse(unknown),
    });
}

/// Appends the columns of a record `r` within `scope`. It needs the address `a`, and for a tenant the namespace `n`.
/// The names of one user are bound, since looking them up for each hit would take time.
fn push_record_columns(scope: &Scope, statement: &mut StatementBuilder) {
    match scope.user_name() {
        None => drop(statement.push(columns_with_owner!())),
        Some(user) => {
            statement.bind(scope.tenant().to_owned()).push("::text AS tenant, ");
            statement.bind(user.to_owned()).push(concat!("::text AS username, ", columns_without_owner!()));
        }
    }
}

/// Appends the selection of records within `scope`, up to the conditions, with further columns and joined tables.
pub(crate) fn push_select_records(
    scope: &Scope,
    more_columns: &'static str,
    more_tables: &'static str,
    statement: &mut StatementBuilder,
) {
    push_record_columns(scope, statement.push("SELECT "));
    statement.push(more_columns).push(" FROM records r");
    if scope.user_name().is_none() {
        statement.push(" JOIN namespaces n ON n.namespace = r.namespace");
    }
    statement.push(" JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope").push(more_tables);
}

/// SQL that selects the columns of records, up to the conditions. `$from` must provide the table alias `r`.
macro_rules! select_records {
    ($from:literal) => {
        select_records!($from, "")
    };
    ($from:literal, $more:literal) => {
        concat!(
            "SELECT ",
            $crate::rows::row::columns_with_owner!(),
            $more,
            " FROM ",
            $from,
            " JOIN namespaces n ON n.namespace = r.namespace
                JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope "
        )
    };
}
pub(crate) use select_records;

/// A record with its namespace.
#[derive(Debug)]
pub(crate) struct StoredRecord {
    pub(crate) namespace: Uuid,
    pub(crate) record: Record,
}

/// Reads a row with `columns_with_owner!`.
pub(crate) fn read(row: &PgRow) -> Result<StoredRecord, DamagedRecord> {
    let id = record_id(row.try_get("id").unwrap_or_default());
    let scope = scopes::read(row).map_err(|_| DamagedRecord::new(id, "scopes", "scope"))?;
    let mut record = Record::with_id(id, scope, Kind::TURN, String::new(), Timestamp::from_micros(0));
    read_fields(row, &mut record).map_err(|column| DamagedRecord::new(id, "records", column))?;
    Ok(StoredRecord { namespace: row.try_get("namespace").unwrap_or_default(), record })
}

/// Reads a row with `columns_with_owner!` for a page.
pub(crate) fn scanned(row: &PgRow) -> ScannedRow {
    match read(row) {
        Ok(stored) => ScannedRow::Record(Box::new(stored.record)),
        Err(damaged) => {
            let position = position(row, damaged.id);
            ScannedRow::Damaged(damaged, position)
        }
    }
}

/// Returns the position of a record, if it can be read.
fn position(row: &PgRow, id: RecordId) -> Option<Cursor> {
    let occurred_at = row.try_get("occurred_at").ok().map(Timestamp::from_micros)?;
    let sequence = row.try_get::<Option<i64>, _>("sequence").ok()?.unwrap_or(0);
    Some(Cursor { occurred_at, sequence, id })
}

/// Returns the records with these ids in a scope, ordered by user. Two users may have records with the same id.
pub(crate) async fn find(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<Vec<StoredRecord>, PostgresError> {
    let mut statement = StatementBuilder::new(concat!(select_records!("records r"), "WHERE r.id = ANY ("));
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_joined_record_condition(&mut statement);
    statement.push(" ORDER BY n.username");
    statement.fetch_all(connection).await?.iter().map(|row| Ok(read(row)?)).collect()
}

/// Returns the values of the rows of the records with these ids in a scope, by column.
pub(crate) async fn raw(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<Vec<Value>, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT row_to_json(x)::text AS raw FROM (
            SELECT n.tenant, n.username AS \"user\", a.agent, a.session, a.branch, r.*
            FROM records r JOIN namespaces n ON n.namespace = r.namespace
            LEFT JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope WHERE r.id = ANY (",
    );
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_joined_record_condition(&mut statement);
    statement.push(") x");
    let raw = |row: &PgRow| {
        let raw: String = row.try_get("raw")?;
        // The metadata may have a number that is not one of this program.
        Ok(serde_json::from_str(&raw).unwrap_or(Value::String(raw)))
    };
    statement.fetch_all(connection).await?.iter().map(raw).collect()
}

/// Returns the ids of the existing records with these ids in a scope, by namespace.
pub(crate) async fn ids_by_namespace(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<BTreeMap<Uuid, Vec<Uuid>>, PostgresError> {
    let mut statement = StatementBuilder::new("SELECT r.namespace, r.id FROM records r WHERE r.id = ANY (");
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_row_condition("r", &mut statement);
    let mut ids_by_namespace: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
    for row in statement.fetch_all(connection).await? {
        ids_by_namespace.entry(row.try_get("namespace")?).or_default().push(row.try_get("id")?);
    }
    Ok(ids_by_namespace)
}

/// The current revision of a record, which is checked before an index entry is stored.
#[derive(Debug)]
pub(crate) struct CurrentRevision {
    pub(crate) id: RecordId,
    address: Uuid,
    pub(crate) revision: u64,
    pub(crate) is_indexed: bool,
}

impl CurrentRevision {
    /// Returns true if `record` is the current revision, and records in its state are indexed.
    pub(crate) fn matches(&self, record: &Record) -> bool {
        self.is_indexed && self.revision == record.revision && self.address == scopes::address(&record.scope)
    }
}

/// Returns the current revisions of the records with these ids in a namespace.
pub(crate) async fn current_revisions(
    connection: &mut PgConnection,
    namespace: Uuid,
    ids: &[RecordId],
) -> Result<Vec<CurrentRevision>, PostgresError> {
    let sql = concat!(
        "SELECT r.id, r.scope, r.revision, ",
        indexed!(),
        " AS indexed FROM records r WHERE r.namespace = $1 AND r.id = ANY ($2)"
    );
    let rows = sqlx::query(sql).bind(namespace).bind(uuids(ids)).fetch_all(connection).await?;
    let read = |row: &PgRow| {
        let revision = u64::try_from(row.try_get::<i64, _>("revision")?).unwrap_or_default();
        Ok(CurrentRevision {
            id: record_id(row.try_get("id")?),
            address: row.try_get("scope")?,
            revision,
            is_indexed: row.try_get("indexed")?,
        })
    };
    rows.iter().map(read).collect()
}

/// Returns the records with these keys: `namespace` and `ids` hold the namespace and the id of each.
pub(crate) async fn find_by_keys(
    connection: &mut PgConnection,
    namespace: &[Uuid],
    ids: &[Uuid],
) -> Result<Vec<StoredRecord>, PostgresError> {
    let sql = select_records!(
        "unnest($1::uuid[], $2::uuid[]) k (namespace, id) JOIN records r ON r.namespace = k.namespace AND r.id = k.id"
    );
    let rows = sqlx::query(sql).bind(namespace).bind(ids).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(read(row)?)).collect()
}

/// A record in the JSON parameter of the statements below.
struct RecordRow<'r>(&'r Record);

/// The columns of a row beside those of the fields, each with its type.
const KEY_COLUMNS: [(&str, &str); 5] =
    [("namespace", "uuid"), ("id", "uuid"), ("scope", "uuid"), ("folded", "text"), ("content_hash", "bytea")];

impl Serialize for RecordRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(record) = self;
        let folded = text::normalize(&record.text);
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("namespace", &scopes::namespace(&record.scope))?;
        row.serialize_entry("id", &uuid(record.id))?;
        row.serialize_entry("scope", &scopes::address(&record.scope))?;
        row.serialize_entry("folded", &(folded != record.text).then_some(folded))?;
        row.serialize_entry("content_hash", &format!("\\x{}", record.content_hash()))?;
        write_fields(record, &mut row)?;
        row.end()
    }
}

/// Returns the columns of a [`RecordRow`], each with its type.
fn row_columns() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    KEY_COLUMNS.iter().chain(FIELD_COLUMNS)
}

/// Returns SQL that reads the JSON rows in a parameter as a table `x`.
fn json_rows(parameter: &str) -> String {
    let columns: Vec<String> = row_columns().map(|(name, of_type)| format!("{name} {of_type}")).collect();
    format!("json_to_recordset({parameter}::json) AS x ({})", columns.join(", "))
}

/// Returns SQL that inserts the JSON rows in a parameter as new records.
pub(crate) fn insert_records(parameter: &str) -> String {
    let columns: Vec<&str> = row_columns().map(|(name, _)| *name).collect();
    format!("INSERT INTO records ({}) SELECT x.* FROM {}", columns.join(", "), json_rows(parameter))
}

static INSERT_RECORDS: LazyLock<String> = LazyLock::new(|| insert_records("$1::text"));

static REPLACE_RECORDS: LazyLock<String> = LazyLock::new(|| {
    let written = row_columns().filter(|(name, _)| !["namespace", "id", "scope"].contains(name));
    let set: Vec<String> = written.map(|(name, _)| format!("{name} = x.{name}")).collect();
    format!(
        "UPDATE records r SET {} FROM {} WHERE r.namespace = $2 AND x.namespace = $2 AND r.id = x.id",
        set.join(", "),
        json_rows("$1::text"),
    )
});

/// Inserts new records of any number of namespaces. Their addresses must exist.
pub(crate) async fn insert(connection: &mut PgConnection, chunks: Vec<String>) -> Result<(), PostgresError> {
    for chunk in chunks {
        sqlx::query(AssertSqlSafe(INSERT_RECORDS.as_str())).bind(chunk).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Replaces existing records of a namespace.
pub(crate) async fn replace(
    connection: &mut PgConnection,
    namespace: Uuid,
    records: &[&Record],
) -> Result<(), PostgresError> {
    for chunk in json_chunks(records)? {
        sqlx::query(AssertSqlSafe(REPLACE_RECORDS.as_str()))
            .bind(chunk)
            .bind(namespace)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Size in bytes at which the rows of one statement are complete.
const CHUNK_BYTES: usize = 8 << 20;

/// Encodes records as JSON arrays, one for each statement.
pub(crate) fn json_chunks(records: &[&Record]) -> Result<Vec<String>, PostgresError> {
    let mut chunks = Vec::new();
    let mut chunk = String::new();
    for (i, record) in records.iter().enumerate() {
        chunk.push(if chunk.is_empty() { '[' } else { ',' });
        let row = serde_json::to_string(&RecordRow(record));
        chunk.push_str(&row.map_err(|_| PostgresError::corrupt("a field that cannot be encoded as JSON"))?);
        if chunk.len() > CHUNK_BYTES || i + 1 == records.len() {
            chunk.push(']');
            chunks.push(std::mem::take(&mut chunk));
        }
    }
    Ok(chunks)
}

/// Deletes records. Foreign keys delete the rows that refer to them. Returns the kind of each deleted record.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    namespace: Uuid,
    ids: &[Uuid],
) -> Result<Vec<String>, PostgresError> {
    let sql = "DELETE FROM records r WHERE r.namespace = $1 AND r.id = ANY ($2) RETURNING r.kind";
    Ok(sqlx::query_scalar(sql).bind(namespace).bind(ids).fetch_all(connection).await?)
}
