//! JSON schemas for hosts: without references, and without keywords that hosts do not use.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// Returns the schema of a tool's arguments.
pub(super) fn input_schema<T: JsonSchema>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12())
}

/// Returns the schema of a tool's result.
pub(super) fn output_schema<T: JsonSchema>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let generator = settings.with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    remove_unused_keywords(&mut schema);
    let mut object = schema.as_object().cloned().unwrap_or_default();
    for keyword in ["$schema", "title", "description"] {
        object.remove(keyword);
    }
    Arc::new(object)
}

/// Removes number formats, empty defaults, and the type `null` of optional fields, which are left out instead.
fn remove_unused_keywords(schema: &mut Value) {
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
            object.values_mut().for_each(remove_unused_keywords);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_unused_keywords),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
