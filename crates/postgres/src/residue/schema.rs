//! The tables of a schema, with what the search has to know about each.

use sqlx::{PgConnection, Row};

use crate::database::error::PostgresError;

/// The tables whose rows are names of tenants, users and conversations.
const NAME_TABLES: [&str; 2] = ["namespaces", "scopes"];
/// Types without text or ids: numbers, times, vectors.
const SKIPPED_TYPES: [&str; 4] = ["vector", "halfvec", "sparsevec", "bit"];

/// Selects the columns of every table of the schema. A table that is divided into partitions is one table.
const COLUMNS_SQL: &str = "SELECT c.relname::text AS table_name, a.attname::text AS column_name,
        t.typname::text AS type_name, t.typcategory::text AS category, format('%I', c.relname) AS quoted_table,
        format('%I', a.attname) AS quoted_column
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p', 'm')
        AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum";

/// Selects the references between tables: the condition under which a row of the table `t` has a row of the other
/// table.
const REFERENCES_SQL: &str = "SELECT c.conrelid::regclass::text AS table_name, format('%I', o.relname) AS other_table,
        (SELECT string_agg(format('p.%I = t.%I', b.attname, a.attname), ' AND ')
         FROM unnest(c.conkey, c.confkey) k (own, other)
              JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
              JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other) AS condition
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class o ON o.oid = c.confrelid
    WHERE c.contype = 'f' AND t.relname = $1 AND o.relname <> ALL ($2) AND c.conparentid = 0
        AND t.relnamespace = to_regnamespace(quote_ident(current_schema()))";

/// A table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) name: String,
    quoted: String,
    columns: Vec<Column>,
    /// The other table of each reference, and the condition under which it has the row.
    references: Vec<(String, String)>,
}

#[derive(Debug)]
struct Column {
    name: String,
    quoted: String,
    is_binary: bool,
    is_searched: bool,
}

/// Returns every table of the schema. The list comes from the catalogue, so that no table of a later version is left
/// out.
pub(super) async fn tables(connection: &mut PgConnection) -> Result<Vec<Table>, PostgresError> {
    let mut tables: Vec<Table> = Vec::new();
    for row in sqlx::query(COLUMNS_SQL).fetch_all(&mut *connection).await? {
        let name: String = row.try_get("table_name")?;
        if tables.last().is_none_or(|table| table.name != name) {
            tables.push(Table { name, quoted: row.try_get("quoted_table")?, ..Table::default() });
        }
        let type_name: &str = row.try_get("type_name")?;
        let is_number_or_time = matches!(row.try_get("category")?, "N" | "B" | "D" | "T");
        let column = Column {
            name: row.try_get("column_name")?,
            quoted: row.try_get("quoted_column")?,
            is_binary: type_name == "bytea",
            is_searched: !is_number_or_time && !SKIPPED_TYPES.contains(&type_name),
        };
        if let Some(table) = tables.last_mut() {
            table.columns.push(column);
        }
    }
    for table in &mut tables {
        let references = sqlx::query(REFERENCES_SQL).bind(&table.name).bind(NAME_TABLES.map(str::to_owned).to_vec());
        for row in references.fetch_all(&mut *connection).await? {
            table.references.push((row.try_get("other_table")?, row.try_get("condition")?));
        }
    }
    Ok(tables)
}

impl Table {
    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|other| other.name == column)
    }

    pub(super) fn is_records(&self) -> bool {
        self.name == "records"
    }

    pub(super) fn is_of_names(&self) -> bool {
        NAME_TABLES.contains(&self.name.as_str())
    }

    /// Returns true if each row tells whose it is.
    pub(super) fn names_users(&self) -> bool {
        self.has("namespace")
    }

    /// Returns the condition for the rows of these users, or of all if the table has no users.
    fn user_sql(&self, users: &str) -> String {
        if self.names_users() { format!("t.namespace = ANY ('{{{users}}}'::uuid[])") } else { "true".to_owned() }
    }

    /// Returns a statement that selects the rows of these users: `namespace`, `id`, `has_owner`, and the searched
    /// columns as bytes. `own` are the columns of a record that name it and its sources.
    pub(super) fn rows_sql(&self, users: &str) -> String {
        let is_own = |column: &Column| self.is_records() && matches!(column.name.as_str(), "id" | "derived_from");
        let is_searched = |column: &&Column| column.is_searched && !column.is_binary;
        let texts = |is_chosen: &dyn Fn(&Column) -> bool| {
            let columns = self.columns.iter().filter(is_searched).filter(|column| is_chosen(column));
            let columns: Vec<String> = columns.map(|column| format!("t.{}::text", column.quoted)).collect();
            match columns.is_empty() {
                true => "''::bytea".to_owned(),
                false => format!("convert_to(concat_ws(E'\\n', {}), 'UTF8')", columns.join(", ")),
            }
        };
        let binary = self.columns.iter().filter(|column| column.is_binary);
        let binary: Vec<String> =
            binary.map(|column| format!(" || '\\x0a'::bytea || coalesce(t.{}, '')", column.quoted)).collect();
        let has_key = self.has("namespace") && self.has("id");
        let is_owned = has_key && self.references.iter().any(|(table, _)| table == "records");
        let owner = match is_owned {
            true => "EXISTS (SELECT FROM records r WHERE r.namespace = t.namespace AND r.id = t.id)",
            false => "false",
        };
        format!(
            "SELECT {} AS namespace, {} AS id, {owner} AS has_owner, {} AS own, {}{} AS others FROM {} t WHERE {}",
            if self.names_users() { "t.namespace" } else { "NULL::uuid" },
            if self.is_records() { "t.id" } else { "NULL::uuid" },
            texts(&is_own),
            texts(&|column| !is_own(column)),
            binary.concat(),
            self.quoted,
            self.user_sql(users),
        )
    }

    /// Returns statements that count the rows of these users whose reference leads nowhere.
    pub(super) fn orphan_sql(&self, users: &str) -> Vec<String> {
        let user = self.user_sql(users);
        let count = |(other, condition): &(String, String)| {
            format!(
                "SELECT count(*) FROM {} t WHERE {user} AND NOT EXISTS (SELECT FROM {other} p WHERE {condition})",
                self.quoted
            )
        };
        self.references.iter().map(count).collect()
    }
}
