//! The OpenAPI document of what a server serves.

use axum::{Router, routing::get};
use serde_json::{Map, Value};

/// What one room contributes: tags, paths, and the components that they refer to. It is kept by hand, and
/// `tests/openapi.rs` holds it against the routes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part(&'static str);

const BASE: Part = Part(include_str!("openapi/base.json"));

impl Part {
    pub(crate) const HEALTH: Self = Self(include_str!("openapi/health.json"));
    pub(crate) const METRICS: Self = Self(include_str!("openapi/metrics.json"));
    pub(crate) const GATEWAY: Self = Self(include_str!("openapi/gateway.json"));
    pub(crate) const MEM0: Self = Self(include_str!("openapi/mem0.json"));
    pub(crate) const MCP: Self = Self(include_str!("openapi/mcp.json"));
    pub(crate) const DEBUGGING: Self = Self(include_str!("openapi/debugging.json"));

    /// It was compiled in, and a test reads it: it cannot fail to be JSON.
    fn read(self) -> Map<String, Value> {
        serde_json::from_str(self.0).unwrap_or_default()
    }
}

/// `GET /openapi.json`: the document of these parts. It holds nothing that a key would have to keep.
pub(crate) fn router(parts: &[Part]) -> Router {
    // As text: a document that nobody reads should take up no more room than it has to.
    let document = bytes::Bytes::from(document(parts).to_string());
    let json = [("content-type", "application/json")];
    Router::new().route("/openapi.json", get(async move || (json, document.clone())))
}

/// The document of these parts.
fn document(parts: &[Part]) -> Value {
    let mut document = Value::Object(BASE.read());
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    for part in parts {
        let mut part = part.read();
        if let (Some(Value::Array(tags)), Some(all)) = (part.remove("tags"), document["tags"].as_array_mut()) {
            all.extend(tags);
        }
        if let Some(Value::Object(paths)) = part.remove("paths") {
            add(&mut document["paths"], paths);
        }
        for (components, named) in part {
            if let Value::Object(named) = named {
                add(&mut document["components"][components], named);
            }
        }
    }
    document
}

fn add(to: &mut Value, more: Map<String, Value>) {
    if to.is_null() {
        *to = Value::Object(Map::new());
    }
    if let Value::Object(to) = to {
        to.extend(more);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

    use std::collections::BTreeSet;

    use super::*;

    const ALL: [Part; 6] = [Part::HEALTH, Part::METRICS, Part::GATEWAY, Part::MEM0, Part::MCP, Part::DEBUGGING];

    /// Every object within a document.
    fn objects<'v>(value: &'v Value, found: &mut Vec<&'v Map<String, Value>>) {
        match value {
            Value::Object(object) => {
                found.push(object);
                object.values().for_each(|value| objects(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| objects(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn no_part_takes_a_name_of_another() {
        let mut taken = BTreeSet::new();
        for part in [BASE].into_iter().chain(ALL) {
            let part: Map<String, Value> = serde_json::from_str(part.0).unwrap();
            let inside = part.get("components").and_then(Value::as_object).into_iter().flatten();
            for (group, named) in part.iter().chain(inside) {
                let names = named.as_object().filter(|_| group != "components" && group != "info").into_iter();
                for name in names.flat_map(Map::keys) {
                    assert!(taken.insert((group.clone(), name.clone())), "{group} {name} is there twice");
                }
            }
        }
        assert!(taken.len() > 60, "{taken:?}");
    }

    #[test]
    fn what_is_referred_to_is_there_and_what_is_there_is_referred_to() {
        let document = document(&ALL);
        let mut found = Vec::new();
        objects(&document, &mut found);
        let named: BTreeSet<&str> =
            found.iter().filter_map(|object| object.get("$ref")).map(|name| name.as_str().unwrap()).collect();
        for name in &named {
            assert!(document.pointer(name.strip_prefix('#').unwrap()).is_some(), "{name} is not there");
        }
        for group in ["schemas", "parameters", "responses"] {
            for name in document["components"][group].as_object().unwrap().keys() {
                assert!(
                    named.contains(format!("#/components/{group}/{name}").as_str()),
                    "{group} {name} is for nothing"
                );
            }
        }
    }

    #[test]
    fn an_operation_has_a_name_of_its_own_a_tag_and_its_parameters() {
        let document = document(&ALL);
        let tags: BTreeSet<&str> =
            document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
        let mut ids = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters") {
                assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
                assert!(tags.contains(operation["tags"][0].as_str().unwrap()), "{method} {path}");
                assert!(!operation["responses"].as_object().unwrap().is_empty(), "{method} {path}");
            }
            let mut inside = Vec::new();
            objects(&item["parameters"], &mut inside);
            let resolved = |object: &Map<String, Value>| match object.get("$ref") {
                Some(name) => document.pointer(name.as_str().unwrap().strip_prefix('#').unwrap()).unwrap().clone(),
                None => Value::Object(object.clone()),
            };
            let named: Vec<Value> = inside.into_iter().map(resolved).filter(|value| value["in"] == "path").collect();
            let wanted: Vec<&str> = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
            let given: Vec<&str> = named.iter().map(|value| value["name"].as_str().unwrap()).collect();
            assert_eq!(given, wanted, "{path}");
        }
    }
}
