//! Builds the document from its sections.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::routes::Section;

const DESCRIPTION: &str = "The key of a request determines the memories that it can access. \
    Names in a request (user, agent, conversation) narrow this access and never widen it.";

/// Returns the OpenAPI document of these sections. An open server needs no key.
pub(super) fn build(sections: &[Section], is_open: bool) -> Value {
    let with_key = [json!({ "bearer": [] }), json!({ "key": [] })];
    let security: Vec<Value> = is_open.then(|| json!({})).into_iter().chain(with_key).collect();
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let mut tags: Vec<Value> = Vec::new();
    let mut paths = Map::new();
    for section in sections {
        if !tags.iter().any(|tag| tag["name"] == section.tag) {
            tags.push(json!({ "name": section.tag, "description": section.description }));
        }
        for (method, path, operation) in &section.operations {
            let item = paths.entry(path.as_str()).or_insert_with(|| path_item(path));
            item[*method] = operation.to_json(section.tag, &mut schemas);
            // The 4 MiB of a body is no property of its schema, and OpenAPI has no word for it.
            if let Some(body) = item[*method].get_mut("requestBody") {
                body["x-max-bytes"] = section.max_body_bytes.into();
            }
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "memory-engine",
            "summary": "Long-term memory for applications with a language model.",
            "description": DESCRIPTION,
            "license": { "name": "MIT", "identifier": "MIT" },
            "version": env!("CARGO_PKG_VERSION"),
        },
        "security": security,
        "servers": [{ "url": "/" }],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "key": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
            },
            "schemas": schemas.take_definitions(true),
        },
    });
    simplify(&mut document);
    document
}

/// Rewrites what tools misread. Validators refuse a default of null for a text, and generators of clients take a
/// property with a default for one that is always sent, or refuse the schema `true`. An empty default says nothing.
fn simplify(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| name != "default" || !(field.is_null() || *field == ""));
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                properties.values_mut().for_each(simplify_schema);
            }
            for name in ["items", "schema"] {
                fields.get_mut(name).into_iter().for_each(simplify_schema);
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(values) => values.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes the schema `true` as `{}`, which allows the same.
fn simplify_schema(schema: &mut Value) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
}

/// Returns a path item with the parameters in the path.
fn path_item(path: &str) -> Value {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let parameters: Vec<Value> = names
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": path_schema(name) }))
        .collect();
    if parameters.is_empty() { json!({}) } else { json!({ "parameters": parameters }) }
}

/// Returns the schema of a parameter in a path. An `id` is that of a record; other names are texts.
fn path_schema(name: &str) -> Value {
    match name {
        "id" => json!({ "type": "string", "format": "uuid" }),
        "type" => json!({ "type": "string", "enum": ["user", "agent", "run", "app"] }),
        _ => json!({ "type": "string" }),
    }
}
