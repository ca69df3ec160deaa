//! Reads and writes the rows of a backup.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Record, Scope, Terms, packed_terms};
use memory_engine_sql::{
    backup::{BackupRow, BackupTable, Cell, RowContent},
    rows,
};
use pgvector::Vector;
use serde_json::{Value, json};
use sqlx::{Column, PgConnection, Row, TypeInfo, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    keywords::{keyword_store, lexeme::LexemeOwner},
    records::{
        namespaces,
        row::{self, select_records},
        scopes,
    },
};

/// The number of columns of a scope: tenant, user, agent, session and branch.
const SCOPE_COLUMNS: usize = 5;

macro_rules! of_namespace {
    ($columns:literal, $table:literal) => {
        concat!(
            "SELECT n.tenant, n.username, '' AS agent, '' AS session, '' AS branch, ",
            $columns,
            " FROM ",
            $table,
            " x JOIN namespaces n ON n.ns = x.ns"
        )
    };
}

macro_rules! of_nobody {
    ($columns:literal) => {
        concat!("SELECT '' AS tenant, '' AS username, '' AS agent, '' AS session, '' AS branch, ", $columns)
    };
}

/// Returns the statement that selects the rows of a table: five columns of the scope, and the values.
pub(super) fn select(table: BackupTable) -> &'static str {
    match table {
        BackupTable::IndexMetadata => of_nobody!(
            "part, made_by FROM index_metadata
             WHERE part IN ('keywords', 'embedding', 'reembedding', 'serving table', 'views')"
        ),
        BackupTable::Records => select_records!("records r"),
        BackupTable::Tombstones => {
            "SELECT n.tenant, n.username, a.agent, a.session, a.branch, x.id AS row_id, x.content_hash, x.deleted_at,
                    x.cascade_deleted
             FROM tombstones x JOIN namespaces n ON n.ns = x.ns
                  JOIN scopes a ON a.ns = x.ns AND a.scope = x.scope"
        }
        BackupTable::BlockedContents => of_namespace!("x.content_hash, x.cascade_deleted", "blocked_contents"),
        BackupTable::Terms => of_namespace!("x.id AS row_id, x.length, x.terms, x.counts", "keyword_documents"),
        BackupTable::Vectors => of_namespace!("x.id AS row_id, x.embedding", "vectors"),
        BackupTable::SecondVectors => of_namespace!("x.id AS row_id, x.embedding", "secondary_vectors"),
        BackupTable::Tokens => concat!(of_namespace!("x.id, x.tokens", "vectors"), " WHERE x.tokens IS NOT NULL"),
        BackupTable::SecondTokens => {
            concat!(of_namespace!("x.id, x.tokens", "secondary_vectors"), " WHERE x.tokens IS NOT NULL")
        }
        BackupTable::Entities => of_namespace!("x.id, x.entity, x.name, x.kind", "graph_entities"),
        BackupTable::Aliases => of_namespace!("x.id, x.entity, x.alias, x.name", "graph_aliases"),
        BackupTable::Relations => concat!(
            of_namespace!(
                "x.id, row_number() OVER (PARTITION BY x.ns, x.id ORDER BY x.number) - 1 AS number, x.source,
                 x.relation, x.target, x.valid_from, x.valid_until, x.rule",
                "graph_edges"
            ),
            " ORDER BY x.ns, x.id, x.number"
        ),
        BackupTable::SynonymGroups => {
            of_namespace!(
                "x.term, to_json(x.members)::text AS members, coalesce(x.category, 'general')",
                "synonym_groups"
            )
        }
        BackupTable::SynonymVerdicts => of_namespace!("x.first, x.second, x.accepted", "synonym_verdicts"),
        BackupTable::Queue => concat!(
            of_namespace!(
                "x.job, x.id, x.queued_at, x.attempts, x.reason, x.leased_until = 9223372036854775807 AS is_dead",
                "jobs"
            ),
            " ORDER BY x.ticket"
        ),
        BackupTable::AuditChains => {
            of_nobody!("tenant, sequence, hash, pruned_sequence, pruned_hash FROM audit_chains")
        }
        BackupTable::AuditLog => of_nobody!(
            "tenant, sequence, written_at, actor_key, actor_agent, action, operation, username, agent, session, branch,
             decode(replace(array_to_string(records, ''), '-', ''), 'hex') AS records, record_count, failed_entry,
             error, previous_hash, hash
             FROM audit_log ORDER BY audit_log.tenant, audit_log.sequence"
        ),
    }
}

/// Returns the statement that inserts the rows of a table other than `records`. `$1` is a JSON array of rows, each an
/// array of the namespace, the address and the values; bytes are hexadecimal.
fn insert(table: BackupTable) -> &'static str {
    macro_rules! statement {
        ($into:literal, $columns:literal) => {
            concat!(
                "INSERT INTO ",
                $into,
                " SELECT ",
                $columns,
                " FROM json_array_elements($1::text::json) WITH ORDINALITY AS j (x, n)"
            )
        };
    }
    macro_rules! of_record {
        ($into:literal, $columns:literal) => {
            concat!(
                "INSERT INTO ",
                $into,
                " SELECT r.ns, r.id, r.scope, ",
                $columns,
                " FROM json_array_elements($1::text::json) WITH ORDINALITY AS j (x, n)
                 JOIN records r ON r.ns = (x->>0)::uuid AND r.id = (x->>2)::uuid"
            )
        };
    }
    match table {
        BackupTable::IndexMetadata => concat!(
            statement!("index_metadata (part, made_by)", "x->>2, x->>3"),
            " ON CONFLICT (part) DO UPDATE SET made_by = excluded.made_by"
        ),
        // Records are written as records.
        BackupTable::Records => "",
        BackupTable::Tombstones => statement!(
            "tombstones (ns, scope, id, content_hash, deleted_at, cascade_deleted)",
            "(x->>0)::uuid, (x->>1)::uuid, (x->>2)::uuid, decode(x->>3, 'hex'), (x->>4)::bigint, (x->>5)::int <> 0"
        ),
        BackupTable::BlockedContents => statement!(
            "blocked_contents (ns, content_hash, cascade_deleted)",
            "(x->>0)::uuid, decode(x->>2, 'hex'), (x->>3)::int <> 0"
        ),
        BackupTable::Terms => of_record!(
            "keyword_documents (ns, id, scope, length, terms, counts, lexemes, repeated_terms)",
            "(x->>3)::bigint, decode(x->>4, 'hex'), decode(x->>5, 'hex'), (x->>6)::tsvector, (x->>7)::jsonb"
        ),
        BackupTable::Vectors => of_record!("vectors (ns, id, scope, embedding)", "(x->>3)::vector"),
        BackupTable::SecondVectors => of_record!("secondary_vectors (ns, id, scope, embedding)", "(x->>3)::vector"),
        BackupTable::Tokens => {
            "UPDATE vectors v SET tokens = decode(x->>3, 'hex') FROM json_array_elements($1::text::json) AS j (x)
             WHERE v.ns = (x->>0)::uuid AND v.id = (x->>2)::uuid"
        }
        BackupTable::SecondTokens => {
            "UPDATE secondary_vectors v SET tokens = decode(x->>3, 'hex')
             FROM json_array_elements($1::text::json) AS j (x)
             WHERE v.ns = (x->>0)::uuid AND v.id = (x->>2)::uuid"
        }
        BackupTable::Entities => {
            of_record!("graph_entities (ns, id, scope, entity, name, kind)", "(x->>3)::uuid, x->>4, x->>5")
        }
        BackupTable::Aliases => {
            of_record!("graph_aliases (ns, id, scope, entity, alias, name)", "(x->>3)::uuid, (x->>4)::uuid, x->>5")
        }
        BackupTable::Relations => of_record!(
            "graph_edges (ns, id, scope, number, source, relation, target, valid_from, valid_until, rule)",
            "(x->>3)::int, (x->>4)::uuid, x->>5, (x->>6)::uuid, (x->>7)::bigint, (x->>8)::bigint, x->>9"
        ),
        BackupTable::SynonymGroups => statement!(
            "synonym_groups (ns, term, members, category)",
            "(x->>0)::uuid, x->>2, ARRAY(SELECT json_array_elements_text((x->>3)::json)), x->>4"
        ),
        BackupTable::SynonymVerdicts => statement!(
            "synonym_verdicts (ns, first, second, accepted)",
            "(x->>0)::uuid, x->>2, x->>3, (x->>4)::int <> 0"
        ),
        BackupTable::Queue => statement!(
            "jobs (ns, job, id, queued_at, attempts, reason, leased_until, ticket)",
            "(x->>0)::uuid, x->>2, (x->>3)::uuid, (x->>4)::bigint, (x->>5)::bigint, x->>6,
             CASE (x->>7)::int WHEN 0 THEN -9223372036854775808 ELSE 9223372036854775807 END, (x->>8)::uuid"
        ),
        BackupTable::AuditChains => statement!(
            "audit_chains (tenant, sequence, hash, pruned_sequence, pruned_hash)",
            "x->>2, (x->>3)::bigint, decode(x->>4, 'hex'), (x->>5)::bigint, decode(x->>6, 'hex')"
        ),
        BackupTable::AuditLog => statement!(
            "audit_log (tenant, sequence, written_at, actor_key, actor_agent, action, operation, username, agent,
                session, branch, records, record_count, failed_entry, error, previous_hash, hash)",
            "x->>2, (x->>3)::bigint, (x->>4)::bigint, x->>5, x->>6, x->>7, x->>8, x->>9, x->>10, x->>11, x->>12,
             ARRAY(SELECT substr(x->>13, 1 + 32 * i, 32)::uuid FROM generate_series(0, length(x->>13) / 32 - 1) i
                   ORDER BY i),
             (x->>14)::bigint, (x->>15)::bigint, x->>16, decode(x->>17, 'hex'), decode(x->>18, 'hex')"
        ),
    }
}

/// The statements that count the index entries of each address again.
pub(super) const COUNTS: [&str; 3] = [
    "UPDATE scopes a SET documents = x.rows
     FROM (SELECT ns, scope, count(*) AS rows FROM keyword_documents GROUP BY 1, 2) x
     WHERE a.ns = x.ns AND a.scope = x.scope",
    "UPDATE scopes a SET vectors = x.rows
     FROM (SELECT ns, scope, count(*) AS rows FROM vectors GROUP BY 1, 2) x
     WHERE a.ns = x.ns AND a.scope = x.scope",
    "UPDATE scopes a SET secondary_vectors = x.rows
     FROM (SELECT ns, scope, count(*) AS rows FROM secondary_vectors GROUP BY 1, 2) x
     WHERE a.ns = x.ns AND a.scope = x.scope",
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
    let all: BTreeSet<&Scope> = of_rows.chain(records.iter().map(|record| &record.scope)).collect();
    namespaces::lock(connection, all.iter().copied()).await?;
    if matches!(table, BackupTable::Records | BackupTable::Tombstones) {
        scopes::insert_addresses(connection, &all.into_iter().collect::<Vec<_>>()).await?;
    }
    if table == BackupTable::Records {
        return row::insert(connection, row::json_chunks(&records)?).await;
    }
    let rows = rows.iter().map(|row| json_row(table, row)).collect::<Result<Vec<Value>, _>>()?;
    sqlx::query(insert(table)).bind(Value::Array(rows).to_string()).execute(connection).await?;
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
        (BackupTable::Queue, _) => values.push(json!(Uuid::now_v7())),
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
    Ok((LexemeOwner::of_address(scope).vector(&terms), keyword_store::repeated_terms(pairs.into_iter())))
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
