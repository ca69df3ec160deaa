//! Reads and writes the rows of a backup.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Record, Scope, Terms, packed_terms};
use memory_engine_sql::{
    backup::{BackupRow, BackupTable, Cell, CellType, Column, RowContent, RowOwner},
    rows::{self, LEASE_DEAD, LEASE_FREE},
};
use pgvector::Vector;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Column as _, PgConnection, Row, TypeInfo, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    keywords::{keyword_rows, lexeme::LexemeOwner},
    rows::{
        namespaces,
        row::{self, select_records},
        scopes,
    },
};

/// The number of columns of a scope: tenant, user, agent, session and branch.
const SCOPE_COLUMNS: usize = 5;

/// Returns the statement that selects the rows of a table: five columns of the scope, the id of the record if the row
/// belongs to one, and the columns of the table.
pub(super) fn select(table: BackupTable) -> String {
    if table == BackupTable::Records {
        return select_records!("records r").to_owned();
    }
    let (owner, joined) = match table.owner() {
        RowOwner::Database => ("'' AS tenant, '' AS username, '' AS agent, '' AS session, '' AS branch", ""),
        RowOwner::Namespace | RowOwner::Record => (
            "n.tenant, n.username, '' AS agent, '' AS session, '' AS branch",
            " JOIN namespaces n ON n.namespace = x.namespace",
        ),
        RowOwner::Scope => (
            "n.tenant, n.username, s.agent, s.session, s.branch",
            " JOIN namespaces n ON n.namespace = x.namespace
                JOIN scopes s ON s.namespace = x.namespace AND s.scope = x.scope",
        ),
    };
    let id = if table.owner() == RowOwner::Record { ", x.id AS row_id" } else { "" };
    let columns: String = table.columns().iter().map(|column| format!(", {}", selected_value(table, column))).collect();
    let tokens = table_of_tokens(table);
    let condition = if tokens.is_some() { " WHERE x.tokens IS NOT NULL" } else { table.condition() };
    // Relations have numbers, and restored jobs are done in the order of their rows.
    let orders =
        [(BackupTable::Relations, " ORDER BY x.namespace, x.id, x.number"), (BackupTable::Jobs, " ORDER BY x.ticket")];
    let order = orders.into_iter().find(|(ordered, _)| *ordered == table).map_or("", |(_, order)| order);
    format!("SELECT {owner}{id}{columns} FROM {} x{joined}{condition}{order}", tokens.unwrap_or(table).name())
}

/// Returns the table of vectors that has the token vectors as a column.
fn table_of_tokens(table: BackupTable) -> Option<BackupTable> {
    let tables = [(BackupTable::Tokens, BackupTable::Vectors), (BackupTable::SecondTokens, BackupTable::SecondVectors)];
    tables.into_iter().find(|(tokens, _)| *tokens == table).map(|(_, vectors)| vectors)
}

fn column_name(column: &Column) -> &'static str {
    match column.name {
        "vector" => "embedding",
        "user" => "username",
        name => name,
    }
}

/// Returns the SQL of the cell of a column.
fn selected_value(table: BackupTable, column: &Column) -> String {
    let name = column_name(column);
    match column.cell {
        CellType::TextList => format!("to_json(x.{name})::text AS {name}"),
        CellType::IdList => {
            format!("decode(replace(array_to_string(x.{name}, ''), '-', ''), 'hex') AS {name}")
        }
        CellType::Position => {
            format!("row_number() OVER (PARTITION BY x.namespace, x.id ORDER BY x.{name}) - 1 AS {name}")
        }
        CellType::DeadLetterFlag => format!("x.{name} = {LEASE_DEAD} AS is_dead"),
        // A user may have added the row by SQL, without a category.
        CellType::Text if (table, name) == (BackupTable::SynonymGroups, "category") => {
            format!("coalesce(x.{name}, 'general')")
        }
        CellType::Integer
        | CellType::Boolean
        | CellType::Text
        | CellType::Bytes
        | CellType::Id
        | CellType::PackedTerms
        | CellType::Vector => format!("x.{name}"),
    }
}

/// Returns the statement that inserts the rows of a table other than `records`. `$1` is a JSON array of rows, each an
/// array of the namespace, the address, the id of the record if there is one, and the cells; bytes are hexadecimal.
fn insert(table: BackupTable) -> String {
    let name = table.name();
    let rows = "json_array_elements($1::text::json) AS j (x)";
    if let Some(vectors) = table_of_tokens(table) {
        return format!(
            "UPDATE {} v SET tokens = decode(x->>3, 'hex') FROM {rows}
             WHERE v.namespace = (x->>0)::uuid AND v.id = (x->>2)::uuid",
            vectors.name()
        );
    }
    let (mut columns, mut values): (Vec<&str>, Vec<String>) = match table.owner() {
        RowOwner::Database => Default::default(),
        RowOwner::Namespace => (vec!["namespace"], vec!["(x->>0)::uuid".to_owned()]),
        RowOwner::Scope => (vec!["namespace", "scope"], vec!["(x->>0)::uuid".to_owned(), "(x->>1)::uuid".to_owned()]),
        RowOwner::Record if table == BackupTable::Jobs => {
            (vec!["namespace", "id"], vec!["r.namespace".to_owned(), "r.id".to_owned()])
        }
        RowOwner::Record => {
            (vec!["namespace", "id", "scope"], vec!["r.namespace".to_owned(), "r.id".to_owned(), "r.scope".to_owned()])
        }
    };
    let is_of_record = table.owner() == RowOwner::Record;
    let first = if is_of_record { 3 } else { 2 };
    for (element, column) in (first..).zip(table.columns()) {
        columns.push(column_name(column));
        values.push(inserted_value(element, column.cell));
    }
    // Columns that a backup does not have, after those of the table.
    let end = first + table.columns().len();
    if table == BackupTable::Terms {
        columns.extend(["lexemes", "repeated_terms"]);
        values.extend([format!("(x->>{end})::tsvector"), format!("(x->>{})::jsonb", end + 1)]);
    } else if table == BackupTable::Jobs {
        columns.push("ticket");
        values.push(format!("(x->>{end})::uuid"));
    }
    let source =
        if is_of_record { " JOIN records r ON r.namespace = (x->>0)::uuid AND r.id = (x->>2)::uuid" } else { "" };
    // A new store has metadata already.
    let replaces = table == BackupTable::IndexMetadata;
    let conflict = if replaces { " ON CONFLICT (part) DO UPDATE SET made_by = excluded.made_by" } else { "" };
    let (columns, values) = (columns.join(", "), values.join(", "));
    format!("INSERT INTO {name} ({columns}) SELECT {values} FROM {rows}{source}{conflict}")
}

/// Returns the SQL of the value of a column, from an element of the array of a row.
fn inserted_value(element: usize, cell: CellType) -> String {
    let text = format!("x->>{element}");
    match cell {
        CellType::Integer => format!("({text})::bigint"),
        CellType::Boolean => format!("({text})::int <> 0"),
        CellType::Text => text,
        CellType::Bytes | CellType::PackedTerms => format!("decode({text}, 'hex')"),
        CellType::Id => format!("({text})::uuid"),
        CellType::Vector => format!("({text})::vector"),
        CellType::TextList => format!("ARRAY(SELECT json_array_elements_text(({text})::json))"),
        CellType::IdList => format!(
            "ARRAY(SELECT substr({text}, 1 + 32 * i, 32)::uuid FROM generate_series(0, length({text}) / 32 - 1) i
                   ORDER BY i)"
        ),
        CellType::Position => format!("({text})::int"),
        CellType::DeadLetterFlag => format!("CASE ({text})::int WHEN 0 THEN {LEASE_FREE} ELSE {LEASE_DEAD} END"),
    }
}

/// The statements that count the index entries of each address again.
pub(super) const COUNTS: [&str; 3] = [
    "UPDATE scopes a SET documents = x.rows
     FROM (SELECT namespace, scope, count(*) AS rows FROM keyword_documents GROUP BY 1, 2) x
     WHERE a.namespace = x.namespace AND a.scope = x.scope",
    "UPDATE scopes a SET vectors = x.rows
     FROM (SELECT namespace, scope, count(*) AS rows FROM vectors GROUP BY 1, 2) x
     WHERE a.namespace = x.namespace AND a.scope = x.scope",
    "UPDATE scopes a SET secondary_vectors = x.rows
     FROM (SELECT namespace, scope, count(*) AS rows FROM secondary_vectors GROUP BY 1, 2) x
     WHERE a.namespace = x.namespace AND a.scope = x.scope",
];

/// Reads a row of [`select`].
pub(super) fn read_row(table: BackupTable, row: &PgRow) -> Result<BackupRow, PostgresError> {
    if table == BackupTable::Records {
        let record = row::read(row)?.record;
        return Ok(BackupRow { table, scope: None, content: RowContent::Record(Box::new(record)) });
    }
    let name = |column: usize| row.try_get::<&str, _>(column);
    let names = [name(0)?, name(1)?, name(2)?, name(3)?, name(4)?];
    let scope = (!names[0].is_empty()).then(|| rows::scope(names)).transpose()?;
    let cells = (SCOPE_COLUMNS..row.len()).map(|column| cell(row, column));
    Ok(BackupRow { table, scope, content: RowContent::Cells(cells.collect::<Result<_, _>>()?) })
}

fn cell(row: &PgRow, column: usize) -> Result<Cell, PostgresError> {
    let integer = |number: Option<i64>| number.map_or(Cell::Null, Cell::Integer);
    let bytes = |bytes: Option<Vec<u8>>| bytes.map_or(Cell::Null, Cell::Bytes);
    Ok(match row.column(column).type_info().name().to_ascii_uppercase().as_str() {
        "INT8" => integer(row.try_get(column)?),
        "INT4" => integer(row.try_get::<Option<i32>, _>(column)?.map(i64::from)),
        "BOOL" => integer(row.try_get::<Option<bool>, _>(column)?.map(i64::from)),
        "BYTEA" => bytes(row.try_get(column)?),
        "UUID" => bytes(row.try_get::<Option<Uuid>, _>(column)?.map(|id| id.as_bytes().to_vec())),
        "VECTOR" => {
            let vector: Vector = row.try_get(column)?;
            Cell::Bytes(vector.as_slice().iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        _ => row.try_get::<Option<String>, _>(column)?.map_or(Cell::Null, Cell::Text),
    })
}

/// Writes rows of one table into a database without rows.
pub(super) async fn write(
    connection: &mut PgConnection,
    table: BackupTable,
    rows: Vec<BackupRow>,
) -> Result<(), PostgresError> {
    let records: Vec<&Record> = rows.iter().filter_map(record).collect();
    let of_rows = rows.iter().filter_map(|row| row.scope.as_ref());
    let written_scopes: BTreeSet<&Scope> = of_rows.chain(records.iter().map(|record| &record.scope)).collect();
    namespaces::lock(connection, written_scopes.iter().copied()).await?;
    if matches!(table, BackupTable::Records | BackupTable::Tombstones) {
        scopes::insert_addresses(connection, &written_scopes.into_iter().collect::<Vec<_>>()).await?;
    }
    if table == BackupTable::Records {
        return row::insert(connection, row::json_chunks(&records)?).await;
    }
    let rows = rows.iter().map(|row| json_row(table, row)).collect::<Result<Vec<Value>, _>>()?;
    sqlx::query(AssertSqlSafe(insert(table))).bind(Value::Array(rows).to_string()).execute(connection).await?;
    Ok(())
}

fn record(row: &BackupRow) -> Option<&Record> {
    match &row.content {
        RowContent::Record(record) => Some(record),
        RowContent::Cells(_) => None,
    }
}

/// Returns the parameter of [`insert`] for a row.
fn json_row(table: BackupTable, row: &BackupRow) -> Result<Value, PostgresError> {
    let RowContent::Cells(cells) = &row.content else { return Ok(Value::Null) };
    let scope = row.scope.as_ref();
    let mut values = vec![json!(scope.map(scopes::namespace)), json!(scope.map(scopes::address))];
    for (column, cell) in cells.iter().enumerate() {
        values.push(match cell {
            Cell::Null => Value::Null,
            Cell::Integer(number) => json!(number),
            Cell::Text(text) => json!(text),
            Cell::Bytes(bytes) if column == 1 && is_vector(table) => json!(vector_text(bytes)),
            Cell::Bytes(bytes) => json!(hex(bytes)),
        });
    }
    match (table, scope) {
        (BackupTable::Terms, Some(scope)) => {
            let (lexemes, repeated_terms) = lexemes_and_repeated_terms(scope, cells)?;
            values.extend([json!(lexemes), json!(repeated_terms)]);
        }
        // Later ids are greater, so that restored jobs keep their order.
        (BackupTable::Jobs, _) => values.push(json!(Uuid::now_v7())),
        _ => {}
    }
    Ok(Value::Array(values))
}

fn is_vector(table: BackupTable) -> bool {
    matches!(table, BackupTable::Vectors | BackupTable::SecondVectors)
}

/// Returns the text of a vector. The shortest text of a 32-bit float is read back as the same float.
fn vector_text(bytes: &[u8]) -> String {
    let values: Vec<String> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes).to_string()).collect();
    format!("[{}]", values.join(","))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the lexemes of the terms of a record, and its repeated terms.
fn lexemes_and_repeated_terms(scope: &Scope, cells: &[Cell]) -> Result<(String, Option<String>), PostgresError> {
    let corrupt = || PostgresError::corrupt("the terms of a record");
    let (Some(Cell::Bytes(words)), Some(Cell::Bytes(counts))) = (cells.get(2), cells.get(3)) else {
        return Err(corrupt());
    };
    let words = std::str::from_utf8(words).map_err(|_| corrupt())?;
    let pairs: Vec<(&str, u32)> =
        packed_terms::pairs(words, counts).collect::<memory_engine_core::Result<_>>().map_err(|_| corrupt())?;
    // The lexemes do not depend on the counts.
    let terms: Terms = pairs.iter().map(|(term, _)| *term).collect();
    Ok((LexemeOwner::of_address(scope).vector(&terms), keyword_rows::repeated_terms(pairs.into_iter())))
}

/// Returns the tables of this schema, with their columns. Partitions belong to their table.
pub(super) async fn columns(connection: &mut PgConnection) -> Result<BTreeMap<String, String>, PostgresError> {
    let sql = "SELECT c.relname::text AS name, string_agg(a.attname::text, ', ' ORDER BY a.attname::text) AS columns
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        GROUP BY 1";
    let rows = sqlx::query(sql).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get("name")?, row.try_get("columns")?))).collect()
}
