//! Random valid filters.

use memory_engine_core::{Field, Filter, FilterValue, Op, State, Timestamp, Trust, ValueType};
use proptest::{collection::vec, prelude::*, sample::select};

use super::pools::{KEYS, NUMBERS, SHARES, TEXTS, TIMES};
use crate::fixtures::id;

/// Returns 1 to `max` filters, nested up to three levels deep. Each passes [`Filter::validate`].
pub(crate) fn filters(max: usize) -> impl Strategy<Value = Vec<Filter>> {
    let tree = leaf().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            2 => vec(inner.clone(), 0..4).prop_map(Filter::And),
            2 => vec(inner.clone(), 0..4).prop_map(Filter::Or),
            2 => inner.prop_map(|one| Filter::Not(Box::new(one))),
        ]
    });
    vec(tree, 1..=max)
}

fn leaf() -> impl Strategy<Value = Filter> {
    let ops = select(&Op::ALL[..]);
    let compare = move |field: Field| {
        (ops.clone(), value(&field)).prop_map(move |(op, value)| {
            let ordered = match (field.value_type(), &value) {
                (ValueType::Texts | ValueType::Id | ValueType::Bool, _) | (ValueType::Json, FilterValue::Bool(_)) => {
                    false
                }
                (ValueType::Text | ValueType::Number | ValueType::Time | ValueType::Json | _, _) => true,
            };
            Filter::Compare(field.clone(), if ordered { op } else { Op::Eq }, value)
        })
    };
    let is_in = |field: Field| vec(value(&field), 0..4).prop_map(move |values| Filter::In(field.clone(), values));
    prop_oneof![
        4 => field().prop_flat_map(compare),
        1 => field().prop_flat_map(is_in),
        1 => field().prop_map(Filter::Exists),
    ]
}

fn field() -> impl Strategy<Value = Field> {
    let plain: Vec<Field> = Field::plain().collect();
    prop_oneof![3 => select(plain), 2 => select(KEYS).prop_map(|key| Field::Metadata(key.into()))]
}

#[allow(clippy::wildcard_enum_match_arm, reason = "most values depend only on the type of the field")]
fn value(field: &Field) -> BoxedStrategy<FilterValue> {
    let text = || select(TEXTS).prop_map(FilterValue::from);
    let names =
        |names: Vec<&'static str>| prop_oneof![select(names), select(TEXTS)].prop_map(FilterValue::from).boxed();
    let number = || prop_oneof![select(NUMBERS), select(SHARES)].prop_map(FilterValue::Number);
    match field {
        Field::Kind => names(vec!["turn", "fact", "Turn"]),
        Field::Role => names(vec!["user"]),
        // Filter::validate rejects other values of these two fields.
        Field::Trust => select(Trust::ALL).prop_map(FilterValue::from).boxed(),
        Field::State => select(State::ALL).prop_map(FilterValue::from).boxed(),
        Field::Agent | Field::Session | Field::Branch => names(vec!["b", "%", "a", "b/b", "_"]),
        other => match other.value_type() {
            ValueType::Number => number().boxed(),
            ValueType::Time => select(TIMES).prop_map(|t| FilterValue::Time(Timestamp::from_micros(t))).boxed(),
            // Ids are compared without regard to case.
            ValueType::Id => (1..16_u8, any::<bool>())
                .prop_map(|(n, upper)| (id(n * 11 % 16).to_string(), upper))
                .prop_map(|(id, upper)| FilterValue::Text(if upper { id.to_uppercase() } else { id }))
                .boxed(),
            ValueType::Bool => any::<bool>().prop_map(FilterValue::Bool).boxed(),
            ValueType::Json => prop_oneof![text(), number(), any::<bool>().prop_map(FilterValue::Bool)].boxed(),
            _ => text().boxed(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn every_random_filter_is_valid(filters in filters(8)) {
            for filter in filters {
                prop_assert!(filter.validate().is_ok(), "{filter:?}");
            }
        }
    }
}
