//! Compares the tables, indexes and views of a database with those of a new database with the same sets of views.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Finding, ProblemKind};
use rusqlite::Connection;

use crate::database::{error::SqliteError, schema, views};

/// A table, index or view.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SchemaObject {
    /// `table`, `index` or `view`.
    kind: String,
    /// The table of an index; otherwise the name of the object.
    table: String,
    /// The statement that creates it.
    sql: String,
    /// Names of the columns; for an index with their positions.
    columns: BTreeSet<String>,
}

/// The differences to a new database, and the statements that create what is missing.
#[derive(Debug, Default)]
pub(crate) struct SchemaDifferences {
    pub(crate) findings: Vec<Finding>,
    /// Statements that repair the findings of each kind.
    pub(crate) repairs: Vec<(ProblemKind, String)>,
}

impl SchemaDifferences {
    /// Compares the schema of a database of the current version.
    pub(crate) fn of(connection: &Connection) -> Result<Self, SqliteError> {
        let reference = Connection::open_in_memory()?;
        for migration in schema::MIGRATIONS {
            reference.execute_batch(migration.up)?;
        }
        let found = objects(connection)?;
        let sets = if found.contains_key("index_metadata") { views::listed(connection)? } else { BTreeSet::new() };
        for sql in sets.into_iter().filter_map(views::statements) {
            reference.execute_batch(sql)?;
        }
        let expected = objects(&reference)?;
        let mut affected: BTreeMap<ProblemKind, Vec<String>> = BTreeMap::new();
        let mut repairs: BTreeMap<ProblemKind, String> = BTreeMap::new();
        for (name, object) in &expected {
            // The indexes of a missing table are no further problem.
            if object.kind == "index" && !found.contains_key(&object.table) {
                continue;
            }
            let existing = found.get(name).filter(|existing| existing.kind == object.kind);
            let kind = match (&object.kind[..], existing) {
                ("table", None) => ProblemKind::TableMissing,
                ("table", Some(existing)) => {
                    let missing = object.columns.difference(&existing.columns);
                    let missing: Vec<_> = missing.map(|column| format!("{name}.{column}")).collect();
                    if !missing.is_empty() {
                        affected.entry(ProblemKind::ColumnMissing).or_default().extend(missing);
                    }
                    continue;
                }
                ("view", None) => ProblemKind::ViewMissing,
                ("index", None) => ProblemKind::IndexMissing,
                ("index", Some(existing))
                    if (&existing.table, &existing.columns) != (&object.table, &object.columns) =>
                {
                    ProblemKind::IndexMissing
                }
                _ => continue,
            };
            affected.entry(kind).or_default().push(name.clone());
            let drop = if object.kind == "index" { format!("DROP INDEX IF EXISTS {name}; ") } else { String::new() };
            repairs.entry(kind).or_default().push_str(&format!("{drop}{}; ", object.sql));
        }
        let findings = affected.into_iter().filter_map(|(kind, names)| Finding::of_list(kind, names)).collect();
        let repairs = repairs.into_iter().filter(|(kind, _)| kind.remedy().is_repair()).collect();
        Ok(Self { findings, repairs })
    }

    /// Returns true if statements of the checks cannot run, because tables or columns are missing.
    pub(crate) fn prevents_checks(&self) -> bool {
        let kinds = [ProblemKind::TableMissing, ProblemKind::ColumnMissing];
        self.findings.iter().any(|finding| kinds.contains(&finding.kind))
    }
}

/// Reads the objects that statements have created, by name.
fn objects(connection: &Connection) -> Result<BTreeMap<String, SchemaObject>, SqliteError> {
    let sql = "SELECT s.type, s.name, s.tbl_name, s.sql,
            (SELECT group_concat(t.name, char(10)) FROM pragma_table_xinfo(s.name) t WHERE s.type = 'table') AS columns,
            (SELECT group_concat(x.seqno || ' ' || coalesce(x.name, ''), char(10))
             FROM pragma_index_xinfo(s.name) x WHERE s.type = 'index' AND x.key = 1) AS index_columns
        FROM sqlite_schema s
        WHERE s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite~_%' ESCAPE '~' AND s.type IN ('table', 'index', 'view')";
    let mut prepared = connection.prepare(sql)?;
    let mut rows = prepared.query([])?;
    let mut objects = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get("type")?;
        let columns = if kind == "index" { "index_columns" } else { "columns" };
        let columns: Option<String> = row.get(columns)?;
        let columns = columns.unwrap_or_default().lines().map(str::to_owned).collect();
        let object = SchemaObject { kind, table: row.get("tbl_name")?, sql: row.get("sql")?, columns };
        objects.insert(row.get("name")?, object);
    }
    Ok(objects)
}
