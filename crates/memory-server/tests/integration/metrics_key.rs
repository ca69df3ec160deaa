//! A key for metrics reaches `GET /metrics`, and no other route that needs a key.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::MemoryEngine;
use memory_engine_server::{ApiKey, Config};
use tower::ServiceExt;

use crate::openapi::installed_metrics;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The routes without a key: probes, the description of the routes, the page of the inspector, and OAuth.
const PUBLIC: [&str; 6] = ["/health", "/ready", "/openapi.json", "/ui", "/oauth/", "/.well-known/"];
/// A part of each protocol, so that a protocol whose routes are missing fails the test.
const PROTOCOLS: [&str; 12] = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/memory-tool",
    "/store/items",
    "/memories",
    "/mcp",
    "/hooks/",
    "/api/audit",
    "/api/records/",
    "/api/review",
    "/api/deletions",
    "/api/inspector/",
];

/// Returns a server of all protocols, as `memory serve` assembles it.
async fn served(key: &ApiKey) -> Router {
    let text = format!(
        "[[keys]]\nname = \"prometheus\"\nhash = \"{}\"\nmetrics_only = true\n[metrics]\nenabled = false\n\
         [oauth]\nenabled = true\nissuer = \"https://memory.example\"\n\
         [[gateway.upstreams]]\nname = \"near\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         dialects = [\"chat\", \"responses\"]\n",
        key.hash()
    );
    let config: Config = toml::from_str(&text).unwrap();
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let variable = |name: &str| ["MEMORY_TOKEN", "MEMORY_OAUTH_SECRET"].contains(&name).then(|| "s".repeat(32));
    // The metrics recorder can be installed only once per process.
    config.server(&engine, variable).unwrap().metrics(installed_metrics()).router()
}

/// Returns the patterns of all routes, those for any method and nested services included, from the `Debug` output of
/// the router: axum has no other way to list them.
fn patterns(router: &Router) -> Vec<String> {
    let text = format!("{router:?}");
    let (text, _) = text.split_once("fallback_router").unwrap();
    let (_, paths) = text.split_once("paths: ").unwrap();
    paths.split("RouteId(").skip(1).map(|part| part.split('"').nth(1).unwrap().to_owned()).collect()
}

/// Returns a path of a pattern.
fn path(pattern: &str) -> String {
    let rest = |part: &str| part.split_once('}').map_or_else(|| part.to_owned(), |(_, rest)| format!("lin{rest}"));
    pattern.split('{').map(rest).collect()
}

async fn send(router: &Router, method: &str, path: &str, key: &ApiKey) -> (StatusCode, String) {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header("authorization", format!("Bearer {}", key.reveal()));
    let request = request.header("content-type", "application/json").body(Body::from("{}")).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    (status, String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap())
}

#[tokio::test]
async fn a_key_for_metrics_reaches_no_other_route() {
    let key = ApiKey::generate();
    let router = served(&key).await;
    let patterns = patterns(&router);
    for protocol in PROTOCOLS {
        assert!(patterns.iter().any(|pattern| pattern.starts_with(protocol)), "no route of {protocol}: {patterns:?}");
    }
    let is_public = |pattern: &str| pattern == "/" || PUBLIC.iter().any(|public| pattern.starts_with(public));
    let (mut refused, mut reached) = (0, 0);
    for pattern in patterns.iter().filter(|pattern| !is_public(pattern)) {
        for method in METHODS {
            let (status, text) = send(&router, method, &path(pattern), &key).await;
            if pattern == "/metrics" {
                assert_ne!(status, StatusCode::FORBIDDEN, "{method} {pattern}: {text}");
                reached += 1;
            } else {
                assert_eq!(status, StatusCode::FORBIDDEN, "{method} {pattern}: {text}");
                assert!(method == "HEAD" || text.contains("GET /metrics only"), "{method} {pattern}: {text}");
                refused += 1;
            }
        }
    }
    assert_eq!(reached, METHODS.len());
    assert!(refused > 60 * METHODS.len(), "only {refused} requests were refused");
    for path in ["/health", "/ready", "/openapi.json"] {
        assert_eq!(send(&router, "GET", path, &key).await.0, StatusCode::OK, "{path}");
    }
    assert_eq!(send(&router, "GET", "/not-a-route", &key).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_key_for_metrics_reads_them() {
    let key = ApiKey::generate();
    let router = served(&key).await;
    // A request is counted when it has been answered.
    assert_eq!(send(&router, "GET", "/metrics", &key).await.0, StatusCode::OK);
    let (status, text) = send(&router, "GET", "/metrics", &key).await;
    assert_eq!(status, StatusCode::OK);
    assert!(text.contains("# TYPE memory_records gauge") && text.contains("http_requests_total"), "{text}");
    let wrong = send(&router, "GET", "/metrics", &ApiKey::generate()).await;
    assert_eq!(wrong.0, StatusCode::UNAUTHORIZED);
}
