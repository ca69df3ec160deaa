//! Searches the rows of the tables and the entries of the indexes.

use memory_engine_core::{
    ContentHash, Scope, Tombstone, Trust,
    residue::{ByteSearch, DeletedContents, PlaceKind, ResidueProbes, ResidueReport, SearchedPlace, Trace},
};
use memory_engine_sql::residue::keeps_ids;
use rusqlite::{Connection, Row, types::ValueRef};
use rustc_hash::{FxHashMap, FxHashSet};

use super::schema::{Index, Table, quoted};
use crate::{database::error::SqliteError, rows::row};

/// The search of the rows of all tables.
pub(super) struct RowSearch<'s> {
    connection: &'s Connection,
    probes: &'s ResidueProbes,
    byte_search: &'s ByteSearch,
    /// The number of the namespace of each deleted record, and then of each redacted user.
    namespaces: &'s [Option<i64>],
    scopes: FxHashMap<i64, &'s Scope>,
    contents: DeletedContents<'s>,
    /// The fragments that remaining records, or names of conversations, contain.
    shared: FxHashSet<u32>,
}

/// The traces in one row, or in one column of it.
#[derive(Debug, Default)]
struct RowTraces {
    ids: Vec<u32>,
    texts: Vec<u32>,
}

/// A row as the search reads it: the values of the table, the namespace, and whether its record exists.
struct FoundRow {
    namespace: Option<i64>,
    has_owner: bool,
}

impl<'s> RowSearch<'s> {
    pub(super) fn new(
        connection: &'s Connection,
        probes: &'s ResidueProbes,
        byte_search: &'s ByteSearch,
        namespaces: &'s [Option<i64>],
    ) -> Self {
        let scopes = probes.records.iter().zip(namespaces);
        let scopes = scopes.filter_map(|(probe, number)| Some(((*number)?, &probe.namespace))).collect();
        let (contents, shared) = (probes.contents(), FxHashSet::default());
        Self { connection, probes, byte_search, namespaces, scopes, contents, shared }
    }

    pub(super) fn into_shared_fragments(self) -> FxHashSet<u32> {
        self.shared
    }

    /// Searches a table and its indexes.
    pub(super) fn table(&mut self, table: &Table, report: &mut ResidueReport) -> Result<(), SqliteError> {
        let mut place = SearchedPlace::new(PlaceKind::Table, &table.name);
        place.keeps_ids = keeps_ids(&table.name).map(str::to_owned);
        let is_of_users = !self.probes.covers_database();
        if is_of_users && !table.names_users() {
            report.places.push(place.with_not_searched("its rows name no user"));
            return Ok(());
        }
        let mut references = SearchedPlace::new(PlaceKind::Table, "records (references in remaining records)")
            .with_kept_ids("a remaining record, such as the entry of a retraction, names the id of a deleted one");
        let namespaces: FxHashSet<i64> = self.namespaces.iter().flatten().copied().collect();
        let namespaces = format!("[{}]", namespaces.iter().map(i64::to_string).collect::<Vec<_>>().join(","));
        let namespace = table.namespace_sql();
        let condition = match is_of_users {
            true => format!("WHERE {namespace} IN (SELECT value FROM json_each(?1))"),
            false => "WHERE ?1 IS NOT NULL".to_owned(),
        };
        let (owner, name) = (table.owner_sql(), quoted(&table.name));
        let sql = format!("SELECT {namespace} AS row_namespace, {owner} AS has_owner, t.* FROM {name} t {condition}");
        let mut statement = self.connection.prepare(&sql)?;
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let mut rows = statement.query([&namespaces])?;
        while let Some(row) = rows.next()? {
            place.searched += 1;
            let found = FoundRow { namespace: integer(row.get_ref(0)?), has_owner: row.get(1)? };
            if table.is_records() {
                self.record(row, &names, &found, &mut place, &mut references, report)?;
            } else {
                let mut traces = RowTraces::default();
                for column in 2..names.len() {
                    self.value(row.get_ref(column)?, &found, &mut traces);
                }
                place.ids += traces.ids.len() as u64;
                self.count_texts(&traces, found.has_owner || table.is_of_names(), &mut place);
            }
        }
        for sql in table.orphan_sql() {
            place.orphans += self.connection.query_row(&sql, [&namespaces], |row| row.get::<_, u64>(0))?;
        }
        report.places.push(place);
        if references.ids > 0 {
            report.places.push(references);
        }
        for index in &table.indexes {
            let place = match is_of_users {
                true => place_of(table, index).with_not_searched("the rows of its table were searched"),
                false => self.index(table, index)?,
            };
            report.places.push(place);
        }
        Ok(())
    }

    /// Searches the row of a record. A remaining record that is derived from a deleted one is a trace; one that names
    /// it otherwise is a reference.
    fn record(
        &mut self,
        found_row: &Row<'_>,
        names: &[String],
        found: &FoundRow,
        place: &mut SearchedPlace,
        references: &mut SearchedPlace,
        report: &mut ResidueReport,
    ) -> Result<(), SqliteError> {
        // A damaged record must not prevent the search.
        let id = row::readable_id(found_row.get_ref("id")?.as_bytes().unwrap_or_default());
        let namespace = found.namespace.and_then(|number| self.scopes.get(&number).copied());
        let is_deleted = namespace.is_some_and(|namespace| self.probes.find(namespace, id).is_some());
        let mut traces = RowTraces::default();
        for (column, name) in names.iter().enumerate().skip(2) {
            let ids_before = traces.ids.len();
            self.value(found_row.get_ref(column)?, found, &mut traces);
            let ids = (traces.ids.len() - ids_before) as u64;
            if is_deleted || name == "derived_from" {
                place.ids += ids;
            } else {
                references.ids += ids;
                references.searched = place.searched;
            }
        }
        self.count_texts(&traces, !is_deleted, place);
        let Some(namespace) = namespace.filter(|_| !is_deleted) else { return Ok(()) };
        let text = String::from_utf8_lossy(found_row.get_ref("text")?.as_bytes().unwrap_or_default());
        let trust =
            found_row.get_ref("trust")?.as_str().ok().and_then(|trust| trust.parse().ok()).unwrap_or(Trust::Import);
        if let Some(cascade_deleted) = self.contents.find(namespace, &ContentHash::of(&text)) {
            report.add_copy(id, Tombstone::blocks_content_for(trust, cascade_deleted));
        }
        Ok(())
    }

    /// Adds the traces in a value.
    fn value(&self, value: ValueRef<'_>, row: &FoundRow, traces: &mut RowTraces) {
        let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = value else { return };
        self.byte_search.search(bytes, &mut |trace| match trace {
            Trace::Id(number) => {
                let namespace = self.namespaces.get(number as usize).copied().flatten();
                // The same id of another user is another record.
                if row.namespace.is_none() || row.namespace == namespace {
                    traces.ids.push(number);
                }
            }
            Trace::Text(number) => traces.texts.push(number),
        });
    }

    fn count_texts(&mut self, traces: &RowTraces, is_shared: bool, place: &mut SearchedPlace) {
        if is_shared {
            place.shared += traces.texts.len() as u64;
            self.shared.extend(&traces.texts);
        } else {
            place.texts += traces.texts.len() as u64;
        }
    }

    /// Searches the entries of an index, without the rows of its table.
    fn index(&self, table: &Table, index: &Index) -> Result<SearchedPlace, SqliteError> {
        let mut place = place_of(table, index);
        place.keeps_ids = keeps_ids(&table.name).map(str::to_owned);
        let has = |name: &str| index.columns.iter().any(|column| column == name);
        // Only columns of the index, so that SQLite does not read the rows of the table.
        let namespace = if table.has_users() && has("namespace") {
            "t.namespace"
        } else if table.has_users() && has("scope") {
            "(SELECT s.namespace FROM scopes s WHERE s.scope = t.scope)"
        } else {
            "NULL"
        };
        let columns: Vec<String> = index.columns.iter().map(|name| format!("t.{}", quoted(name))).collect();
        if columns.is_empty() {
            return Ok(place.with_not_searched("its entries are expressions; its table was searched"));
        }
        let (columns, table, name) = (columns.join(", "), quoted(&table.name), quoted(&index.name));
        let sql = format!("SELECT {namespace}, {columns} FROM {table} t INDEXED BY {name} {}", index.condition);
        let Ok(mut statement) = self.connection.prepare(&sql) else {
            return Ok(place.with_not_searched("SQLite does not read it alone; its table was searched"));
        };
        let count = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            place.searched += 1;
            let found = FoundRow { namespace: integer(row.get_ref(0)?), has_owner: false };
            let mut traces = RowTraces::default();
            for column in 1..count {
                self.value(row.get_ref(column)?, &found, &mut traces);
            }
            place.ids += traces.ids.len() as u64;
            // No index has texts of records, except the unique names of tenants, users and conversations.
            place.shared += traces.texts.len() as u64;
        }
        Ok(place)
    }
}

fn place_of(table: &Table, index: &Index) -> SearchedPlace {
    SearchedPlace::new(PlaceKind::Index, format!("{} of {}", index.name, table.name))
}

fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => None,
    }
}
