//! Compares the OpenAPI document with the routes of the server.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{MemoryEngine, certificate::CertificateKey, http_models::Endpoint};
use memory_engine_server::{
    Access, ApiKey, Auditing, Debugging, Deletions, Gateway, GatewayOptions, Guard, KeyRing, Mcp, Mem0, Metrics, OAuth,
    Records, Reviews, Server, Upstream,
};
use serde_json::{Map, Value};
use tower::ServiceExt;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Metrics can be installed once per process.
static METRICS: OnceLock<Metrics> = OnceLock::new();

pub(crate) fn installed_metrics() -> Metrics {
    METRICS.get_or_init(|| Metrics::install().unwrap()).clone()
}

fn full_router(engine: &MemoryEngine) -> Router {
    full_server(engine).router()
}

pub(crate) fn full_server(engine: &MemoryEngine) -> Server {
    let metrics = installed_metrics();
    let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
    let upstream = Upstream::new("near", Endpoint::new("http://127.0.0.1:9/v1").unwrap());
    let gateway = Gateway::new(engine.clone(), vec![upstream], GatewayOptions::default()).unwrap();
    Server::new(engine.clone(), guard)
        .metrics(metrics)
        .gateway(gateway)
        .mem0(Mem0::new(engine.clone()))
        .mcp(Mcp::new(engine.clone()))
        .debugging(Debugging::new(engine.clone()))
        .deletions(Deletions::new(engine.clone(), CertificateKey::generate().unwrap()))
        .auditing(Auditing::new(engine.clone()))
        .records(Records::new(engine.clone()))
        .reviews(Reviews::new(engine.clone()))
}

/// A server with OAuth, which needs keys.
pub(crate) fn oauth_router(engine: &MemoryEngine) -> Router {
    let access = Access::tenant("one", "acme").unwrap();
    let guard = Guard::keys(KeyRing::default().with_key(&ApiKey::generate(), access));
    let oauth = OAuth::new("https://memory.example", &"s".repeat(32)).unwrap();
    Server::new(engine.clone(), guard).mcp(Mcp::new(engine.clone())).oauth(oauth).unwrap().router()
}

pub(crate) async fn engine() -> MemoryEngine {
    MemoryEngine::builder().in_memory().build().await.unwrap()
}

pub(crate) async fn document(router: &Router) -> Value {
    let response = router.clone().oneshot(Request::get("/openapi.json").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

type Routes = BTreeMap<String, BTreeSet<String>>;

fn documented(document: &Value) -> Routes {
    let methods =
        |item: &Value| METHODS.iter().filter(|name| item.get(name).is_some()).map(|n| (*n).to_owned()).collect();
    document["paths"].as_object().unwrap().iter().map(|(path, item)| (path.clone(), methods(item))).collect()
}

/// Returns a path as the document shows it: without the owner that a path of the gateway may begin with, and with
/// `{name}` for a wildcard.
fn documented_path(path: &str) -> String {
    let owner = ["/u/{user}", "/a/{agent}", "/s/{session}"];
    let path = owner.iter().fold(path, |path, part| path.strip_prefix(part).unwrap_or(path));
    path.replace("{*", "{")
}

/// Reads the routes of a router from its `Debug` output, because axum has no other way to list them.
///
/// Routes for any method are left out: they refuse the parts of mem0 that are not served. A nested service is listed
/// without methods.
fn routed(router: &Router) -> Routes {
    let text = format!("{router:?}");
    let (text, _) = text.split_once("fallback_router").unwrap();
    let (routes, paths) = text.split_once("paths: ").unwrap();
    let numbered = |text: &str| -> BTreeMap<u32, String> {
        let of = |part: &str| part.split_once("): ").map(|(id, rest)| (id.parse().unwrap(), rest.to_owned())).unwrap();
        text.split("RouteId(").skip(1).map(of).collect()
    };
    let (routes, paths) = (numbered(routes), numbered(paths));
    assert_eq!(routes.len(), paths.len());
    let methods = |route: &str| -> BTreeSet<String> {
        if route.starts_with("Route(") {
            return BTreeSet::new();
        }
        METHODS.iter().filter(|name| !route.contains(&format!("{name}: None"))).map(|n| (*n).to_owned()).collect()
    };
    let of = |(id, path): (u32, String)| (path.split('"').nth(1).unwrap().to_owned(), methods(&routes[&id]), id);
    let all = paths.into_iter().map(of);
    let listed = all.filter(|(_, methods, id)| !methods.is_empty() || routes[id].starts_with("Route("));
    listed.map(|(path, methods, _)| (documented_path(&path), methods)).collect()
}

#[tokio::test]
async fn documented_routes_equal_served_routes() {
    let router = full_router(&engine().await);
    let mut documented = documented(&document(&router).await);
    let mut routed = routed(&router);
    // A nested service: `documented_paths_answer` checks it.
    assert_eq!(routed.remove("/mcp"), Some(BTreeSet::new()));
    assert_eq!(routed.remove("/mcp/"), Some(BTreeSet::new()));
    assert!(documented.remove("/mcp").is_some());
    assert!(routed.len() > 10, "{routed:?}");
    assert_eq!(documented, routed);
}

#[tokio::test]
async fn routes_of_oauth_are_documented() {
    let router = oauth_router(&engine().await);
    let document = document(&router).await;
    let is_of_oauth = |path: &str| path.starts_with("/oauth/") || path.starts_with("/.well-known/");
    let of_oauth = |mut routes: Routes| {
        routes.retain(|path, _| is_of_oauth(path));
        routes
    };
    let documented = of_oauth(documented(&document));
    assert_eq!(documented.len(), 7, "{documented:?}");
    assert_eq!(documented, of_oauth(routed(&router)));
    let form = &document["paths"]["/oauth/token"]["post"]["requestBody"]["content"];
    assert!(form["application/x-www-form-urlencoded"]["schema"]["$ref"].is_string(), "{form}");
    assert_eq!(document["paths"]["/oauth/token"]["post"]["security"], serde_json::json!([{}]));
    assert_eq!(document["security"], serde_json::json!([{ "bearer": [] }, { "key": [] }]));
}

/// Returns a path with an id in place of each parameter.
fn concrete(path: &str) -> String {
    let any_id = "00000000-0000-7000-8000-000000000000";
    let part = |part: &str| part.split_once('}').map_or_else(|| part.to_owned(), |(_, rest)| format!("{any_id}{rest}"));
    path.split('{').map(part).collect()
}

#[tokio::test]
async fn other_methods_are_refused_with_the_allowed_ones() {
    let router = full_router(&engine().await);
    // The library of the protocol answers for `/mcp`.
    let paths = documented(&document(&router).await).into_keys().filter(|path| path != "/mcp");
    for path in paths {
        let request = Request::patch(concrete(&path)).header("host", "localhost").body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert!(response.headers().contains_key("allow"), "{path}");
        let body: Value = serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap();
        let message = body["error"]["message"].as_str().or(body["detail"].as_str());
        assert!(message.is_some_and(|message| message.starts_with("PATCH is not allowed")), "{path}: {body}");
    }
}

#[tokio::test]
async fn documented_paths_answer() {
    let router = full_router(&engine().await);
    for (path, methods) in documented(&document(&router).await) {
        for method in methods {
            let request = Request::builder().method(method.to_uppercase().as_str()).uri(concrete(&path));
            let request = request.header("host", "localhost");
            let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let status = response.status();
            assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let body = String::from_utf8_lossy(&body);
            let is_missing = body.is_empty() || body.contains("openapi.json lists all routes");
            assert!(status != StatusCode::NOT_FOUND || !is_missing, "no route for {method} {path}");
            // The upstream of the gateway is unavailable.
            let upstream_failed = status == StatusCode::BAD_GATEWAY && path.starts_with("/v1/");
            // `POST /configure` is always refused.
            let is_refused = status == StatusCode::NOT_IMPLEMENTED;
            assert!(!status.is_server_error() || upstream_failed || is_refused, "{method} {path}: {status}");
        }
    }
}

#[tokio::test]
async fn an_open_server_needs_no_key() {
    let document = document(&full_router(&engine().await)).await;
    assert_eq!(document["security"][0], serde_json::json!({}));
}

#[tokio::test]
async fn only_enabled_parts_are_documented() {
    let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
    let engine = engine().await;
    let router = Server::new(engine.clone(), guard).mcp(Mcp::new(engine)).router();
    let paths: Vec<String> = documented(&document(&router).await).into_keys().collect();
    assert_eq!(paths, ["/health", "/mcp", "/openapi.json", "/ready"]);
}

/// Collects every object within a value.
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

#[tokio::test]
async fn schemas_are_defined_and_used() {
    let document = document(&full_router(&engine().await)).await;
    let mut found = Vec::new();
    objects(&document, &mut found);
    let named: BTreeSet<&str> = found.iter().filter_map(|object| object.get("$ref")?.as_str()).collect();
    for name in &named {
        assert!(document.pointer(name.strip_prefix('#').unwrap()).is_some(), "{name} is not defined");
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(named.contains(format!("#/components/schemas/{name}").as_str()), "{name} is not used");
    }
    assert!(named.len() > 30, "{named:?}");
}

#[tokio::test]
async fn schemas_are_those_that_tools_read() {
    let document = document(&full_router(&engine().await)).await;
    let mut found = Vec::new();
    objects(&document, &mut found);
    for object in &found {
        assert!(object.get("default").is_none_or(|default| !default.is_null()), "{object:?}");
        let properties = object.get("properties").and_then(Value::as_object).into_iter().flatten();
        assert!(properties.map(|(_, schema)| schema).all(Value::is_object), "{object:?}");
        assert!(object.get("items").is_none_or(Value::is_object), "{object:?}");
    }
    let required = document["components"]["schemas"]["Mem0Memory"]["required"].as_array().unwrap();
    assert!(required.contains(&"memory".into()) && !required.contains(&"outdated".into()), "{required:?}");
    let errors = &document["paths"]["/memories"]["post"]["responses"]["4XX"]["content"]["application/json"];
    let name = errors["schema"]["$ref"].as_str().unwrap();
    let detail = &document.pointer(&name[1..]).unwrap()["properties"]["detail"]["$ref"];
    let forms = document.pointer(&detail.as_str().unwrap()[1..]).unwrap()["anyOf"].as_array().unwrap();
    let types: Vec<&Value> = forms.iter().map(|form| &form["type"]).collect();
    assert_eq!(types, ["string", "array"]);
    let query = &document["components"]["schemas"]["FeedbackParams"]["properties"]["memory_id"];
    assert_eq!(query, &serde_json::json!({ "type": "string" }));
}

#[tokio::test]
async fn operations_have_id_tag_and_parameters() {
    let document = document(&full_router(&engine().await)).await;
    let tags: BTreeSet<&str> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters") {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
            assert!(tags.contains(operation["tags"][0].as_str().unwrap()), "{method} {path}");
            assert!(!operation["responses"].as_object().unwrap().is_empty(), "{method} {path}");
        }
        let named: Vec<&str> =
            item["parameters"].as_array().into_iter().flatten().map(|one| one["name"].as_str().unwrap()).collect();
        let expected: Vec<&str> = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
        assert_eq!(named, expected, "{path}");
    }
}

#[tokio::test]
async fn schemas_describe_request_types() {
    let document = document(&full_router(&engine().await)).await;
    let add = &document["components"]["schemas"]["AddRequest"];
    assert_eq!(add["required"], serde_json::json!(["messages"]));
    assert!(add["properties"]["user_id"].is_object() && add["properties"]["infer"].is_object(), "{add}");
    assert!(add["properties"].get("userId").is_none());
    let list = document["paths"]["/memories"]["get"]["parameters"].as_array().unwrap();
    let top_k = list.iter().find(|one| one["name"] == "top_k").unwrap();
    assert_eq!((&top_k["in"], &top_k["required"]), (&"query".into(), &false.into()));
    let user = list.iter().find(|one| one["name"] == "user_id").unwrap();
    assert_eq!(user["schema"]["pattern"], r"\S", "a blank user is refused");
    assert_eq!(document["paths"]["/memories/{id}"]["parameters"][0]["schema"]["format"], "uuid");
    let kinds = &document["paths"]["/entities/{type}/{name}"]["parameters"][0]["schema"]["enum"];
    assert_eq!(kinds, &serde_json::json!(["user", "agent", "run", "app"]));
    let search = document["paths"]["/api/memory/{session_id}/search"]["get"]["parameters"].as_array().unwrap();
    assert!(search.iter().any(|one| one["name"] == "query" && one["required"] == true), "{search:?}");
}
