//! Translates filters to conditions in SQLite's SQL, on the rows `r` of `records` and `s` of `scopes`.

use memory_engine_core::{Filter, Op};
use memory_engine_sql::filter::{self, MetadataOperands, Operands, SqlDialect};
use rusqlite::types::Value;

use crate::{database::statement::Statement, metadata_sql::MetadataComparison};

impl SqlDialect for Statement {
    const TRUE: &'static str = "1";
    const FALSE: &'static str = "0";
    const IS_NOT_EMPTY_LIST: &'static str = " <> '[]'";
    const ADDRESS_COLUMNS: [&'static str; 3] = ["s.agent", "s.session", "s.branch"];

    fn append(&mut self, sql: &'static str) -> &mut Self {
        self.push(sql)
    }

    fn join(&mut self, filters: &[Filter], separator: &'static str) {
        self.push_balanced(filters, separator, &mut |statement, filter| filter::write(filter, statement));
    }

    fn compare(&mut self, op: Op, operands: Operands) {
        let values = match operands {
            Operands::Texts(texts) => texts.into_iter().map(Value::Text).collect(),
            Operands::Numbers(numbers) => numbers.into_iter().map(Value::Real).collect(),
            Operands::Times(times) => times.into_iter().map(Value::Integer).collect(),
            Operands::Ids(ids) => ids.into_iter().map(|id| Value::Blob(id.as_bytes().to_vec())).collect(),
        };
        compare_values(op, values, self);
    }

    fn contains_any(&mut self, column: &'static str, texts: Vec<String>) {
        // SQLite's JSON functions fail for a damaged list or damaged metadata. Such a record does not match.
        self.push("EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(").push(column).push(") THEN ").push(column);
        self.push(" END) WHERE value");
        compare_values(Op::Eq, texts.into_iter().map(Value::Text).collect(), self);
        self.push(")");
    }

    fn metadata_exists(&mut self, key: &str) {
        self.push("coalesce(CASE WHEN json_valid(r.metadata) THEN json_type(r.metadata, ").bind(json_path(key));
        self.push(") END, 'null') <> 'null'");
    }

    fn compare_metadata(&mut self, key: &str, op: Op, operands: MetadataOperands) {
        let comparison = serde_json::to_string(&MetadataComparison::new(key, op, operands)).unwrap_or_default();
        self.push("metadata_holds(r.metadata, ").bind(comparison).push(")");
    }
}

/// Appends a comparison with one value, or with any of several for equality.
fn compare_values(op: Op, values: Vec<Value>, statement: &mut Statement) {
    match <[Value; 1]>::try_from(values) {
        Ok([value]) => statement.push(filter::operator(op)).bind(value),
        Err(values) => statement.push(" IN (").bind_all(values).push(")"),
    };
}

/// Returns the JSON path of a top-level key. A validated key contains no quote.
fn json_path(key: &str) -> Value {
    Value::Text(format!("$.\"{key}\""))
}
