//! Compares the tables, constraints, indexes, views and functions of a database with those that the migrations and the
//! installed sets of views create.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Finding, ProblemKind};
use sqlx::{PgConnection, Row};

use crate::database::{error::PostgresError, migration, views};

/// The objects that the migrations create, one a line: type, name, and columns or definition. Foreign keys come after
/// the keys that they name. The index of trigrams is left out, because it needs an extension. A test compares the list
/// with a new database.
const SCHEMA_OBJECTS: &str = include_str!("../../data/schema_objects.tsv");

/// Selects the objects of the current schema, in the format of [`SCHEMA_OBJECTS`].
const SCHEMA_OBJECTS_SQL: &str = include_str!("../../data/schema_objects.sql");

/// Selects the tables with triggers that are switched off, such as those that check foreign keys.
const DISABLED_TRIGGERS_SQL: &str = "SELECT DISTINCT c.relname::text
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND t.tgenabled = 'D' ORDER BY 1";

/// Selects the invalid indexes, except those that are being built.
const INVALID_INDEXES_SQL: &str = "SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND NOT (i.indisvalid AND i.indisready)
        AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
    ORDER BY 1";

/// A table, constraint, index, view or function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SchemaObject {
    kind: String,
    name: String,
    definition: String,
}

/// The differences to the schema of the migrations, and the statements that repair them.
#[derive(Debug, Default)]
pub(crate) struct SchemaDifferences {
    pub(crate) findings: Vec<Finding>,
    /// Statements for each kind. They run before the repairs of the contents.
    pub(crate) repairs: Vec<(ProblemKind, String)>,
    /// Statements that run after the repairs of the contents, because rows may violate the constraints.
    pub(crate) late_repairs: Vec<(ProblemKind, String)>,
}

impl SchemaDifferences {
    /// Compares the schema of a database of the current version.
    pub(crate) async fn of(connection: &mut PgConnection) -> Result<Self, PostgresError> {
        let found: BTreeMap<(String, String), String> = read_objects(connection)
            .await?
            .into_iter()
            .map(|object| ((object.kind, object.name), object.definition))
            .collect();
        let mut affected: BTreeMap<ProblemKind, Vec<String>> = BTreeMap::new();
        let mut statements: BTreeMap<ProblemKind, Vec<String>> = BTreeMap::new();
        let has_list = found.contains_key(&("table".to_owned(), "index_metadata".to_owned()));
        let sets = if has_list { views::installed(connection).await? } else { BTreeSet::new() };
        let files = views::files(&sets);
        let views = files.iter().copied().flat_map(views::objects).map(|(kind, name)| SchemaObject {
            kind: kind.to_lowercase(),
            name: name.to_owned(),
            definition: String::new(),
        });
        for expected in expected_objects().chain(views) {
            let SchemaObject { kind, name, definition } = expected;
            let existing = found.get(&(kind.clone(), name.clone()));
            // The constraints and indexes of a missing table are no further problem.
            let table = match &kind[..] {
                "constraint" => name.split_once('.').map(|(table, _)| table.to_owned()),
                "index" => migration::creating_statement("INDEX", &name).and_then(|create| indexed_table(&create)),
                _ => None,
            };
            if table.is_some_and(|table| !found.contains_key(&("table".to_owned(), table))) {
                continue;
            }
            let problem = match &kind[..] {
                "table" => {
                    let missing = missing_columns(&name, &definition, existing);
                    if !missing.is_empty() {
                        affected.entry(ProblemKind::ColumnMissing).or_default().extend(missing);
                    }
                    ProblemKind::TableMissing
                }
                "constraint" => ProblemKind::ConstraintMissing,
                "index" => ProblemKind::IndexMissing,
                "view" => ProblemKind::ViewMissing,
                _ => ProblemKind::FunctionMissing,
            };
            let is_right = match &kind[..] {
                "index" => existing == Some(&definition),
                _ => existing.is_some(),
            };
            if is_right {
                continue;
            }
            let statement = match (problem, name.split_once('.')) {
                (ProblemKind::ConstraintMissing, Some((table, constraint))) => {
                    Some(format!("ALTER TABLE {table} ADD CONSTRAINT {constraint} {definition}"))
                }
                (ProblemKind::IndexMissing, _) => migration::creating_statement("INDEX", &name)
                    .map(|create| format!("DROP INDEX IF EXISTS {name}; {create}")),
                (ProblemKind::ViewMissing | ProblemKind::FunctionMissing, _) => {
                    migration::creating_statement("FUNCTION", &name).or_else(|| Some(files.concat()))
                }
                _ => None,
            };
            statements.entry(problem).or_default().extend(statement);
            affected.entry(problem).or_default().push(name);
        }
        let invalid: Vec<String> = sqlx::query_scalar(INVALID_INDEXES_SQL).fetch_all(&mut *connection).await?;
        let rebuild = invalid.iter().map(|name| format!("REINDEX INDEX {name}")).collect();
        statements.insert(ProblemKind::IndexInvalid, rebuild);
        affected.insert(ProblemKind::IndexInvalid, invalid);
        let mut disabled: Vec<String> = sqlx::query_scalar(DISABLED_TRIGGERS_SQL).fetch_all(&mut *connection).await?;
        // The schema may contain tables of another application.
        disabled.retain(|name| expected_objects().any(|object| object.kind == "table" && object.name == *name));
        let enable = disabled.iter().map(|name| format!("ALTER TABLE {name} ENABLE TRIGGER ALL")).collect();
        statements.insert(ProblemKind::TriggerDisabled, enable);
        affected.insert(ProblemKind::TriggerDisabled, disabled);
        let mut differences = Self::default();
        for (kind, statements) in statements {
            if statements.is_empty() {
                continue;
            }
            let late = [ProblemKind::ConstraintMissing, ProblemKind::TriggerDisabled].contains(&kind);
            let repairs = if late { &mut differences.late_repairs } else { &mut differences.repairs };
            repairs.push((kind, statements.join(";\n")));
        }
        differences.findings = affected.into_iter().filter_map(|(kind, names)| Finding::of_list(kind, names)).collect();
        Ok(differences)
    }

    /// Returns true if statements of the checks cannot run, because tables or columns are missing.
    pub(crate) fn prevents_checks(&self) -> bool {
        let kinds = [ProblemKind::TableMissing, ProblemKind::ColumnMissing];
        self.findings.iter().any(|finding| kinds.contains(&finding.kind))
    }
}

/// Returns the table in a statement that creates an index.
fn indexed_table(create: &str) -> Option<String> {
    let (_, table) = create.split_once(" ON ")?;
    table.split_whitespace().next().map(str::to_owned)
}

fn missing_columns(table: &str, expected: &str, existing: Option<&String>) -> Vec<String> {
    let Some(existing) = existing else { return Vec::new() };
    let existing: BTreeSet<&str> = existing.split(',').collect();
    let missing = expected.split(',').filter(|column| !existing.contains(column));
    missing.map(|column| format!("{table}.{column}")).collect()
}

fn expected_objects() -> impl Iterator<Item = SchemaObject> {
    SCHEMA_OBJECTS.lines().filter_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let mut field = || fields.next().map(str::to_owned);
        Some(SchemaObject { kind: field()?, name: field()?, definition: field()? })
    })
}

async fn read_objects(connection: &mut PgConnection) -> Result<Vec<SchemaObject>, PostgresError> {
    let rows = sqlx::query(SCHEMA_OBJECTS_SQL).fetch_all(connection).await?;
    let object = |row: &sqlx::postgres::PgRow| {
        Ok(SchemaObject {
            kind: row.try_get("type")?,
            name: row.try_get("name")?,
            definition: row.try_get("definition")?,
        })
    };
    rows.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_and_function_can_be_created_from_the_migrations() {
        let mut count = 0;
        for object in expected_objects() {
            let what = match &object.kind[..] {
                "index" => "INDEX",
                "function" => "FUNCTION",
                _ => continue,
            };
            count += 1;
            let create = migration::creating_statement(what, &object.name).unwrap();
            assert!(what != "INDEX" || indexed_table(&create).is_some(), "{create}");
        }
        assert!(count > 20, "{count}");
    }
}
