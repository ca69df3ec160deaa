//! Reads and writes the rows of a backup.

use std::sync::LazyLock;

use memory_engine_core::Scope;
use memory_engine_sql::{
    backup::{BackupRow, BackupTable, Cell, CellType, Column, RowContent, RowOwner},
    rows::{LEASE_DEAD, LEASE_FREE},
};
use rusqlite::{
    Connection, Row, params_from_iter,
    types::{Value, ValueRef},
};

use crate::{
    database::error::SqliteError,
    records::derivations,
    rows::{
        row::{self, selected},
        scopes,
    },
};

/// The number of columns of a scope: tenant, user, agent, session and branch.
const SCOPE_COLUMNS: usize = 5;

/// Returns the statement that selects the rows of a table: five columns of the scope, the id of the record if the row
/// belongs to one, and the columns of the table.
fn select(table: BackupTable) -> String {
    if table == BackupTable::Records {
        return selected!("").to_owned();
    }
    let owner = match table.owner() {
        RowOwner::Database => "'', '', '', '', ''",
        RowOwner::Namespace => "t.name, n.user, '', '', ''",
        RowOwner::Scope => "t.name, n.user, s.agent, s.session, s.branch",
        RowOwner::Record => "t.name, n.user, '', '', '', r.id",
    };
    let joined = match table.owner() {
        RowOwner::Database => "",
        RowOwner::Namespace => " JOIN namespaces n ON n.namespace = x.namespace",
        RowOwner::Scope => " JOIN scopes s ON s.scope = x.scope JOIN namespaces n ON n.namespace = x.namespace",
        RowOwner::Record => " JOIN records r ON r.record = x.record JOIN namespaces n ON n.namespace = r.namespace",
    };
    let tenants = if joined.is_empty() { "" } else { " JOIN tenants t ON t.tenant = n.tenant" };
    let columns: String = table.columns().iter().map(|column| format!(", {}", selected_value(column))).collect();
    let (name, condition) = (table.name(), table.condition());
    // Restored rows get their numbers in the order in which they are written.
    let orders = [(BackupTable::Relations, " ORDER BY x.edge"), (BackupTable::Jobs, " ORDER BY x.ticket")];
    let order = orders.into_iter().find(|(ordered, _)| *ordered == table).map_or("", |(_, order)| order);
    format!("SELECT {owner}{columns} FROM {name} x{joined}{tenants}{condition}{order}")
}

/// Returns the SQL of the cell of a column.
fn selected_value(column: &Column) -> String {
    let name = column.name;
    match column.cell {
        CellType::PackedTerms => format!("CAST(x.{name} AS BLOB)"),
        CellType::TextList => format!("json(x.{name})"),
        CellType::Position => "row_number() OVER (PARTITION BY x.record ORDER BY x.edge) - 1".to_owned(),
        CellType::DeadLetterFlag => format!("x.{name} = {LEASE_DEAD}"),
        CellType::Integer
        | CellType::Boolean
        | CellType::Text
        | CellType::Bytes
        | CellType::Id
        | CellType::Vector
        | CellType::IdList => format!("x.{name}"),
    }
}

/// The statements that insert a row of each table, in the order of [`BackupTable::ALL`].
static INSERTS: LazyLock<Vec<String>> = LazyLock::new(|| BackupTable::ALL.iter().copied().map(insert).collect());

/// Returns the statement that inserts a row of a table other than `records`. `?1` and `?2` are the numbers of the
/// namespace and the scope; the cells follow.
fn insert(table: BackupTable) -> String {
    // The tables that searches read repeat the id or the scope of the record, so that a search joins no other table.
    let (owner, owner_values): (&[&str], &[&str]) = match (table.owner(), table) {
        (RowOwner::Database, _) => (&[], &[]),
        (RowOwner::Namespace, _) => (&["namespace"], &["?1"]),
        (RowOwner::Scope, _) => (&["namespace", "scope"], &["?1", "?2"]),
        (RowOwner::Record, BackupTable::Tokens | BackupTable::SecondTokens | BackupTable::Jobs) => {
            (&["record"], &["r.record"])
        }
        (RowOwner::Record, BackupTable::Terms | BackupTable::Vectors | BackupTable::SecondVectors) => {
            (&["record", "id", "scope"], &["r.record", "r.id", "r.scope"])
        }
        (RowOwner::Record, _) => (&["record", "scope"], &["r.record", "r.scope"]),
    };
    let is_of_record = table.owner() == RowOwner::Record;
    let first = if is_of_record { 4 } else { 3 };
    let mut names: Vec<&str> = owner.to_vec();
    let mut values: Vec<String> = owner_values.iter().map(|value| (*value).to_owned()).collect();
    for (parameter, column) in (first..).zip(table.columns()) {
        values.push(match column.cell {
            CellType::Position => continue,
            CellType::PackedTerms => format!("CAST(?{parameter} AS TEXT)"),
            CellType::DeadLetterFlag => format!("CASE WHEN ?{parameter} THEN {LEASE_DEAD} ELSE {LEASE_FREE} END"),
            CellType::Integer
            | CellType::Boolean
            | CellType::Text
            | CellType::Bytes
            | CellType::Id
            | CellType::Vector
            | CellType::TextList
            | CellType::IdList => format!("?{parameter}"),
        });
        names.push(column.name);
    }
    let (name, names, values) = (table.name(), names.join(", "), values.join(", "));
    let source = if is_of_record { " FROM records r WHERE r.id = ?3 AND r.namespace = ?1" } else { "" };
    // A new store has metadata already.
    let verb = if table == BackupTable::IndexMetadata { "INSERT OR REPLACE" } else { "INSERT" };
    format!("{verb} INTO {name} ({names}) SELECT {values}{source}")
}

/// Reads all rows of a file of the current schema, table by table.
pub(crate) fn read(
    connection: &Connection,
    mut sink: impl FnMut(BackupRow) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    for table in BackupTable::ALL.iter().copied() {
        let mut statement = connection.prepare(&select(table))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            sink(read_row(table, row, columns)?)?;
        }
    }
    Ok(())
}

fn read_row(table: BackupTable, row: &Row<'_>, columns: usize) -> Result<BackupRow, SqliteError> {
    if table == BackupTable::Records {
        let record = row::read(row)?.record;
        return Ok(BackupRow { table, scope: None, content: RowContent::Record(Box::new(record)) });
    }
    let has_scope = !row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?.is_empty();
    let scope = has_scope.then(|| scopes::read(row)).transpose()?;
    let cells = (SCOPE_COLUMNS..columns).map(|column| cell(row.get_ref(column)?));
    Ok(BackupRow { table, scope, content: RowContent::Cells(cells.collect::<Result<_, _>>()?) })
}

fn cell(value: ValueRef<'_>) -> Result<Cell, SqliteError> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(_) => return Err(SqliteError::corrupt("a number with a fraction")),
        ValueRef::Text(_) => Cell::Text(value.as_str().map_err(rusqlite::Error::from)?.to_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    })
}

/// Writes a row into an empty file of the current schema.
pub(crate) fn write(connection: &Connection, row: BackupRow) -> Result<(), SqliteError> {
    let cells = match row.content {
        RowContent::Record(record) => {
            let address = scopes::get_or_create(connection, &record.scope)?;
            let number = row::insert(connection, address, &record)?;
            return derivations::insert(connection, address.namespace, number, &record);
        }
        RowContent::Cells(cells) => cells,
    };
    let address = row.scope.as_ref().map(|scope: &Scope| scopes::get_or_create(connection, scope)).transpose()?;
    let number = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
    let owner = [number(address.map(|address| address.namespace)), number(address.map(|address| address.scope))];
    let values = cells.into_iter().map(|cell| match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(number),
        Cell::Text(text) => Value::Text(text),
        Cell::Bytes(bytes) => Value::Blob(bytes),
    });
    let parameters = params_from_iter(owner.into_iter().chain(values));
    connection.prepare_cached(&INSERTS[row.table as usize])?.execute(parameters)?;
    Ok(())
}
