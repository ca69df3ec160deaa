//! Translates filters to SQL conditions on the row `r` of `records` and the row of its address, which has the columns
//! of agent, session and branch.
//!
//! Every condition is true or false and never NULL, so that `NOT` gives the same result as in [`Filter::matches`].

use memory_engine_core::{Error, ErrorKind, Field, Filter, FilterValue, Op, RecordId, Result, ValueType};

use crate::record_columns::{UnsetValue, filter_column};

/// A statement that is being built in the SQL of one database. Values are bound as parameters, never written into the
/// text.
pub trait SqlDialect: Sized {
    /// A condition that is always true.
    const TRUE: &'static str;
    /// A condition that is always false.
    const FALSE: &'static str;
    /// The comparison that is true for a list column with at least one element.
    const IS_NOT_EMPTY_LIST: &'static str;
    /// The columns of agent, session and branch; an empty text stands for a dimension that is not set.
    const ADDRESS_COLUMNS: [&'static str; 3];

    /// Appends SQL.
    fn append(&mut self, sql: &'static str) -> &mut Self;

    /// Appends these filters, each by [`write()`], with `separator` between them.
    fn join(&mut self, filters: &[Filter], separator: &'static str);

    /// Appends the operator and the operands of a comparison whose column is already appended. With more than one
    /// operand `op` is [`Op::Eq`], and the condition is true if one operand is equal.
    fn compare(&mut self, op: Op, operands: Operands);

    /// Appends the condition that a list column contains one of these texts.
    fn contains_any(&mut self, column: &'static str, texts: Vec<String>);

    /// Appends the condition that the metadata value under this key exists and is not null.
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
        let values = values.iter();
        let operands = match column {
            ValueType::Text | ValueType::Texts => Self::Texts(values.filter_map(text).map(str::to_owned).collect()),
            ValueType::Id => Self::Ids(values.filter_map(text).filter_map(|id| id.parse().ok()).collect()),
            ValueType::Number => Self::Numbers(values.filter_map(number).collect()),
            ValueType::Time => Self::Times(values.filter_map(time_in_micros).collect()),
            // Conditions on booleans have no operands: see `compare`.
            ValueType::Bool | ValueType::Json => return None,
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

fn text(value: &FilterValue) -> Option<&str> {
    if let FilterValue::Text(text) = value { Some(text) } else { None }
}

fn number(value: &FilterValue) -> Option<f64> {
    if let FilterValue::Number(number) = value { Some(*number) } else { None }
}

fn time_in_micros(value: &FilterValue) -> Option<i64> {
    if let FilterValue::Time(time) = value { Some(time.as_micros()) } else { None }
}

/// The right side of a comparison with a value in the metadata, by JSON type. At least one of the lists is not empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetadataOperands {
    /// The strings.
    pub texts: Vec<String>,
    /// The numbers.
    pub numbers: Vec<f64>,
    /// The booleans.
    pub bools: Vec<bool>,
}

impl MetadataOperands {
    fn new(values: &[FilterValue]) -> Self {
        let mut operands = Self::default();
        for value in values {
            match value {
                FilterValue::Text(text) => operands.texts.push(text.clone()),
                FilterValue::Number(number) => operands.numbers.push(*number),
                FilterValue::Bool(value) => operands.bools.push(*value),
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

/// Replaces a condition that this version cannot translate. It is NULL, so that neither the condition nor `NOT` of it
/// is true for a row. Only a filter that was not [checked](check) contains such a condition.
const UNKNOWN_CONDITION: &str = "NULL";

/// Replaces an operator that this version cannot translate. With its operands the condition is `a = NULL AND NULL = b`,
/// which is NULL for all operands, as [`UNKNOWN_CONDITION`] is.
const UNKNOWN_OPERATOR: &str = " = NULL AND NULL = ";

/// Refuses a filter that this version cannot translate: it has a condition, a field, an operator or a type of value
/// that a later version of the core crate has added.
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
        Filter::And(filters) | Filter::Or(filters) => filters.iter().try_for_each(check),
        Filter::Not(filter) => check(filter),
        _ => Err(unsupported("condition")),
    }
}

fn check_comparison(field: &Field, values: &[FilterValue]) -> Result<()> {
    if !matches!(field, Field::Metadata(_)) && filter_column(field, ["", "", ""]).is_none() {
        return Err(unsupported("field"));
    }
    let is_known = |value: &FilterValue| {
        matches!(value, FilterValue::Bool(_) | FilterValue::Number(_) | FilterValue::Text(_) | FilterValue::Time(_))
    };
    if values.iter().all(is_known) { Ok(()) } else { Err(unsupported("type of value")) }
}

fn unsupported(element: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "filter",
        format!("this version of the database backend does not support this {element}; update it"),
    )
}

/// Appends the condition of a filter that has been validated and [checked](check).
pub fn write<D: SqlDialect>(filter: &Filter, statement: &mut D) {
    match filter {
        Filter::Compare(field, op, value) => compare(field, *op, std::slice::from_ref(value), statement),
        Filter::In(field, values) => compare(field, Op::Eq, values, statement),
        Filter::Exists(field) => exists(field, statement),
        Filter::And(filters) if filters.is_empty() => drop(statement.append(D::TRUE)),
        Filter::Or(filters) if filters.is_empty() => drop(statement.append(D::FALSE)),
        Filter::And(filters) => statement.join(filters, " AND "),
        Filter::Or(filters) => statement.join(filters, " OR "),
        Filter::Not(filter) => {
            write(filter, statement.append("(NOT "));
            statement.append(")");
        }
        _ => drop(statement.append(UNKNOWN_CONDITION)),
    }
}

/// Returns true if a filter reads a column of the address, and not only columns of the record.
pub fn reads_address(filter: &Filter) -> bool {
    match filter {
        Filter::Compare(field, ..) | Filter::In(field, _) | Filter::Exists(field) => {
            matches!(field, Field::Agent | Field::Session | Field::Branch)
        }
        Filter::And(filters) | Filter::Or(filters) => filters.iter().any(reads_address),
        Filter::Not(filter) => reads_address(filter),
        _ => false,
    }
}

/// Returns the SQL operator of a comparison that has been [checked](check).
pub fn operator(op: Op) -> &'static str {
    known_operator(op).unwrap_or(UNKNOWN_OPERATOR)
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

impl UnsetValue {
    /// Returns the comparison that is true if the field is set.
    fn set_comparison<D: SqlDialect>(self) -> &'static str {
        match self {
            Self::Never | Self::Null => " IS NOT NULL",
            Self::EmptyText => " <> ''",
            Self::EmptyList => D::IS_NOT_EMPTY_LIST,
        }
    }
}

/// Returns the column of a field and the value of that column if the field is not set; `None` for metadata.
fn column<D: SqlDialect>(field: &Field) -> Option<(&'static str, UnsetValue)> {
    filter_column(field, D::ADDRESS_COLUMNS)
}

/// Appends the condition that the field is set.
fn exists<D: SqlDialect>(field: &Field, statement: &mut D) {
    match (field, column::<D>(field)) {
        (Field::Metadata(key), _) => statement.metadata_exists(key),
        (_, Some((column, unset))) => {
            statement.append("(").append(column).append(unset.set_comparison::<D>()).append(")");
        }
        (_, None) => drop(statement.append(D::FALSE)),
    }
}

/// Appends the condition that the comparison of the field is true for one of the values.
fn compare<D: SqlDialect>(field: &Field, op: Op, values: &[FilterValue], statement: &mut D) {
    if let Field::Metadata(key) = field {
        let operands = MetadataOperands::new(values);
        if operands.is_empty() {
            statement.append(D::FALSE);
        } else {
            statement.compare_metadata(key, op, operands);
        }
        return;
    }
    if field.value_type() == ValueType::Bool {
        compare_bool(field, values, statement);
        return;
    }
    let (Some((column, unset)), Some(operands)) = (column::<D>(field), Operands::new(field.value_type(), values))
    else {
        statement.append(D::FALSE);
        return;
    };
    statement.append("(");
    match operands {
        Operands::Texts(texts) if field.value_type() == ValueType::Texts => statement.contains_any(column, texts),
        operands @ (Operands::Texts(_) | Operands::Numbers(_) | Operands::Times(_) | Operands::Ids(_)) => {
            if unset != UnsetValue::Never {
                statement.append(column).append(unset.set_comparison::<D>()).append(" AND ");
            }
            statement.append(column).compare(op, operands);
        }
    }
    statement.append(")");
}

/// Appends the condition that a boolean field equals one of the values. The condition is the column itself, so that the
/// database can use an index on the rows for which it is true.
fn compare_bool<D: SqlDialect>(field: &Field, values: &[FilterValue], statement: &mut D) {
    let contains = |value: bool| values.contains(&FilterValue::Bool(value));
    match (column::<D>(field), contains(true), contains(false)) {
        (Some(_), true, true) => drop(statement.append(D::TRUE)),
        (Some((column, _)), true, false) => drop(statement.append(column)),
        (Some((column, _)), false, true) => drop(statement.append("(NOT ").append(column).append(")")),
        (None, ..) | (Some(_), false, false) => drop(statement.append(D::FALSE)),
    }
}

/// Returns true if every record that matches the filter is pinned.
pub fn requires_pinned(filter: &Filter) -> bool {
    match filter {
        Filter::Compare(Field::Pinned, Op::Eq, FilterValue::Bool(pinned)) => *pinned,
        Filter::And(filters) => filters.iter().any(requires_pinned),
        Filter::Compare(..) | Filter::In(..) | Filter::Exists(_) | Filter::Or(_) | Filter::Not(_) | _ => false,
    }
}

#[cfg(test)]
mod tests;
