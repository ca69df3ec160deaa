#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::stream;
use tower::ServiceExt;

use super::*;
use crate::{
    access::Access,
    fault::Fault,
    guard::Guard,
    keys::{ApiKey, KeyRing},
};

/// An error format other than the default one.
fn other_format(fault: Fault) -> Response {
    fault.clone().into_response_with(serde_json::json!({ "error": { "message": fault.message() } }))
}

fn app(config: LimitsConfig) -> Router {
    let router = Router::new().route("/", get(|| async { "ok" }).post(echo)).route("/endless", get(endless));
    let router = Limits::new(&config).apply(router, Fault::into_response, BodyKind::Large);
    Guard::open(Access::tenant("everybody", "default").unwrap()).protect(router, "records", Fault::into_response)
}

async fn endless() -> Body {
    Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>())
}

async fn echo(text: String) -> String {
    text
}

async fn send(app: &Router, method: &str, path: &str, body: &str) -> Response {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn a_request_above_the_rate_gets_retry_after() {
    let app = app(LimitsConfig { requests_per_minute: 2, ..LimitsConfig::default() });
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(send(&app, "GET", "/", "").await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429]);
    let refused = send(&app, "GET", "/", "").await;
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_response_holds_its_permit_until_read() {
    let app = app(LimitsConfig { max_concurrent: 1, ..LimitsConfig::default() });
    let reading = send(&app, "GET", "/endless", "").await;
    let refused = send(&app, "GET", "/", "").await;
    assert_eq!((refused.status().as_u16(), refused.headers().contains_key("retry-after")), (503, true));
    drop(reading);
    assert_eq!(send(&app, "GET", "/", "").await.status().as_u16(), 200);
}

#[tokio::test]
async fn a_limit_of_zero_means_no_limit() {
    let config = LimitsConfig {
        max_concurrent: 0,
        max_concurrent_per_key: 0,
        requests_per_minute: 0,
        body_seconds: 0,
        ..LimitsConfig::default()
    };
    let app = app(config);
    let mut reading = Vec::new();
    for _ in 0..8 {
        reading.push(send(&app, "GET", "/endless", "").await);
    }
    assert!(reading.iter().all(|response| response.status().as_u16() == 200));
    assert_eq!(send(&app, "POST", "/", "x").await.status().as_u16(), 200);
}

#[tokio::test]
async fn one_key_cannot_use_up_all_permits() {
    let keys = [ApiKey::generate(), ApiKey::generate()];
    let ring = keys.iter().enumerate().fold(KeyRing::default(), |ring, (i, key)| {
        ring.with_key(key, Access::tenant(format!("key {i}"), "default").unwrap())
    });
    let config = LimitsConfig { max_concurrent: 3, max_concurrent_per_key: 2, ..LimitsConfig::default() };
    let router =
        Limits::new(&config).apply(Router::new().route("/", get(endless)), Fault::into_response, BodyKind::Large);
    let app = Guard::keys(ring).protect(router, "records", Fault::into_response);
    let send = |key: usize| {
        let request = Request::builder().header("x-api-key", keys[key].reveal()).body(Body::empty()).unwrap();
        app.clone().oneshot(request)
    };
    let first = send(0).await.unwrap();
    let second = send(0).await.unwrap();
    let third = send(0).await.unwrap();
    assert_eq!((third.status().as_u16(), third.headers().contains_key("retry-after")), (429, true));
    let other = send(1).await.unwrap();
    assert_eq!((first.status().as_u16(), second.status().as_u16(), other.status().as_u16()), (200, 200, 200));
    assert_eq!(send(1).await.unwrap().status().as_u16(), 503, "all permits of the server are taken");
    drop(first);
    assert_eq!(send(0).await.unwrap().status().as_u16(), 200);
}

#[tokio::test]
async fn a_late_body_is_refused_in_the_routes_format() {
    for (errors, pointer) in [(Fault::into_response as ErrorFormat, "/detail"), (other_format, "/error/message")] {
        let mut limits = Limits::new(&LimitsConfig { max_concurrent: 1, ..LimitsConfig::default() });
        limits.body_timeout = BodyTimeout::from_seconds(1);
        let app = limits.apply(Router::new().route("/", post(echo)), errors, BodyKind::Large);
        let send = |body: Body| app.clone().oneshot(Request::builder().method("POST").body(body).unwrap());
        // Sends bytes without an end.
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        let late = send(Body::from_stream(drip)).await.unwrap();
        assert_eq!(late.status().as_u16(), 408);
        let body = to_bytes(late.into_body(), 1000).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(body.pointer(pointer).unwrap().as_str().unwrap().contains("within 1 s"), "{body}");
        let next = send(Body::from("x")).await.unwrap();
        assert_eq!(next.status().as_u16(), 200, "the permit is released");
    }
}

#[tokio::test]
async fn a_too_large_request_is_refused() {
    let app = app(LimitsConfig { max_body_bytes: 8, ..LimitsConfig::default() });
    assert_eq!(send(&app, "POST", "/", "123456789").await.status().as_u16(), 413);
    let accepted = send(&app, "POST", "/", "12345678").await;
    assert_eq!(to_bytes(accepted.into_body(), 100).await.unwrap(), "12345678");
}

#[tokio::test]
async fn memories_have_a_smaller_limit() {
    let config = LimitsConfig { max_body_bytes: 9, max_memory_body_bytes: 8, ..LimitsConfig::default() };
    for (bodies, statuses) in [(BodyKind::Memories, [200, 413]), (BodyKind::Large, [200, 200])] {
        let app = Limits::new(&config).apply(Router::new().route("/", post(echo)), Fault::into_response, bodies);
        for (text, status) in ["12345678", "123456789"].into_iter().zip(statuses) {
            let request = Request::post("/").body(Body::from(text)).unwrap();
            assert_eq!(app.clone().oneshot(request).await.unwrap().status().as_u16(), status, "{bodies:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_request_of_too_many_values_is_refused() {
    let config = LimitsConfig::default();
    let app = Limits::new(&config).apply(Router::new().route("/", post(echo)), Fault::into_response, BodyKind::Large);
    for (values, status) in [(json_values::MAX_JSON_VALUES, 200), (json_values::MAX_JSON_VALUES + 1, 413)] {
        let list = format!("[{}0]", "0,".repeat(values - 1));
        let response = app.clone().oneshot(Request::post("/").body(Body::from(list)).unwrap()).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{values} numbers in a list");
    }
}
