//! Conditions on the fields of a value.

use std::cmp::Ordering;

use memory_engine::{Error, Result, compare_numbers};
use serde_json::{Map, Value};

/// The operators of a condition.
const OPERATORS: [&str; 6] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"];

/// Checks the operators of a filter, also those below its first level.
///
/// # Errors
/// `InvalidInput` for an unknown operator, for fields next to operators, and for an operator without a field.
pub(crate) fn check(filter: &Map<String, Value>) -> Result<()> {
    if let Some(operator) = filter.keys().find(|name| name.starts_with('$')) {
        let message = format!("the operator {operator:?} has no field; write {{\"FIELD\": {{{operator:?}: VALUE}}}}");
        return Err(Error::invalid("item_store", message));
    }
    for fields in filter.values().filter_map(Value::as_object) {
        if !has_operators(fields) {
            check(fields)?;
        } else if let Some(unknown) = fields.keys().find(|name| !OPERATORS.contains(&name.as_str())) {
            let known = OPERATORS.join(", ");
            let message = format!("unknown operator {unknown:?}; the operators are {known}");
            return Err(Error::invalid("item_store", message));
        }
    }
    Ok(())
}

/// Returns true if the value meets all conditions. As in LangGraph's own store, an object without operators is a filter
/// for the object in the value, which may have more fields.
pub(crate) fn matches(filter: &Map<String, Value>, value: &Map<String, Value>) -> bool {
    filter.iter().all(|(field, condition)| {
        let found = value.get(field).unwrap_or(&Value::Null);
        match condition.as_object() {
            None => equal(found, condition),
            Some(operators) if has_operators(operators) => {
                operators.iter().all(|(operator, other)| holds(found, operator, other))
            }
            Some(fields) => found.as_object().is_some_and(|found| matches(fields, found)),
        }
    })
}

/// Returns true if a condition consists of operators, and not of fields of an object.
fn has_operators(condition: &Map<String, Value>) -> bool {
    condition.keys().any(|name| name.starts_with('$'))
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

/// Compares values. Of single numbers, 1 and 1.0 are equal.
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
        let meta = json!({ "a": 1, "b": { "c": true, "d": 2 } });
        let value = object(json!({ "city": "柏林", "score": 5, "id": 653_247_040_368_672_769_i64, "meta": meta }));
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
            (json!({ "meta": { "a": { "$gt": 0 }, "b": { "c": true } } }), true),
            (json!({ "meta": { "b": { "c": false } } }), false),
            (json!({ "meta": { "$eq": { "a": 1 } } }), false),
            (json!({ "meta": {} }), true),
            (json!({ "city": {} }), false),
            (json!({ "missing": {} }), false),
        ] {
            assert_eq!(matches(&object(filter.clone()), &value), expected, "{filter}");
        }
    }

    #[test]
    fn unknown_operators_are_refused() {
        let error = check(&object(json!({ "score": { "$near": 4 } }))).unwrap_err().to_string();
        assert!(error.contains("\"$near\"") && error.contains("$gte"), "{error}");
        for nested in [json!({ "meta": { "a": { "$near": 4 } } }), json!({ "meta": { "$gt": 4, "a": 4 } })] {
            check(&object(nested)).unwrap_err();
        }
        check(&object(json!({ "score": { "$eq": 4 }, "meta": { "near": { "$lt": 4 } } }))).unwrap();
    }
}
