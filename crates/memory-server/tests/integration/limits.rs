//! The limits that the OpenAPI document states are those of the server, and those of docs/reference/limits.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
};
use memory_engine_server::{Config, Hooks, Inspector, Tools};
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use crate::openapi::{document, engine, full_server, oauth_router};

const ANY_ID: &str = "00000000-0000-7000-8000-000000000000";

/// A limit of an operation.
#[derive(Debug, Clone)]
struct Limit {
    method: String,
    path: String,
    place: Place,
    max: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// The size of the body, in bytes.
    Body,
    /// A number in the query of the URL.
    Query(String),
    /// A number in the body.
    Number(String),
    /// A list in the body.
    List(String),
}

/// The OpenAPI document of a server, to resolve references in it.
pub(crate) struct Document(pub(crate) Value);

impl Document {
    pub(crate) fn resolve<'d>(&'d self, schema: &'d Value) -> &'d Value {
        let alternatives = schema["anyOf"].as_array();
        if let Some(schema) = alternatives.and_then(|all| all.iter().find(|schema| schema["type"] != "null")) {
            return self.resolve(schema);
        }
        match schema["$ref"].as_str() {
            Some(reference) => self.resolve(self.0.pointer(reference.trim_start_matches('#')).unwrap()),
            None => schema,
        }
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let paths = self.0["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, item)| {
            let operations = item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters");
            operations.map(|(method, operation)| (method.as_str(), path.as_str(), operation))
        })
    }

    pub(crate) fn body<'d>(&'d self, operation: &'d Value) -> Option<&'d Value> {
        let content = operation["requestBody"]["content"].as_object()?;
        Some(self.resolve(&content.values().next()?["schema"]))
    }

    fn limits(&self) -> Vec<Limit> {
        let mut limits = Vec::new();
        for (method, path, operation) in self.operations() {
            let mut add = |place, max: &Value| {
                if let Some(max) = max.as_u64() {
                    limits.push(Limit { method: method.to_uppercase(), path: path.to_owned(), place, max });
                }
            };
            add(Place::Body, &operation["requestBody"]["x-max-bytes"]);
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let schema = self.resolve(&parameter["schema"]);
                add(Place::Query(parameter["name"].as_str().unwrap().to_owned()), &schema["maximum"]);
            }
            let properties = self.body(operation).and_then(|schema| schema["properties"].as_object());
            for (name, schema) in properties.into_iter().flatten() {
                let schema = self.resolve(schema);
                add(Place::Number(name.clone()), &schema["maximum"]);
                add(Place::List(name.clone()), &schema["maxItems"]);
            }
        }
        limits
    }

    /// Returns a value that a schema allows, with its required fields only.
    fn example(&self, name: &str, schema: &Value) -> Value {
        let schema = self.resolve(schema);
        match (name, kind(schema)) {
            ("messages", _) => json!([{ "role": "user", "content": "tea" }]),
            (_, Some("string")) if name.ends_with("id") || name == "ids" => ANY_ID.into(),
            (_, Some("string")) => schema["enum"].get(0).cloned().unwrap_or_else(|| "tea".into()),
            (_, Some("integer" | "number")) => 1.into(),
            (_, Some("boolean")) => true.into(),
            (_, Some("array")) => json!([self.example(name, &schema["items"])]),
            _ => self.example_object(schema).into(),
        }
    }

    fn example_object(&self, schema: &Value) -> Map<String, Value> {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut example: Map<String, Value> =
            required.map(|name| (name.to_owned(), self.example(name, &schema["properties"][name]))).collect();
        // The routes of mem0 need an owner, but any one will do. Without `infer`, messages are stored as they are.
        // The inspector refuses an empty message.
        for (name, value) in [
            ("user_id", json!("lin")),
            ("infer", json!(false)),
            ("message", json!("tea")),
            ("filters", json!({ "user_id": "lin" })),
        ] {
            if schema["properties"].get(name).is_some() && !example.contains_key("filters") {
                example.insert(name.to_owned(), value);
            }
        }
        example
    }

    /// Returns a request whose value in this place is `value`.
    fn request(&self, limit: &Limit, value: u64) -> Request<Body> {
        let operation = &self.0["paths"][&limit.path][limit.method.to_lowercase()];
        let mut uri: String = limit
            .path
            .split('{')
            .map(|part| part.split_once('}').map_or_else(|| part.to_owned(), |(_, rest)| format!("{ANY_ID}{rest}")))
            .collect();
        let mut separator = '?';
        for parameter in operation["parameters"].as_array().into_iter().flatten().filter(|p| p["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            let text = match name {
                _ if limit.place == Place::Query(name.to_owned()) => value.to_string(),
                _ if parameter["required"] == true => "tea".to_owned(),
                "user_id" => "lin".to_owned(),
                _ => continue,
            };
            write!(uri, "{separator}{name}={text}").unwrap();
            separator = '&';
        }
        let mut body = self.body(operation).map(|schema| self.example_object(schema));
        let mut put = |name: &str, value: Value| body.as_mut().unwrap().insert(name.to_owned(), value);
        match &limit.place {
            Place::Number(name) => drop(put(name, value.into())),
            Place::List(name) => {
                let schema = &self.body(operation).unwrap()["properties"][name];
                let example = self.example(name, schema);
                drop(put(name, vec![example[0].clone(); usize::try_from(value).unwrap()].into()));
            }
            Place::Body | Place::Query(_) => {}
        }
        let body = if limit.place == Place::Body {
            Body::from(vec![b'x'; usize::try_from(value).unwrap()])
        } else {
            body.map_or_else(Body::empty, |body| Body::from(Value::Object(body).to_string()))
        };
        let content = operation["requestBody"]["content"].as_object().and_then(|content| content.keys().next());
        let content = content.map_or("application/json", String::as_str);
        let request = Request::builder().method(Method::from_bytes(limit.method.as_bytes()).unwrap()).uri(uri);
        request.header("host", "localhost").header("content-type", content).body(body).unwrap()
    }
}

/// Returns the type of a value, without null.
pub(crate) fn kind(schema: &Value) -> Option<&str> {
    let kind = &schema["type"];
    kind.as_str().or_else(|| kind[0].as_str())
}

async fn answer(router: &Router, request: Request<Body>) -> (StatusCode, String) {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// Returns the routers of all routes, each with its document.
async fn servers() -> [(Router, Document); 2] {
    let engine = engine().await;
    let server = full_server(&engine).hooks(Hooks::new(engine.clone())).tools(Tools::new(engine.clone()));
    let main = server.inspector(Inspector::new(engine.clone(), Config::default())).router();
    let oauth = oauth_router(&engine);
    let documents = [Document(document(&main).await), Document(document(&oauth).await)];
    let [main_document, mut oauth_document] = documents;
    oauth_document.0["paths"].as_object_mut().unwrap().retain(|path, _| path.starts_with("/oauth/"));
    [(main, main_document), (oauth, oauth_document)]
}

#[tokio::test]
async fn a_request_just_above_a_limit_is_refused() {
    let mut count = 0;
    for (router, document) in servers().await {
        for limit in document.limits() {
            let (above, text) = answer(&router, document.request(&limit, limit.max + 1)).await;
            let (at, text_at) = answer(&router, document.request(&limit, limit.max)).await;
            if limit.place == Place::Body {
                assert_eq!(above, StatusCode::PAYLOAD_TOO_LARGE, "{limit:?}: {text}");
                assert_ne!(at, StatusCode::PAYLOAD_TOO_LARGE, "{limit:?}: {text_at}");
            } else {
                let names_limit = |text: &str| text.contains(&limit.max.to_string());
                let is_refused = matches!(above.as_u16(), 400 | 422) && names_limit(&text);
                assert!(is_refused, "{limit:?}: {above} {text}");
                assert!(at.is_success() || !names_limit(&text_at), "{limit:?}: {at} {text_at}");
            }
            assert!(!at.is_server_error(), "{limit:?}: {at} {text_at}");
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

#[tokio::test]
async fn every_body_and_every_list_has_a_limit() {
    for (_, document) in servers().await {
        for (method, path, operation) in document.operations() {
            let Some(body) = document.body(operation) else { continue };
            let bytes = operation["requestBody"]["x-max-bytes"].as_u64();
            assert!(bytes > Some(0), "{method} {path}");
            for (name, schema) in body["properties"].as_object().into_iter().flatten() {
                // The number of JSON values of a request limits the messages of a chat and the ids of a deletion.
                let is_limited = document.resolve(schema).get("maxItems").is_some();
                let is_large = bytes > Some(4 << 20) || path.contains("deletion");
                let is_list_of_work = ["ids", "messages", "memories"].contains(&name.as_str());
                assert!(is_limited || is_large || !is_list_of_work, "{method} {path}: {name}");
            }
        }
    }
}

/// Returns the table of docs/reference/limits.md.
fn table(limits: &[Limit]) -> String {
    let mut routes: BTreeMap<(&str, &str), BTreeMap<&Place, u64>> = BTreeMap::new();
    for limit in limits {
        routes.entry((&limit.path, &limit.method)).or_default().insert(&limit.place, limit.max);
    }
    let mut table = "| route | body | numbers and lists |\n|---|---|---|\n".to_owned();
    for ((path, method), places) in routes {
        let bytes = places.get(&Place::Body).map_or_else(String::new, |bytes| match bytes >> 20 {
            0 => format!("{} KiB", bytes >> 10),
            mebibytes => format!("{mebibytes} MiB"),
        });
        let others: BTreeSet<String> = places
            .iter()
            .filter_map(|(place, max)| match place {
                Place::Body => None,
                Place::Query(name) | Place::Number(name) => Some(format!("`{name}` {max}")),
                Place::List(name) => Some(format!("`{name}` {max} entries")),
            })
            .collect();
        let others: Vec<String> = others.into_iter().collect();
        writeln!(table, "| `{method} {path}` | {bytes} | {} |", others.join(", ")).unwrap();
    }
    table
}

#[tokio::test]
async fn the_table_of_the_docs_is_that_of_the_server() {
    let limits: Vec<Limit> = servers().await.iter().flat_map(|(_, document)| document.limits()).collect();
    let table = table(&limits);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/limits.md");
    let docs = std::fs::read_to_string(page).unwrap();
    assert!(
        docs.ends_with(&format!("\n\n{table}")),
        "replace the table at the end of docs/reference/limits.md by\n{table}"
    );
}
