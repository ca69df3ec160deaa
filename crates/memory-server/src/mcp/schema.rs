//! JSON schemas as hosts like them: flat, and no word too much.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The schema of a tool's arguments.
pub(super) fn of_input<T: JsonSchema>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12())
}

/// The schema of a tool's answer.
pub(super) fn of_output<T: JsonSchema>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let generator = settings.with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    let mut object = schema.as_object().cloned().unwrap_or_default();
    for word in ["$schema", "title", "description"] {
        object.remove(word);
    }
    Arc::new(object)
}

/// Takes out what says nothing to a host: widths of numbers, empty defaults, and `null` for what is left out instead.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("format");
            if object.get("default").and_then(Value::as_str) == Some("") {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(values) => values.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
