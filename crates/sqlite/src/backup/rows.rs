//! Reads and writes the rows of a backup.

use memory_engine_core::Scope;
use memory_engine_sql::{
    backup::{BackupRow, BackupTable, Cell, RowContent},
    rows::LEASE_FREE,
};
use rusqlite::{
    Connection, Row, params_from_iter,
    types::{Value, ValueRef},
};

use crate::{
    database::error::SqliteError,
    records::{
        derivations,
        row::{self, selected},
        scopes,
    },
};

/// The number of columns of a scope: tenant, user, agent, session and branch.
const SCOPE_COLUMNS: usize = 5;

macro_rules! of_record {
    ($columns:literal, $table:literal) => {
        concat!(
            "SELECT t.name, n.user, '', '', '', r.id, ",
            $columns,
            " FROM ",
            $table,
            " x JOIN records r ON r.record = x.record JOIN namespaces n ON n.namespace = r.namespace
             JOIN tenants t ON t.tenant = n.tenant"
        )
    };
}

macro_rules! of_namespace {
    ($columns:literal, $table:literal) => {
        concat!(
            "SELECT t.name, n.user, '', '', '', ",
            $columns,
            " FROM ",
            $table,
            " x JOIN namespaces n ON n.namespace = x.namespace JOIN tenants t ON t.tenant = n.tenant"
        )
    };
}

/// Returns the statement that selects the rows of a table: five columns of the scope, and the values.
fn select(table: BackupTable) -> &'static str {
    match table {
        BackupTable::IndexMetadata => {
            "SELECT '', '', '', '', '', part, made_by FROM index_metadata
             WHERE part IN ('keywords', 'embedding', 'reembedding', 'serving table', 'views')"
        }
        BackupTable::Records => selected!(""),
        BackupTable::Tombstones => {
            "SELECT t.name, n.user, s.agent, s.session, s.branch, x.id, x.content_hash, x.deleted_at, x.cascade_deleted
             FROM tombstones x JOIN scopes s ON s.scope = x.scope JOIN namespaces n ON n.namespace = x.namespace
             JOIN tenants t ON t.tenant = n.tenant"
        }
        BackupTable::BlockedContents => of_namespace!("x.content_hash, x.cascade_deleted", "blocked_contents"),
        BackupTable::Terms => of_record!("x.length, CAST(x.terms AS BLOB), x.counts", "keyword_documents"),
        BackupTable::Vectors => of_record!("x.vector", "vectors"),
        BackupTable::SecondVectors => of_record!("x.vector", "secondary_vectors"),
        BackupTable::Tokens => of_record!("x.tokens", "vector_tokens"),
        BackupTable::SecondTokens => of_record!("x.tokens", "secondary_vector_tokens"),
        BackupTable::Entities => of_record!("x.entity, x.name, x.kind", "graph_entities"),
        BackupTable::Aliases => of_record!("x.entity, x.alias, x.name", "graph_aliases"),
        BackupTable::Relations => of_record!(
            "(SELECT count(*) FROM graph_edges e WHERE e.record = x.record AND e.edge < x.edge), x.source, x.relation,
             x.target, x.valid_from, x.valid_until, x.rule",
            "graph_edges"
        ),
        BackupTable::SynonymGroups => of_namespace!("x.term, json(x.members), x.category", "synonym_groups"),
        BackupTable::SynonymVerdicts => of_namespace!("x.first, x.second, x.accepted", "synonym_verdicts"),
        BackupTable::Queue => {
            "SELECT t.name, n.user, '', '', '', x.job, r.id, x.queued_at, x.attempts, x.reason,
                    x.leased_until = 9223372036854775807
             FROM jobs x JOIN records r ON r.record = x.record JOIN namespaces n ON n.namespace = r.namespace
             JOIN tenants t ON t.tenant = n.tenant ORDER BY x.ticket"
        }
        BackupTable::AuditChains => {
            "SELECT '', '', '', '', '', tenant, sequence, hash, pruned_sequence, pruned_hash FROM audit_chains"
        }
        BackupTable::AuditLog => {
            "SELECT '', '', '', '', '', tenant, sequence, written_at, actor_key, actor_agent, action, operation, user,
                    agent, session, branch, records, record_count, failed_entry, error, previous_hash, hash
             FROM audit_log ORDER BY tenant, sequence"
        }
    }
}

/// Returns the statement that inserts a row of a table other than `records`. `?1` and `?2` are the numbers of the
/// namespace and the scope; the values follow. Not every statement uses all of them.
fn insert(table: BackupTable) -> &'static str {
    match table {
        BackupTable::IndexMetadata => "INSERT OR REPLACE INTO index_metadata (part, made_by) SELECT ?3, ?4",
        // Records are written as records.
        BackupTable::Records => "",
        BackupTable::Tombstones => {
            "INSERT INTO tombstones (namespace, scope, id, content_hash, deleted_at, cascade_deleted)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        }
        BackupTable::BlockedContents => {
            "INSERT INTO blocked_contents (namespace, content_hash, cascade_deleted) SELECT ?1, ?3, ?4"
        }
        BackupTable::Terms => {
            "INSERT INTO keyword_documents (record, id, scope, length, terms, counts)
             SELECT r.record, r.id, r.scope, ?4, CAST(?5 AS TEXT), ?6 FROM records r
             WHERE r.id = ?3 AND r.namespace = ?1"
        }
        BackupTable::Vectors => {
            "INSERT INTO vectors (record, id, scope, vector) SELECT r.record, r.id, r.scope, ?4 FROM records r
             WHERE r.id = ?3 AND r.namespace = ?1"
        }
        BackupTable::SecondVectors => {
            "INSERT INTO secondary_vectors (record, id, scope, vector) SELECT r.record, r.id, r.scope, ?4 FROM records r
             WHERE r.id = ?3 AND r.namespace = ?1"
        }
        BackupTable::Tokens => {
            "INSERT INTO vector_tokens (record, tokens) SELECT r.record, ?4 FROM records r
             WHERE r.id = ?3 AND r.namespace = ?1"
        }
        BackupTable::SecondTokens => {
            "INSERT INTO secondary_vector_tokens (record, tokens) SELECT r.record, ?4 FROM records r
             WHERE r.id = ?3 AND r.namespace = ?1"
        }
        BackupTable::Entities => {
            "INSERT INTO graph_entities (record, entity, scope, name, kind) SELECT r.record, ?4, r.scope, ?5, ?6
             FROM records r WHERE r.id = ?3 AND r.namespace = ?1"
        }
        BackupTable::Aliases => {
            "INSERT INTO graph_aliases (record, entity, alias, scope, name) SELECT r.record, ?4, ?5, r.scope, ?6
             FROM records r WHERE r.id = ?3 AND r.namespace = ?1"
        }
        // The number of a relation is its place among those of its record, which are written in this order.
        BackupTable::Relations => {
            "INSERT INTO graph_edges (record, source, relation, target, scope, valid_from, valid_until, rule)
             SELECT r.record, ?5, ?6, ?7, r.scope, ?8, ?9, ?10
             FROM records r WHERE r.id = ?3 AND r.namespace = ?1"
        }
        BackupTable::SynonymGroups => {
            "INSERT INTO synonym_groups (namespace, term, members, category) SELECT ?1, ?3, ?4, ?5"
        }
        BackupTable::SynonymVerdicts => {
            "INSERT INTO synonym_verdicts (namespace, first, second, accepted) SELECT ?1, ?3, ?4, ?5"
        }
        BackupTable::Queue => {
            "INSERT INTO jobs (job, record, queued_at, attempts, reason, leased_until)
             SELECT ?3, r.record, ?5, ?6, ?7, CASE WHEN ?8 THEN 9223372036854775807 ELSE ?9 END
             FROM records r WHERE r.id = ?4 AND r.namespace = ?1"
        }
        BackupTable::AuditChains => {
            "INSERT INTO audit_chains (tenant, sequence, hash, pruned_sequence, pruned_hash)
             SELECT ?3, ?4, ?5, ?6, ?7"
        }
        BackupTable::AuditLog => {
            "INSERT INTO audit_log (tenant, sequence, written_at, actor_key, actor_agent, action, operation, user,
                agent, session, branch, records, record_count, failed_entry, error, previous_hash, hash)
             SELECT ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19
            "
        }
    }
}

/// Reads all rows of a file of the current schema, table by table.
pub(crate) fn read(
    connection: &Connection,
    mut sink: impl FnMut(BackupRow) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    for table in BackupTable::ALL {
        let mut statement = connection.prepare(select(table))?;
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
    let lease = (row.table == BackupTable::Queue).then_some(Value::Integer(LEASE_FREE));
    let values = cells.into_iter().map(|cell| match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(number),
        Cell::Text(text) => Value::Text(text),
        Cell::Bytes(bytes) => Value::Blob(bytes),
    });
    let parameters = params_from_iter(owner.into_iter().chain(values).chain(lease));
    connection.prepare_cached(insert(row.table))?.execute(parameters)?;
    Ok(())
}
