//! Conversion of rig's filters.

use memory_engine::{Field, Filter, FilterValue, Op};
use rig_core::vector_store::{
    VectorStoreError,
    request::{Filter as RigFilter, FilterError},
};
use serde_json::Value;

/// Returns the filter of the engine for a filter of rig.
///
/// A key is a field of memories, such as `role` or `occurred_at`, or `metadata.KEY`. Any other key is one of the
/// metadata, which are the fields of inserted documents.
pub(crate) fn to_engine_filter(filter: &RigFilter<Value>) -> Result<Filter, VectorStoreError> {
    let filter = convert(filter)?;
    filter.validate().map_err(VectorStoreError::datastore)?;
    Ok(filter)
}

fn convert(filter: &RigFilter<Value>) -> Result<Filter, FilterError> {
    match filter {
        RigFilter::Eq(key, value) => compare(key, Op::Eq, value),
        RigFilter::Gt(key, value) => compare(key, Op::Gt, value),
        RigFilter::Lt(key, value) => compare(key, Op::Lt, value),
        RigFilter::And(left, right) => Ok(convert(left)?.and(convert(right)?)),
        RigFilter::Or(left, right) => Ok(convert(left)?.or(convert(right)?)),
    }
}

fn compare(key: &str, op: Op, value: &Value) -> Result<Filter, FilterError> {
    let field = match key.parse::<Field>() {
        Ok(field) => field,
        Err(_) => Field::meta(key),
    };
    let value = match value {
        Value::String(text) if is_time(&field) => {
            let time = text.parse().map_err(|e: memory_engine::Error| FilterError::Expected {
                expected: format!("a time for '{key}', such as 2026-03-02 or 2026-03-02T20:15:00+08:00"),
                got: e.message().to_owned(),
            })?;
            FilterValue::Time(time)
        }
        Value::String(text) => FilterValue::Text(text.clone()),
        Value::Number(_) => serde_json::from_value(value.clone())
            .map_err(|_| FilterError::Must(key.to_owned(), "be compared with an integer of at most 2^53".into()))?,
        Value::Bool(truth) => FilterValue::Bool(*truth),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            let message = format!("be compared with a text, a number, true or false, not with {value}");
            return Err(FilterError::Must(key.to_owned(), message));
        }
    };
    Ok(Filter::compare(field, op, value))
}

fn is_time(field: &Field) -> bool {
    [Field::OccurredAt, Field::RecordedAt, Field::ValidFrom, Field::ValidUntil].contains(field)
}

#[cfg(test)]
mod tests {
    use memory_engine::Role;
    use rig_core::vector_store::request::SearchFilter;
    use serde_json::json;

    use super::*;

    fn converted(filter: RigFilter<Value>) -> Filter {
        to_engine_filter(&filter).unwrap()
    }

    fn error(filter: RigFilter<Value>) -> String {
        to_engine_filter(&filter).unwrap_err().to_string()
    }

    #[test]
    fn keys_are_fields_of_memories_or_of_documents() {
        assert_eq!(converted(RigFilter::eq("role", json!("user"))), Filter::eq(Field::Role, Role::USER));
        assert_eq!(converted(RigFilter::eq("类别", json!("手册"))), Filter::meta("类别", "手册"));
        assert_eq!(converted(RigFilter::eq("metadata.role", json!("cook"))), Filter::meta("role", "cook"));
        assert_eq!(
            converted(RigFilter::gt("price", json!(5)).or(RigFilter::lt("price", json!(2.5)))),
            Filter::compare(Field::meta("price"), Op::Gt, 5).or(Filter::compare(Field::meta("price"), Op::Lt, 2.5))
        );
        assert_eq!(
            converted(RigFilter::eq("done", json!(true)).and(RigFilter::eq("kind", json!("note")))),
            Filter::meta("done", true).and(Filter::eq(Field::Kind, "note"))
        );
    }

    #[test]
    fn times_are_read() {
        let day: memory_engine::Timestamp = "2026-03-02".parse().unwrap();
        let expected = Filter::compare(Field::OccurredAt, Op::Gt, day);
        assert_eq!(converted(RigFilter::gt("occurred_at", json!("2026-03-02"))), expected);
        assert!(error(RigFilter::gt("occurred_at", json!("yesterday"))).contains("such as 2026-03-02"));
    }

    #[test]
    fn errors_name_the_key_and_the_values_that_are_possible() {
        let message = error(RigFilter::eq("category", json!(["a"])));
        assert_eq!(
            message,
            r#"Filter error: 'category' must be compared with a text, a number, true or false, not with ["a"]"#
        );
        assert!(error(RigFilter::eq("category", Value::Null)).ends_with("not with null"));
        assert!(error(RigFilter::eq("role", json!(1))).contains("'role' is compared with a text"));
        assert!(error(RigFilter::eq("n", json!(9_007_199_254_740_993_i64))).contains("at most 2^53"));
        assert!(error(RigFilter::eq("a key", json!(1))).contains("letters, digits"));
    }
}
