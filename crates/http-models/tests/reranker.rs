//! The requests of every rerank API, byte for byte.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

mod support;

use memory_engine_core::{Error, ErrorKind};
use memory_engine_http_models::{Endpoint, HttpReranker, RerankApi, RerankOptions, Secret};
use memory_engine_reranker::Reranker;
use serde_json::{Value, json};
use support::{KEY, client};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

const QUERY: &str = "我对什么过敏？";
const CANDIDATES: [&str; 2] = ["虾", "cats"];

async fn server_with(response: Value) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200).set_body_json(response)).mount(&server).await;
    server
}

fn reranker(server: &MockServer, path: &str, options: RerankOptions) -> HttpReranker {
    let endpoint = Endpoint::new(&format!("{}{path}", server.uri())).unwrap().with_key(&Secret::new(KEY)).unwrap();
    HttpReranker::new(client(), endpoint, options).unwrap()
}

fn values(scores: Result<Vec<memory_engine_core::Score>, Error>) -> Vec<f64> {
    scores.unwrap().into_iter().map(memory_engine_core::Score::value).collect()
}

/// Sends a request in this API and returns its path and body. The server sends `response`.
async fn sent(dialect: RerankApi, path: &str, response: Value) -> (String, String) {
    let server = server_with(response).await;
    let reranker = reranker(&server, path, RerankOptions::new(dialect, "m"));
    assert_eq!(values(reranker.rerank(QUERY, &CANDIDATES).await), [0.9, 0.1], "{dialect:?}");
    let request = server.received_requests().await.unwrap().remove(0);
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(request.headers["content-type"], "application/json");
    (request.url.path().to_owned(), String::from_utf8(request.body).unwrap())
}

fn rows(name: &str) -> Value {
    json!([{"index": 1, name: 0.1}, {"index": 0, name: 0.9, "document": {"text": "虾"}}])
}

#[tokio::test]
async fn k6_siliconflow_is_asked_as_it_wants() {
    let answer = json!({"id": "x", "results": rows("relevance_score"), "meta": {"tokens": {"input_tokens": 3}}});
    let (path, body) = sent(RerankApi::SiliconFlow, "/v1", answer).await;
    assert_eq!(path, "/v1/rerank");
    assert_eq!(
        body,
        r#"{"model":"m","query":"我对什么过敏？","documents":["虾","cats"],"top_n":2,"return_documents":false}"#
    );
}

#[tokio::test]
async fn siliconflow_accepts_an_instruction() {
    let server = server_with(json!({"results": rows("relevance_score")})).await;
    let options =
        RerankOptions::new(RerankApi::SiliconFlow, "Qwen/Qwen3-Reranker-8B").with_instruction("find the allergy");
    reranker(&server, "/v1", options).rerank(QUERY, &CANDIDATES).await.unwrap();
    let body: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!(body["instruction"], "find the allergy");
}

#[tokio::test]
async fn jina_request_format() {
    let answer =
        json!({"model": "m", "object": "list", "results": rows("relevance_score"), "usage": {"total_tokens": 3}});
    let (path, body) = sent(RerankApi::Jina, "/v1", answer).await;
    assert_eq!(path, "/v1/rerank");
    assert_eq!(
        body,
        r#"{"model":"m","query":"我对什么过敏？","documents":["虾","cats"],"top_n":2,"return_documents":false}"#
    );
}

#[tokio::test]
async fn cohere_request_format() {
    let answer = json!({"id": "x", "results": rows("relevance_score"), "meta": {"api_version": {"version": "2"}}});
    let (path, body) = sent(RerankApi::Cohere, "/v2", answer).await;
    assert_eq!(path, "/v2/rerank");
    assert_eq!(body, r#"{"model":"m","query":"我对什么过敏？","documents":["虾","cats"],"top_n":2}"#);
}

#[tokio::test]
async fn voyage_request_format() {
    let answer = json!({"object": "list", "data": rows("relevance_score"), "model": "m"});
    let (path, body) = sent(RerankApi::Voyage, "/v1", answer).await;
    assert_eq!(path, "/v1/rerank");
    assert_eq!(
        body,
        concat!(
            r#"{"model":"m","query":"我对什么过敏？","documents":["虾","cats"],"#,
            r#""top_k":2,"return_documents":false,"truncation":true}"#
        )
    );
}

#[tokio::test]
async fn tei_request_format() {
    let (path, body) = sent(RerankApi::Tei, "", rows("score")).await;
    assert_eq!(path, "/rerank");
    assert_eq!(
        body,
        r#"{"query":"我对什么过敏？","texts":["虾","cats"],"raw_scores":false,"return_text":false,"truncate":true}"#
    );
}

#[tokio::test]
async fn vllm_request_format() {
    let answer = json!({"id": "x", "model": "m", "usage": {"total_tokens": 3}, "results": rows("relevance_score")});
    let (path, body) = sent(RerankApi::Vllm, "/v1", answer).await;
    assert_eq!(path, "/v1/rerank");
    assert_eq!(body, r#"{"model":"m","query":"我对什么过敏？","documents":["虾","cats"],"top_n":2}"#);
}

#[tokio::test]
async fn k6_raw_scores_are_brought_between_nothing_and_one_in_their_order() {
    let server = server_with(json!([{"index": 0, "score": 5.5}, {"index": 1, "score": -8.0}])).await;
    let scores = values(reranker(&server, "", RerankOptions::new(RerankApi::Tei, "")).rerank("q", &CANDIDATES).await);
    assert!(scores[0] > 0.99 && scores[1] < 0.001 && scores[1] > 0.0, "{scores:?}");
}

#[tokio::test]
async fn candidates_are_batched_and_empty_ones_skipped() {
    let server = server_with(json!({"results": rows("relevance_score")})).await;
    let options = RerankOptions::new(RerankApi::Cohere, "m").with_max_batch(2);
    let scores = values(reranker(&server, "/v2", options).rerank("q", &["a", "", "b", "c", " ", "d"]).await);
    assert_eq!(scores, [0.9, 0.0, 0.1, 0.9, 0.0, 0.1]);
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_response_needs_one_score_per_candidate() {
    let row = |index: usize, score: Value| json!({"index": index, "relevance_score": score});
    let cases = [
        (vec![row(0, json!(0.5))], "1 scores for 2"),
        (vec![row(0, json!(0.5)), row(0, json!(0.5))], "two scores"),
        (vec![row(0, json!(0.5)), row(2, json!(0.5))], "not sent"),
        (vec![row(0, json!(0.5)), row(1, json!(null))], "of another form"),
    ];
    for (rows, expected) in cases {
        let server = server_with(json!({"results": rows})).await;
        let reranker = reranker(&server, "/v1", RerankOptions::new(RerankApi::Jina, "m"));
        let error = reranker.rerank(QUERY, &CANDIDATES).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn empty_requests_are_not_sent() {
    let server = server_with(json!({})).await;
    let reranker = reranker(&server, "/v1", RerankOptions::new(RerankApi::Jina, "m"));
    assert!(reranker.rerank("q", &[]).await.unwrap().is_empty());
    assert_eq!(values(reranker.rerank("q", &["", " "]).await), [0.0, 0.0]);
    assert_eq!(reranker.rerank(" ", &["x"]).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(server.received_requests().await.unwrap().is_empty());
    assert_eq!("voyage".parse::<RerankApi>().unwrap(), RerankApi::Voyage);
    assert!("bing".parse::<RerankApi>().unwrap_err().message().contains("siliconflow"));
}
