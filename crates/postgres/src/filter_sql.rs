//! Filters as SQL over the rows `r` of `records` and `a` of `addresses`.
//!
//! Every part is true or false and never NULL, so that `NOT` means what [`Filter::matches`] means by it.

use memory_engine_core::{Field, Filter, Op, RecordId, Value, ValueType};
use sqlx::{Encode, Postgres, Type, postgres::PgHasArrayType};
use uuid::Uuid;

use crate::{database::statement::Statement, records::scopes::uuid};

/// Writes a filter that has been validated.
pub(crate) fn write(filter: &Filter, to: &mut Statement) {
    match filter {
        Filter::Compare(field, op, value) => compare(field, *op, std::slice::from_ref(value), to),
        Filter::In(field, values) => compare(field, Op::Eq, values, to),
        Filter::Exists(field) => exists(field, to),
        Filter::And(all) if all.is_empty() => drop(to.push("true")),
        Filter::Or(any) if any.is_empty() => drop(to.push("false")),
        Filter::And(all) => to.join(all, " AND ", &mut |to, one| write(one, to)),
        Filter::Or(any) => to.join(any, " OR ", &mut |to, one| write(one, to)),
        Filter::Not(one) => {
            write(one, to.push("(NOT "));
            to.push(")");
        }
    }
}

/// Whether a filter asks for a part of the address, and not only for what is in the record's own row.
pub(crate) fn asks_for_address(filter: &Filter) -> bool {
    match filter {
        Filter::Compare(field, ..) | Filter::In(field, _) | Filter::Exists(field) => {
            matches!(field, Field::Agent | Field::Session | Field::Branch)
        }
        Filter::And(some) | Filter::Or(some) => some.iter().any(asks_for_address),
        Filter::Not(one) => asks_for_address(one),
    }
}

/// The column of a field, and what stands in it when the field is missing.
fn column(field: &Field) -> Option<(&'static str, Missing)> {
    Some(match field {
        Field::Id => ("r.id", Missing::Never),
        Field::Agent => ("a.agent", Missing::Empty),
        Field::Session => ("a.session", Missing::Empty),
        Field::Branch => ("a.branch", Missing::Empty),
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
        Field::Sequence => ("r.sequence::double precision", Missing::Null),
        Field::Round => ("r.round::double precision", Missing::Null),
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
            Self::EmptyList => " <> '{}'",
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
            to.push("(coalesce(json_typeof(r.metadata -> ").bind(key.clone()).push("), 'null') <> 'null')");
        }
        (_, Some((column, missing))) => drop(to.push("(").push(column).push(missing.there()).push(")")),
        (_, None) => drop(to.push("false")),
    }
}

/// The values as they are stored in a column.
enum Bound {
    Texts(Vec<String>),
    Numbers(Vec<f64>),
    Times(Vec<i64>),
    Ids(Vec<Uuid>),
}

impl Bound {
    /// Those that something in a column of this type can be like; `None`, when there are none.
    fn of(column: ValueType, values: &[Value]) -> Option<Self> {
        let texts = || values.iter().filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None });
        let bound = match column {
            ValueType::Text | ValueType::Texts => Self::Texts(texts().cloned().collect()),
            ValueType::Id => Self::Ids(texts().filter_map(|id| id.parse::<RecordId>().ok()).map(uuid).collect()),
            ValueType::Number => Self::Numbers(
                values.iter().filter_map(|value| if let Value::Number(n) = value { Some(*n) } else { None }).collect(),
            ),
            ValueType::Time => Self::Times(
                values
                    .iter()
                    .filter_map(|value| if let Value::Time(time) = value { Some(time.as_micros()) } else { None })
                    .collect(),
            ),
            ValueType::Json => return None,
        };
        (!bound.is_empty()).then_some(bound)
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Texts(values) => values.is_empty(),
            Self::Numbers(values) => values.is_empty(),
            Self::Times(values) => values.is_empty(),
            Self::Ids(values) => values.is_empty(),
        }
    }

    /// Goes on with the relation to any of them. Of a single one the planner knows how rare it is, and for a list it does not.
    fn relation(self, op: Op, to: &mut Statement) {
        to.push(sign(op));
        match self {
            Self::Texts(values) => any(values, to),
            Self::Numbers(values) => any(values, to),
            Self::Times(values) => any(values, to),
            Self::Ids(values) => any(values, to),
        }
    }
}

fn any<T>(mut values: Vec<T>, to: &mut Statement)
where
    T: for<'q> Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType + 'static,
{
    match (values.pop(), values.is_empty()) {
        (Some(only), true) => {
            to.bind(only);
        }
        (last, _) => {
            values.extend(last);
            to.push("ANY (").bind(values).push(")");
        }
    }
}

/// The condition that the field stands in this relation to one of the values.
fn compare(field: &Field, op: Op, values: &[Value], to: &mut Statement) {
    if let Field::Metadata(key) = field {
        return compare_metadata(key, op, values, to);
    }
    let (Some((column, missing)), Some(bound)) = (column(field), Bound::of(field.value_type(), values)) else {
        to.push("false");
        return;
    };
    to.push("(");
    match (field.value_type(), bound) {
        (ValueType::Texts, Bound::Texts(values)) => drop(to.push(column).push(" && ").bind(values)),
        (_, bound) => {
            if missing != Missing::Never {
                to.push(column).push(missing.there()).push(" AND ");
            }
            bound.relation(op, to.push(column));
        }
    }
    to.push(")");
}

/// A scalar compares by itself, a list by any of its elements, and an object by nothing.
fn compare_metadata(key: &str, op: Op, values: &[Value], to: &mut Statement) {
    let (mut texts, mut numbers, mut truths) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            Value::Text(text) => texts.push(text.clone()),
            Value::Number(number) => numbers.push(*number),
            Value::Bool(truth) => truths.push(truth.to_string()),
            Value::Time(_) => {}
        }
    }
    // `CASE`, since only it promises that a text is not read as a number before its type is known.
    let kinds = [
        ("WHEN 'string' THEN (e.value #>> '{}')", Bound::Texts(texts)),
        ("WHEN 'number' THEN (e.value #>> '{}')::double precision", Bound::Numbers(numbers)),
        ("WHEN 'boolean' THEN (e.value #>> '{}')", Bound::Texts(truths)),
    ];
    let kinds: Vec<_> = kinds.into_iter().filter(|(_, values)| !values.is_empty()).collect();
    if kinds.is_empty() {
        to.push("false");
        return;
    }
    to.push("EXISTS (SELECT FROM json_array_elements(CASE json_typeof(r.metadata -> ").bind(key.to_owned());
    to.push(") WHEN 'array' THEN r.metadata -> ").bind(key.to_owned());
    to.push(" ELSE json_build_array(r.metadata -> ").bind(key.to_owned());
    to.push(") END) e (value) WHERE CASE json_typeof(e.value) ");
    for (value, bound) in kinds {
        let text = matches!(bound, Bound::Texts(_));
        bound.relation(op, to.push(value).push(if text { " COLLATE \"C\"" } else { "" }));
        to.push(" ");
    }
    to.push("ELSE false END)");
}
