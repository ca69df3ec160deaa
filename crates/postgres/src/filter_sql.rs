//! Compiles filters to the SQL of Postgres, over the rows `r` of `records` and `a` of `addresses`.

use memory_engine_core::{Filter, Op, Result};
use memory_engine_sql::filter::{self, MetadataOperands, Operands, SqlDialect};
use sqlx::{Encode, Postgres, Type, postgres::PgHasArrayType};

use crate::{database::statement::StatementBuilder, rows::scopes::uuids};

impl SqlDialect for StatementBuilder {
    const TRUE: &'static str = "true";
    const FALSE: &'static str = "false";
    const IS_NOT_EMPTY_LIST: &'static str = " <> '{}'";
    const ADDRESS_COLUMNS: [&'static str; 3] = ["a.agent", "a.session", "a.branch"];

    fn append(&mut self, sql: &'static str) -> &mut Self {
        self.push(sql)
    }

    fn join(&mut self, filters: &[Filter], separator: &'static str) {
        self.push_joined(filters, separator, &mut |statement, filter| filter::write(filter, statement));
    }

    /// A single value is compared directly, not as an array, since the planner only knows the frequency of single
    /// values.
    fn compare(&mut self, op: Op, operands: Operands) {
        self.push(filter::operator(op));
        match operands {
            Operands::Texts(texts) => bind_any(texts, self),
            Operands::Numbers(numbers) => bind_any(numbers, self),
            Operands::Times(times) => bind_any(times, self),
            Operands::Ids(ids) => bind_any(uuids(&ids), self),
        }
    }

    fn contains_any(&mut self, column: &'static str, texts: Vec<String>) {
        self.push(column).push(" && ").bind(texts);
    }

    fn metadata_exists(&mut self, key: &str) {
        self.push("(coalesce(json_typeof(r.metadata -> ").bind(key.to_owned()).push("), 'null') <> 'null')");
    }

    fn compare_metadata(&mut self, key: &str, op: Op, operands: MetadataOperands) {
        let MetadataOperands { texts, numbers, bools } = operands;
        self.push("EXISTS (SELECT FROM json_array_elements(CASE json_typeof(r.metadata -> ").bind(key.to_owned());
        self.push(") WHEN 'array' THEN r.metadata -> ").bind(key.to_owned());
        self.push(" ELSE json_build_array(r.metadata -> ").bind(key.to_owned());
        // `CASE`, since only it guarantees that a text is not cast to a number before its type is tested.
        self.push(") END) e (value) WHERE CASE json_typeof(e.value) ");
        if !texts.is_empty() {
            self.push("WHEN 'string' THEN (e.value #>> '{}') COLLATE \"C\"").compare(op, Operands::Texts(texts));
        }
        if !numbers.is_empty() {
            self.push(" WHEN 'number' THEN (e.value #>> '{}')::double precision")
                .compare(op, Operands::Numbers(numbers));
        }
        if !bools.is_empty() {
            let bools = bools.iter().map(ToString::to_string).collect();
            self.push(" WHEN 'boolean' THEN (e.value #>> '{}') COLLATE \"C\"").compare(op, Operands::Texts(bools));
        }
        self.push(" ELSE false END)");
    }
}

/// Appends one value, or `ANY` of several.
fn bind_any<T>(mut values: Vec<T>, statement: &mut StatementBuilder)
where
    T: for<'q> Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType + 'static,
{
    match (values.pop(), values.is_empty()) {
        (Some(only), true) => {
            statement.bind(only);
        }
        (last, _) => {
            values.extend(last);
            statement.push("ANY (").bind(values).push(")");
        }
    }
}

/// Returns the SQL condition of a filter. For tests of the compiler without a server.
///
/// # Errors
/// `Unsupported` for a filter that this version cannot translate.
#[doc(hidden)]
pub fn compiled_filter(filter: &Filter) -> Result<String> {
    filter::check(filter)?;
    let mut statement = StatementBuilder::default();
    filter::write(filter, &mut statement);
    Ok(statement.sql())
}
