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

/// Stands for the error format of a protocol that has its own.
fn other_format(fault: Fault) -> Response {
    fault.clone().into_response_with(serde_json::json!({ "error": { "message": fault.message() } }))
}

fn app(config: LimitsConfig) -> Router {
    let endless = || async { Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()) };
    let echo = |text: String| async move { text };
    let router = Router::new().route("/", get(|| async { "ok" }).post(echo)).route("/endless", get(endless));
    let router = Limits::new(&config).apply(router, Fault::into_response);
    Guard::open(Access::tenant("everybody", "default").unwrap()).protect(router, Fault::into_response)
}

async fn ask(app: &Router, method: &str, path: &str, body: &str) -> Response {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn who_comes_too_often_is_told_when_to_come_again() {
    let app = app(LimitsConfig { requests_per_minute: 2, ..LimitsConfig::default() });
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(ask(&app, "GET", "/", "").await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429]);
    let refused = ask(&app, "GET", "/", "").await;
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
}

#[tokio::test]
async fn an_answer_that_is_still_being_read_takes_a_place() {
    let app = app(LimitsConfig { max_concurrent: 1, ..LimitsConfig::default() });
    let reading = ask(&app, "GET", "/endless", "").await;
    let refused = ask(&app, "GET", "/", "").await;
    assert_eq!((refused.status().as_u16(), refused.headers().contains_key("retry-after")), (503, true));
    drop(reading);
    assert_eq!(ask(&app, "GET", "/", "").await.status().as_u16(), 200);
}

#[tokio::test]
async fn one_key_cannot_take_all_places() {
    let endless = || async { Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()) };
    let keys = [ApiKey::generate(), ApiKey::generate()];
    let ring = keys.iter().enumerate().fold(KeyRing::default(), |ring, (i, key)| {
        ring.with_key(key, Access::tenant(format!("key {i}"), "default").unwrap())
    });
    let config = LimitsConfig { max_concurrent: 3, max_concurrent_per_key: 2, ..LimitsConfig::default() };
    let router = Limits::new(&config).apply(Router::new().route("/", get(endless)), Fault::into_response);
    let app = Guard::keys(ring).protect(router, Fault::into_response);
    let ask = |key: usize| {
        let request = Request::builder().header("x-api-key", keys[key].reveal()).body(Body::empty()).unwrap();
        app.clone().oneshot(request)
    };
    let (first, second) = (ask(0).await.unwrap(), ask(0).await.unwrap());
    let third = ask(0).await.unwrap();
    assert_eq!((third.status().as_u16(), third.headers().contains_key("retry-after")), (429, true));
    let other = ask(1).await.unwrap();
    assert_eq!((first.status().as_u16(), second.status().as_u16(), other.status().as_u16()), (200, 200, 200));
    assert_eq!(ask(1).await.unwrap().status().as_u16(), 503, "there are no more places for anybody");
    drop(first);
    assert_eq!(ask(0).await.unwrap().status().as_u16(), 200);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_told_in_the_words_of_the_route() {
    for (errors, words) in [(Fault::into_response as ErrorFormat, "/detail"), (other_format, "/error/message")] {
        let mut limits = Limits::new(&LimitsConfig { max_concurrent: 1, ..LimitsConfig::default() });
        limits.body_timeout = BodyTimeout::seconds(1);
        let app = limits.apply(Router::new().route("/", post(|text: String| async move { text })), errors);
        let ask = |body: Body| app.clone().oneshot(Request::builder().method("POST").body(body).unwrap());
        // Something comes again and again, and no end of it.
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        let late = ask(Body::from_stream(drip)).await.unwrap();
        assert_eq!(late.status().as_u16(), 408);
        let told = to_bytes(late.into_body(), 1000).await.unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        assert!(told.pointer(words).unwrap().as_str().unwrap().contains("within 1 s"), "{told}");
        let taken = ask(Body::from("x")).await.unwrap();
        assert_eq!(taken.status().as_u16(), 200, "its place is free again");
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused() {
    let app = app(LimitsConfig { max_body_bytes: 8, ..LimitsConfig::default() });
    assert_eq!(ask(&app, "POST", "/", "123456789").await.status().as_u16(), 413);
    let taken = ask(&app, "POST", "/", "12345678").await;
    assert_eq!(to_bytes(taken.into_body(), 100).await.unwrap(), "12345678");
}
