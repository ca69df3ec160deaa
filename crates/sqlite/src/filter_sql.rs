//! Filters as SQL over the rows `r` of `records` and `s` of `scopes`.
//!
//! Every part is true or false and never NULL, so that `NOT` means what [`Filter::matches`] means by it.

use memory_engine_core::{Field, Filter, Op, RecordId, Value, ValueType};
use rusqlite::{Connection, functions::FunctionFlags, types::Value as Bound};

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

/// Writes a filter that has been validated.
pub(crate) fn write(filter: &Filter, to: &mut Statement) {
    match filter {
        Filter::Compare(field, op, value) => compare(field, *op, std::slice::from_ref(value), to),
        Filter::In(field, values) => compare(field, Op::Eq, values, to),
        Filter::Exists(field) => exists(field, to),
        Filter::And(all) if all.is_empty() => drop(to.push("1")),
        Filter::Or(any) if any.is_empty() => drop(to.push("0")),
        Filter::And(all) => to.balanced(all, " AND ", &mut |to, one| write(one, to)),
        Filter::Or(any) => to.balanced(any, " OR ", &mut |to, one| write(one, to)),
        Filter::Not(one) => {
            write(one, to.push("(NOT "));
            to.push(")");
        }
    }
}

/// The column of a field, and what stands in it when the field is missing.
fn column(field: &Field) -> Option<(&'static str, Missing)> {
    Some(match field {
        Field::Id => ("r.id", Missing::Never),
        Field::Agent => ("s.agent", Missing::Empty),
        Field::Session => ("s.session", Missing::Empty),
        Field::Branch => ("s.branch", Missing::Empty),
        Field::Kind => ("r.kind", Missing::Never),
        Field::Role => ("r.role", Missing::Null),
        Field::Speaker => ("r.speaker", Missing::Null),
        Field::Scene => ("r.scene", Missing::Null),
        Field::Topic => ("r.topic", Missing::Null),
        Field::Emotion => ("r.emotion", Missing::Null),
        Field::Entities => ("r.entities", Missing::EmptyList),
        Field::Tags => ("r.tags", Missing::EmptyList),
        Field::Confidence => ("r.confidence", Missing::Never),
        Field::Importance => ("r.importance", Missing::Never),
        Field::MessageId => ("r.message_id", Missing::Null),
        // `matches` compares whole numbers as floating-point ones.
        Field::Sequence => ("CAST(r.sequence AS REAL)", Missing::Null),
        Field::Round => ("CAST(r.round AS REAL)", Missing::Null),
        Field::Trust => ("r.trust", Missing::Never),
        Field::State => ("r.state", Missing::Never),
        Field::OccurredAt => ("r.occurred_at", Missing::Never),
        Field::RecordedAt => ("r.recorded_at", Missing::Never),
        Field::ValidFrom => ("r.valid_from", Missing::Null),
        Field::ValidUntil => ("r.valid_until", Missing::Null),
        Field::Metadata(_) => return None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Never,
    Null,
    Empty,
    EmptyList,
}

impl Missing {
    /// What follows the column in the condition that the field is there.
    fn there(self) -> &'static str {
        match self {
            Self::Never | Self::Null => " IS NOT NULL",
            Self::Empty => " <> ''",
            Self::EmptyList => " <> '[]'",
        }
    }
}

fn sign(op: Op) -> &'static str {
    match op {
        Op::Eq => " = ",
        Op::Lt => " < ",
        Op::Le => " <= ",
        Op::Gt => " > ",
        Op::Ge => " >= ",
    }
}

fn exists(field: &Field, to: &mut Statement) {
    match (field, column(field)) {
        (Field::Metadata(key), _) => {
            to.push("coalesce(json_type(r.metadata, ").bind(path(key)).push("), 'null') <> 'null'");
        }
        (_, Some((column, missing))) => drop(to.push(column).push(missing.there())),
        (_, None) => drop(to.push("0")),
    }
}

/// The condition that the field stands in this relation to one of the values.
fn compare(field: &Field, op: Op, values: &[Value], to: &mut Statement) {
    if let Field::Metadata(key) = field {
        return compare_metadata(key, op, values, to);
    }
    let values: Vec<Bound> = values.iter().filter_map(|value| bound(field.value_type(), value)).collect();
    let (Some((column, missing)), false) = (column(field), values.is_empty()) else {
        to.push("0");
        return;
    };
    to.push("(");
    if field.value_type() == ValueType::Texts {
        to.push("EXISTS (SELECT 1 FROM json_each(").push(column).push(") WHERE value");
        relation(op, values, to);
        to.push(")");
    } else {
        if missing != Missing::Never {
            to.push(column).push(missing.there()).push(" AND ");
        }
        to.push(column);
        relation(op, values, to);
    }
    to.push(")");
}

fn relation(op: Op, values: Vec<Bound>, to: &mut Statement) {
    match (op, <[Bound; 1]>::try_from(values)) {
        (_, Ok([one])) => drop(to.push(sign(op)).bind(one)),
        (_, Err(several)) => drop(to.push(" IN (").bind_all(several).push(")")),
    }
}

/// The value as it is stored in a column of this type; `None`, when nothing there can be like it.
fn bound(column: ValueType, value: &Value) -> Option<Bound> {
    match (column, value) {
        (ValueType::Text | ValueType::Texts, Value::Text(text)) => Some(Bound::Text(text.clone())),
        (ValueType::Number, Value::Number(number)) => Some(Bound::Real(*number)),
        (ValueType::Time, Value::Time(time)) => Some(Bound::Integer(time.as_micros())),
        (ValueType::Id, Value::Text(id)) => Some(Bound::Blob(id.parse::<RecordId>().ok()?.as_bytes().to_vec())),
        (
            ValueType::Text | ValueType::Texts | ValueType::Number | ValueType::Time | ValueType::Id | ValueType::Json,
            _,
        ) => None,
    }
}

/// The JSON path of a top-level key. A key that has been validated holds nothing that would end the quotes.
fn path(key: &str) -> Bound {
    Bound::Text(format!("$.\"{key}\""))
}

/// A scalar compares by itself, a list by any of its elements, and an object by nothing.
fn compare_metadata(key: &str, op: Op, values: &[Value], to: &mut Statement) {
    let (mut texts, mut numbers, mut truths) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            Value::Text(text) => texts.push(Bound::Text(text.clone())),
            Value::Number(number) => numbers.push(Bound::Real(*number)),
            Value::Bool(truth) => truths.push(Bound::Integer((*truth).into())),
            Value::Time(_) => {}
        }
    }
    let kinds = [
        ("type = 'text' AND value", texts),
        ("type IN ('integer', 'real') AND exact_number(r.metadata -> fullkey)", numbers),
        ("type IN ('true', 'false') AND value", truths),
    ];
    let kinds: Vec<_> = kinds.into_iter().filter(|(_, values)| !values.is_empty()).collect();
    if kinds.is_empty() {
        to.push("0");
        return;
    }
    to.push("(json_type(r.metadata, ").bind(path(key));
    to.push(") IS NOT 'object' AND EXISTS (SELECT 1 FROM json_each(r.metadata, ").bind(path(key)).push(") WHERE ");
    for (i, (condition, values)) in kinds.into_iter().enumerate() {
        to.push(if i > 0 { " OR " } else { "" }).push(condition);
        relation(op, values, to);
    }
    to.push("))");
}
