//! Filters in SQLite's SQL, over the rows `r` of `records` and `s` of `scopes`.

use memory_engine_core::{Filter, Op};
use memory_engine_sql::filter::{self, Dialect, MetadataOperands, Operands};
use rusqlite::{Connection, functions::FunctionFlags, types::Value};

use crate::database::statement::Statement;

/// Gives a connection the function that filters use besides SQLite's own.
///
/// `exact_number` reads a number as Rust does, to the nearest floating-point one: SQLite's own reading can be its
/// neighbour, and then a number is not equal to itself.
pub(crate) fn define_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("exact_number", 1, flags, |context| {
        let number = context.get_raw(0).as_str_or_null().map_err(rusqlite::Error::from)?;
        Ok(number.and_then(|number| number.parse::<f64>().ok()))
    })
}

impl Dialect for Statement {
    const TRUE: &'static str = "1";
    const FALSE: &'static str = "0";
    const IS_NOT_EMPTY_LIST: &'static str = " <> '[]'";
    const ADDRESS_COLUMNS: [&'static str; 3] = ["s.agent", "s.session", "s.branch"];

    fn append(&mut self, sql: &'static str) -> &mut Self {
        self.push(sql)
    }

    fn join(&mut self, filters: &[Filter], separator: &'static str) {
        self.balanced(filters, separator, &mut |to, filter| filter::write(filter, to));
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
        self.push("EXISTS (SELECT 1 FROM json_each(").push(column).push(") WHERE value");
        compare_values(Op::Eq, texts.into_iter().map(Value::Text).collect(), self);
        self.push(")");
    }

    fn metadata_exists(&mut self, key: &str) {
        self.push("coalesce(json_type(r.metadata, ").bind(path(key)).push("), 'null') <> 'null'");
    }

    fn compare_metadata(&mut self, key: &str, op: Op, operands: MetadataOperands) {
        let kinds: [(&str, Vec<Value>); 3] = [
            ("type = 'text' AND value", operands.texts.into_iter().map(Value::Text).collect()),
            (
                "type IN ('integer', 'real') AND exact_number(r.metadata -> fullkey)",
                operands.numbers.into_iter().map(Value::Real).collect(),
            ),
            (
                "type IN ('true', 'false') AND value",
                operands.bools.into_iter().map(|truth| Value::Integer(truth.into())).collect(),
            ),
        ];
        self.push("(json_type(r.metadata, ").bind(path(key));
        self.push(") IS NOT 'object' AND EXISTS (SELECT 1 FROM json_each(r.metadata, ")
            .bind(path(key))
            .push(") WHERE ");
        let kinds = kinds.into_iter().filter(|(_, values)| !values.is_empty());
        for (i, (condition, values)) in kinds.enumerate() {
            self.push(if i > 0 { " OR " } else { "" }).push(condition);
            compare_values(op, values, self);
        }
        self.push("))");
    }
}

fn compare_values(op: Op, values: Vec<Value>, to: &mut Statement) {
    match <[Value; 1]>::try_from(values) {
        Ok([one]) => to.push(filter::operator(op)).bind(one),
        Err(several) => to.push(" IN (").bind_all(several).push(")"),
    };
}

/// The JSON path of a top-level key. A key that has been validated holds nothing that would end the quotes.
fn path(key: &str) -> Value {
    Value::Text(format!("$.\"{key}\""))
}
