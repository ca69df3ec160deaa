//! The behaviour of the client with misbehaving services, tested through the embedder.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

mod support;

use std::time::{Duration, Instant};

use memory_engine_core::{Error, ErrorKind};
use memory_engine_embedder::{Embedder, Purpose};
use memory_engine_http_models::{EmbeddingOptions, HttpClient, HttpEmbedder};
use serde_json::json;
use support::{KEY, client, endpoint, impatient_client, options, raw, shown};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

const TEXT: &str = "我对海鲜过敏 my-secret-diary";

fn success() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"data": [{"index": 0, "embedding": [3.0, 4.0]}]}))
}

async fn embed_with(client: HttpClient, base: &str) -> Result<Vec<f32>, Error> {
    let options = EmbeddingOptions::new("m").with_dimensions(2);
    let embedder = HttpEmbedder::new(client, endpoint(base), options).unwrap();
    assert!(!format!("{embedder:?}").contains(KEY));
    embedder.embed(&[TEXT], Purpose::Document).await.map(|vectors| vectors[0].values().to_vec())
}

async fn embed(base: &str) -> Result<Vec<f32>, Error> {
    embed_with(client(), base).await
}

/// A server that sends this response the first `times` times, and a success afterwards.
async fn server_with(response: ResponseTemplate, times: u64) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(response).up_to_n_times(times).mount(&server).await;
    Mock::given(any()).respond_with(success()).mount(&server).await;
    server
}

async fn requests(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn a_retry_waits_as_long_as_requested() {
    for (name, value) in [("retry-after-ms", "150"), ("retry-after", "0.15")] {
        let server = server_with(ResponseTemplate::new(429).insert_header(name, value), 1).await;
        let started = Instant::now();
        assert_eq!(embed(&server.uri()).await.unwrap(), [0.6, 0.8]);
        assert!(started.elapsed() >= Duration::from_millis(150) && requests(&server).await == 2);
    }
}

#[tokio::test]
async fn a_long_retry_delay_is_returned_to_the_caller() {
    let server = server_with(ResponseTemplate::new(429).insert_header("retry-after", "3600"), 9).await;
    let error = embed(&server.uri()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::RateLimited, Some(Duration::from_secs(3600))));
    assert_eq!(requests(&server).await, 1);
}

#[tokio::test]
async fn a_failing_service_gets_three_attempts() {
    let server = server_with(ResponseTemplate::new(500), 2).await;
    assert_eq!(embed(&server.uri()).await.unwrap(), [0.6, 0.8]);
    let server = server_with(ResponseTemplate::new(500), 9).await;
    assert_eq!(embed(&server.uri()).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(requests(&server).await, 3);
}

#[tokio::test]
async fn the_retry_budget_limits_retries_of_all_calls() {
    let server = server_with(ResponseTemplate::new(503), 1000).await;
    let client = client();
    for _ in 0..20 {
        assert!(embed_with(client.clone(), &server.uri()).await.is_err());
    }
    assert_eq!(requests(&server).await, 20 + 10, "the budget has ten retries");
}

#[tokio::test]
async fn a_rejected_key_is_not_retried() {
    for (status, kind) in [(401, ErrorKind::Unauthorized), (403, ErrorKind::Unauthorized), (404, ErrorKind::NotFound)] {
        let server = server_with(ResponseTemplate::new(status), 9).await;
        assert_eq!(embed(&server.uri()).await.unwrap_err().kind(), kind);
        assert_eq!(requests(&server).await, 1);
    }
}

#[tokio::test]
async fn k16_errors_contain_neither_the_key_nor_text() {
    let message = format!("Incorrect API key provided: {KEY} for {TEXT}");
    for status in [302, 400, 401, 404, 413, 422, 429, 500] {
        let body = json!({"error": {"message": message, "code": message, "type": "invalid_request_error"}});
        let answer =
            ResponseTemplate::new(status).set_body_json(body).insert_header("location", "https://hunter2.com/");
        let server = server_with(answer, 9).await;
        let shown = shown(&embed(&server.uri()).await.unwrap_err());
        assert!(!shown.contains("hunter2") && !shown.contains("diary"), "{shown}");
        assert!(shown.contains("invalid_request_error") && shown.contains(&status.to_string()), "{shown}");
    }
    let server = server_with(ResponseTemplate::new(200).set_body_json(json!({"data": message})), 9).await;
    let shown = shown(&embed(&server.uri()).await.unwrap_err());
    assert!(!shown.contains("hunter2") && !shown.contains("diary"), "{shown}");
}

#[tokio::test]
async fn a_hanging_service_times_out() {
    // The answers come after the limit of any test.
    let server = server_with(success().set_delay(Duration::from_secs(3600)), 9).await;
    assert_eq!(embed_with(impatient_client(), &server.uri()).await.unwrap_err().kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn an_incomplete_response_is_reported() {
    let base =
        raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"data\": [{").await;
    let error = embed(&base).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("broke off"), "{error}");
    let base = raw("").await;
    assert_eq!(embed(&base).await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_malformed_response_is_reported() {
    let cases = [("<html>", "is not JSON"), ("{\"data\": [", "ends before"), ("{\"data\": 1}", "of another form")];
    for (body, expected) in cases {
        let server = server_with(ResponseTemplate::new(200).set_body_string(body), 9).await;
        let error = embed(&server.uri()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains(expected), "{error}");
        assert_eq!(requests(&server).await, 1);
    }
}

#[tokio::test]
async fn a_too_large_response_is_rejected() {
    let server = server_with(ResponseTemplate::new(200).set_body_string("x".repeat(5000)), 9).await;
    let small = HttpClient::new(options().with_max_response_bytes(1000)).unwrap();
    let error = embed_with(small, &server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.message().contains("1000 bytes"), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let target = server_with(success(), 9).await;
    let answer = ResponseTemplate::new(307).insert_header("location", target.uri().as_str());
    let server = server_with(answer, 9).await;
    let error = embed(&server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidInput && error.message().contains("base URL"), "{error}");
    assert_eq!(requests(&target).await, 0);
}

#[tokio::test]
async fn an_unreachable_service_is_unavailable() {
    let error = embed("http://127.0.0.1:1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("127.0.0.1:1 cannot be reached"), "{error}");
}

#[tokio::test]
async fn requests_have_the_key_and_a_user_agent() {
    let server = server_with(success(), 9).await;
    embed(&server.uri()).await.unwrap();
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.url.path(), "/v1/embeddings");
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    assert!(request.headers["user-agent"].to_str().unwrap().starts_with("memory-engine/"));
}
