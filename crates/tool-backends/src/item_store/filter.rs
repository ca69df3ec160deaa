//! Conditions on the fields of a value.

use std::cmp::Ordering;

use memory_engine::{Error, Result, compare_numbers};
use serde_json::{Map, Value};

/// The operators of a condition.
const OPERATORS: [&str; 6] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"];

/// Checks the operators of a filter.
///
/// # Errors
/// `InvalidInput` for an unknown operator.
pub(crate) fn check(filter: &Map<String, Value>) -> Result<()> {
    let names = filter.values().filter_map(conditions).flat_map(Map::keys);
    match names.into_iter().find(|name| !OPERATORS.contains(&name.as_str())) {
        Some(unknown) => {
            let known = OPERATORS.join(", ");
            Err(Error::invalid("item_store", format!("unknown operator {unknown:?}; the operators are {known}")))
        }
        None => Ok(()),
    }
}

/// Returns true if the value meets all conditions.
pub(crate) fn matches(filter: &Map<String, Value>, value: &Map<String, Value>) -> bool {
    filter.iter().all(|(field, condition)| {
        let found = value.get(field).unwrap_or(&Value::Null);
        match conditions(condition) {
            None => equal(found, condition),
            Some(conditions) => conditions.iter().all(|(operator, other)| holds(found, operator, other)),
        }
    })
}

/// Returns the operators of a condition. `None` for a value to compare with.
fn conditions(condition: &Value) -> Option<&Map<String, Value>> {
    condition.as_object().filter(|fields| !fields.is_empty() && fields.keys().all(|name| name.starts_with('$')))
}

fn holds(found: &Value, operator: &str, other: &Value) -> bool {
    let order = || compare(found, other);
    match operator {
        "$eq" => equal(found, other),
        "$ne" => !equal(found, other),
        "$gt" => order() == Some(Ordering::Greater),
        "$gte" => order().is_some_and(Ordering::is_ge),
        "$lt" => order() == Some(Ordering::Less),
        _ => order().is_some_and(Ordering::is_le),
    }
}

/// Compares values; 1 and 1.0 are equal.
fn equal(a: &Value, b: &Value) -> bool {
    a == b || compare(a, b) == Some(Ordering::Equal)
}

/// Compares two numbers or two texts. `None` for other values.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn conditions_are_compared() {
        let value =
            object(json!({ "city": "柏林", "score": 5, "id": 653_247_040_368_672_769_i64, "meta": { "a": 1 } }));
        for (filter, expected) in [
            (json!({}), true),
            (json!({ "city": "柏林" }), true),
            (json!({ "city": "Porto" }), false),
            (json!({ "score": 5.0 }), true),
            (json!({ "id": 653_247_040_368_672_769_i64 }), true),
            (json!({ "id": 653_247_040_368_672_768_i64 }), false),
            (json!({ "id": { "$gt": 653_247_040_368_672_768_i64 } }), true),
            (json!({ "score": { "$gt": 4, "$lte": 5 } }), true),
            (json!({ "score": { "$lt": 5 } }), false),
            (json!({ "score": { "$gte": "4" } }), false),
            (json!({ "missing": { "$ne": 1 } }), true),
            (json!({ "missing": null }), true),
            (json!({ "meta": { "a": 1 } }), true),
            (json!({ "meta": { "a": 2 } }), false),
        ] {
            assert_eq!(matches(&object(filter.clone()), &value), expected, "{filter}");
        }
    }

    #[test]
    fn unknown_operators_are_refused() {
        let error = check(&object(json!({ "score": { "$near": 4 } }))).unwrap_err().to_string();
        assert!(error.contains("\"$near\"") && error.contains("$gte"), "{error}");
        check(&object(json!({ "score": { "$eq": 4 }, "meta": { "near": 4 } }))).unwrap();
    }
}
