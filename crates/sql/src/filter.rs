//! Translates filters to SQL conditions over the row `r` of `records` and the row of its address, which holds agent,
//! session and branch.
//!
//! Every condition is true or false and never NULL, so that `NOT` means what [`Filter::matches`] means by it.

use memory_engine_core::{Error, ErrorKind, Field, Filter, FilterValue, Op, RecordId, Result, ValueType};

/// A statement that is being built in the SQL of one database. Values are bound as parameters, never written into the
/// text.
pub trait Dialect: Sized {
    /// The condition that always holds.
    const TRUE: &'static str;
    /// The condition that never holds.
    const FALSE: &'static str;
    /// The comparison that holds for a list column with at least one element.
    const IS_NOT_EMPTY_LIST: &'static str;
    /// The columns of agent, session and branch; an empty text stands for a dimension that is not set.
    const ADDRESS_COLUMNS: [&'static str; 3];

    /// Appends SQL.
    fn append(&mut self, sql: &'static str) -> &mut Self;

    /// Appends these filters, each by [`write()`], with `separator` between them.
    fn join(&mut self, filters: &[Filter], separator: &'static str);

    /// Appends the operator and the operands of a comparison whose column is already appended. With more than one
    /// operand `op` is [`Op::Eq`], and the condition holds if one operand is equal.
    fn compare(&mut self, op: Op, operands: Operands);

    /// Appends the condition that a list column holds one of these texts.
    fn contains_any(&mut self, column: &'static str, texts: Vec<String>);

    /// Appends the condition that the metadata have a value other than null under this key.
    fn metadata_exists(&mut self, key: &str);

    /// Appends the condition that the metadata value under `key` satisfies `op` for at least one operand. A list
    /// satisfies it if one element does. An object never does.
    fn compare_metadata(&mut self, key: &str, op: Op, operands: MetadataOperands);
}

/// The right side of a comparison with a column, at least one value.
#[derive(Debug, Clone, PartialEq)]
pub enum Operands {
    /// For a column of texts.
    Texts(Vec<String>),
    /// For a column of numbers.
    Numbers(Vec<f64>),
    /// For a column of times, in microseconds.
    Times(Vec<i64>),
    /// For a column of record ids.
    Ids(Vec<RecordId>),
}

impl Operands {
    /// Returns the values whose type matches the column; `None` if there are none, so that the comparison is false.
    fn new(column: ValueType, values: &[FilterValue]) -> Option<Self> {
        let texts =
            || values.iter().filter_map(|value| if let FilterValue::Text(text) = value { Some(text) } else { None });
        let number = |value: &FilterValue| if let FilterValue::Number(number) = value { Some(*number) } else { None };
        let time =
            |value: &FilterValue| if let FilterValue::Time(time) = value { Some(time.as_micros()) } else { None };
        let operands = match column {
            ValueType::Text | ValueType::Texts => Self::Texts(texts().cloned().collect()),
            ValueType::Id => Self::Ids(texts().filter_map(|id| id.parse().ok()).collect()),
            ValueType::Number => Self::Numbers(values.iter().filter_map(number).collect()),
            ValueType::Time => Self::Times(values.iter().filter_map(time).collect()),
            ValueType::Json => return None,
            _ => return None,
        };
        (!operands.is_empty()).then_some(operands)
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Texts(values) => values.is_empty(),
            Self::Numbers(values) => values.is_empty(),
            Self::Times(values) => values.is_empty(),
            Self::Ids(values) => values.is_empty(),
        }
    }
}

/// The right side of a comparison with a value in the metadata, by JSON type. At least one list has a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetadataOperands {
    /// The strings.
    pub texts: Vec<String>,
    /// The numbers.
    pub numbers: Vec<f64>,
    /// The truth values.
    pub bools: Vec<bool>,
}

impl MetadataOperands {
    fn new(values: &[FilterValue]) -> Self {
        let mut operands = Self::default();
        for value in values {
            match value {
                FilterValue::Text(text) => operands.texts.push(text.clone()),
                FilterValue::Number(number) => operands.numbers.push(*number),
                FilterValue::Bool(truth) => operands.bools.push(*truth),
                FilterValue::Time(_) => {}
                _ => {}
            }
        }
        operands
    }

    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.numbers.is_empty() && self.bools.is_empty()
    }
}

/// The condition that is neither true nor false, so that `NOT` of it holds for no row either.
const UNKNOWN: &str = "NULL";

/// Refuses a filter that this version cannot translate, because a later version of the core crate has added to it.
///
/// # Errors
/// `Unsupported`.
pub fn check(filter: &Filter) -> Result<()> {
    match filter {
        Filter::Compare(field, op, value) => {
            known_operator(*op).ok_or_else(|| unsupported("operator"))?;
            check_comparison(field, std::slice::from_ref(value))
        }
        Filter::In(field, values) => check_comparison(field, values),
        Filter::Exists(field) => check_comparison(field, &[]),
        Filter::And(some) | Filter::Or(some) => some.iter().try_for_each(check),
        Filter::Not(one) => check(one),
        _ => Err(unsupported("condition")),
    }
}

fn check_comparison(field: &Field, values: &[FilterValue]) -> Result<()> {
    if !matches!(field, Field::Metadata(_)) && field_column(field, ["", "", ""]).is_none() {
        return Err(unsupported("field"));
    }
    let is_known = |value: &FilterValue| {
        matches!(value, FilterValue::Bool(_) | FilterValue::Number(_) | FilterValue::Text(_) | FilterValue::Time(_))
    };
    if values.iter().all(is_known) { Ok(()) } else { Err(unsupported("type of value")) }
}

fn unsupported(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, "filter", format!("this database cannot compare by this {what}"))
}

/// Appends a filter that has been validated and [checked](check).
pub fn write<D: Dialect>(filter: &Filter, to: &mut D) {
    match filter {
        Filter::Compare(field, op, value) => compare(field, *op, std::slice::from_ref(value), to),
        Filter::In(field, values) => compare(field, Op::Eq, values, to),
        Filter::Exists(field) => exists(field, to),
        Filter::And(all) if all.is_empty() => drop(to.append(D::TRUE)),
        Filter::Or(any) if any.is_empty() => drop(to.append(D::FALSE)),
        Filter::And(all) => to.join(all, " AND "),
        Filter::Or(any) => to.join(any, " OR "),
        Filter::Not(one) => {
            write(one, to.append("(NOT "));
            to.append(")");
        }
        _ => drop(to.append(UNKNOWN)),
    }
}

/// Returns true if a filter reads a column of the address, and not only columns of the record.
pub fn reads_address(filter: &Filter) -> bool {
    match filter {
        Filter::Compare(field, ..) | Filter::In(field, _) | Filter::Exists(field) => {
            matches!(field, Field::Agent | Field::Session | Field::Branch)
        }
        Filter::And(some) | Filter::Or(some) => some.iter().any(reads_address),
        Filter::Not(one) => reads_address(one),
        _ => false,
    }
}

/// The SQL comparison operator of an operator that has been [checked](check).
pub fn operator(op: Op) -> &'static str {
    known_operator(op).unwrap_or(" = NULL AND NULL = ")
}

fn known_operator(op: Op) -> Option<&'static str> {
    match op {
        Op::Eq => Some(" = "),
        Op::Lt => Some(" < "),
        Op::Le => Some(" <= "),
        Op::Gt => Some(" > "),
        Op::Ge => Some(" >= "),
        _ => None,
    }
}

/// The value of a column for a field that is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// The field is always set.
    Never,
    Null,
    EmptyText,
    EmptyList,
}

impl Missing {
    /// The comparison that holds where the field is set.
    fn is_set<D: Dialect>(self) -> &'static str {
        match self {
            Self::Never | Self::Null => " IS NOT NULL",
            Self::EmptyText => " <> ''",
            Self::EmptyList => D::IS_NOT_EMPTY_LIST,
        }
    }
}

/// The column of a field; `None` for metadata.
fn column<D: Dialect>(field: &Field) -> Option<(&'static str, Missing)> {
    field_column(field, D::ADDRESS_COLUMNS)
}

fn field_column(field: &Field, [agent, session, branch]: [&'static str; 3]) -> Option<(&'static str, Missing)> {
    Some(match field {
        Field::Id => ("r.id", Missing::Never),
        Field::Agent => (agent, Missing::EmptyText),
        Field::Session => (session, Missing::EmptyText),
        Field::Branch => (branch, Missing::EmptyText),
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
        Field::Sequence => ("CAST(r.sequence AS DOUBLE PRECISION)", Missing::Null),
        Field::Round => ("CAST(r.round AS DOUBLE PRECISION)", Missing::Null),
        Field::Trust => ("r.trust", Missing::Never),
        Field::State => ("r.state", Missing::Never),
        Field::OccurredAt => ("r.occurred_at", Missing::Never),
        Field::RecordedAt => ("r.recorded_at", Missing::Never),
        Field::ValidFrom => ("r.valid_from", Missing::Null),
        Field::ValidUntil => ("r.valid_until", Missing::Null),
        Field::Metadata(_) => return None,
        _ => return None,
    })
}

fn exists<D: Dialect>(field: &Field, to: &mut D) {
    match (field, column::<D>(field)) {
        (Field::Metadata(key), _) => to.metadata_exists(key),
        (_, Some((column, missing))) => {
            to.append("(").append(column).append(missing.is_set::<D>()).append(")");
        }
        (_, None) => drop(to.append(D::FALSE)),
    }
}

/// Appends the condition that the field compares to one of the values.
fn compare<D: Dialect>(field: &Field, op: Op, values: &[FilterValue], to: &mut D) {
    if let Field::Metadata(key) = field {
        let operands = MetadataOperands::new(values);
        if operands.is_empty() {
            to.append(D::FALSE);
        } else {
            to.compare_metadata(key, op, operands);
        }
        return;
    }
    let (Some((column, missing)), Some(operands)) = (column::<D>(field), Operands::new(field.value_type(), values))
    else {
        to.append(D::FALSE);
        return;
    };
    to.append("(");
    match operands {
        Operands::Texts(texts) if field.value_type() == ValueType::Texts => to.contains_any(column, texts),
        operands @ (Operands::Texts(_) | Operands::Numbers(_) | Operands::Times(_) | Operands::Ids(_)) => {
            if missing != Missing::Never {
                to.append(column).append(missing.is_set::<D>()).append(" AND ");
            }
            to.append(column).compare(op, operands);
        }
    }
    to.append(")");
}

#[cfg(test)]
mod tests;
