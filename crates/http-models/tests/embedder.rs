//! The embedder with a well-behaved service.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

mod support;

use base64::{Engine, engine::general_purpose::STANDARD};
use memory_engine_core::ErrorKind;
use memory_engine_embedder::{Embedder, Purpose};
use memory_engine_http_models::{EmbeddingOptions, Encoding, HttpEmbedder, Preset};
use serde_json::{Value, json};
use support::{client, endpoint};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

async fn server_with(respond: impl Fn(&Value) -> ResponseTemplate + Send + Sync + 'static) -> MockServer {
    let server = MockServer::start().await;
    let response = move |request: &Request| respond(&serde_json::from_slice(&request.body).unwrap());
    Mock::given(any()).respond_with(response).mount(&server).await;
    server
}

/// Each text's vector is its length and one, in shuffled order.
fn lengths(body: &Value) -> ResponseTemplate {
    let texts = body["input"].as_array().unwrap();
    let item = |(i, text): (usize, &Value)| json!({"index": i, "embedding": [text.as_str().unwrap().len(), 1]});
    let data: Vec<Value> = texts.iter().enumerate().map(item).rev().collect();
    ResponseTemplate::new(200).set_body_json(json!({"object": "list", "data": data, "usage": {"total_tokens": 1}}))
}

async fn bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    requests.iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

fn embedder(server: &MockServer, options: EmbeddingOptions) -> HttpEmbedder {
    HttpEmbedder::new(client(), endpoint(&server.uri()), options).unwrap()
}

#[tokio::test]
async fn vectors_are_normalised_and_in_text_order() {
    let server = server_with(lengths).await;
    let embedder = embedder(&server, EmbeddingOptions::new("m").with_dimensions(2));
    let vectors = embedder.embed(&["a", "bbb"], Purpose::Document).await.unwrap();
    let expected = [[1.0 / 2_f32.sqrt(); 2], [3.0 / 10_f32.sqrt(), 1.0 / 10_f32.sqrt()]];
    for (vector, expected) in vectors.iter().zip(expected) {
        assert!(vector.values().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{vector:?}");
    }
    assert_eq!(bodies(&server).await, [json!({"model": "m", "input": ["a", "bbb"], "encoding_format": "float"})]);
    assert!(embedder.embed(&[], Purpose::Query).await.unwrap().is_empty());
    assert_eq!(bodies(&server).await.len(), 1);
}

#[tokio::test]
async fn queries_and_documents_get_their_prefixes_and_fields() {
    let server = server_with(lengths).await;
    let options = EmbeddingOptions::new("m")
        .with_requested_dimensions(2)
        .with_prefixes("query: ", "passage: ")
        .with_field("input_type", "query", "document")
        .with_max_tokens(2);
    let embedder = embedder(&server, options);
    embedder.embed(&["我对海鲜"], Purpose::Query).await.unwrap();
    embedder.embed(&["我对海鲜"], Purpose::Document).await.unwrap();
    let expected = |text: &str, kind: &str| {
        json!({
            "model": "m", "input": [text], "encoding_format": "float", "dimensions": 2, "input_type": kind
        })
    };
    assert_eq!(bodies(&server).await, [expected("query: 我对", "query"), expected("passage: 我对", "document")]);
}

#[tokio::test]
async fn r12_a_rejected_batch_is_split_in_halves() {
    for status in [400, 413, 422] {
        let server = server_with(move |body| {
            if body["input"].as_array().unwrap().len() > 2 { ResponseTemplate::new(status) } else { lengths(body) }
        })
        .await;
        let embedder = embedder(&server, EmbeddingOptions::new("m").with_dimensions(2));
        let texts = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg"];
        let vectors = embedder.embed(&texts, Purpose::Document).await.unwrap();
        let lengths: Vec<f32> = vectors.iter().map(|v| (v.values()[0] / v.values()[1]).round()).collect();
        assert_eq!(lengths, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }
}

#[tokio::test]
async fn an_invalid_request_fails_after_six_attempts() {
    let server = server_with(|_| ResponseTemplate::new(400)).await;
    let embedder = embedder(&server, EmbeddingOptions::new("m").with_dimensions(2));
    let error = embedder.embed(&["x"; 32], Purpose::Document).await.unwrap_err();
    assert_eq!((error.kind(), bodies(&server).await.len()), (ErrorKind::InvalidInput, 6));
}

#[tokio::test]
async fn a_vector_of_another_space_is_rejected() {
    let error_kind = |vector: Value| async move {
        let answer = json!({"data": [{"index": 0, "embedding": vector}]});
        let server = server_with(move |_| ResponseTemplate::new(200).set_body_json(answer.clone())).await;
        let embedder = embedder(&server, EmbeddingOptions::new("m").with_dimensions(2));
        embedder.embed(&["x"], Purpose::Document).await.unwrap_err().kind()
    };
    assert_eq!(error_kind(json!([1, 2, 3])).await, ErrorKind::DimensionMismatch);
    assert_eq!(error_kind(json!([0, 0])).await, ErrorKind::Corrupt);
    assert_eq!(error_kind(json!([1e39, 1])).await, ErrorKind::Corrupt);
    assert_eq!(error_kind(json!([null, 1])).await, ErrorKind::Corrupt);
    assert_eq!(error_kind(json!([])).await, ErrorKind::Corrupt);
}

#[tokio::test]
async fn a_wrong_number_of_vectors_is_rejected() {
    for count in [0, 1, 3] {
        let data: Vec<Value> = (0..count).map(|i| json!({"index": i, "embedding": [1, 1]})).collect();
        let server = server_with(move |_| ResponseTemplate::new(200).set_body_json(json!({"data": data}))).await;
        let embedder = embedder(&server, EmbeddingOptions::new("m").with_dimensions(2));
        let error = embedder.embed(&["x", "y"], Purpose::Document).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains(&format!("{count} vectors for 2 texts")), "{error}");
    }
}

#[tokio::test]
async fn base64_is_requested_if_configured() {
    let numbers = STANDARD.encode([3_f32.to_le_bytes(), 4_f32.to_le_bytes()].concat());
    let answer = json!({"data": [{"index": 0, "embedding": numbers}]});
    let server = server_with(move |_| ResponseTemplate::new(200).set_body_json(answer.clone())).await;
    let embedder = embedder(&server, EmbeddingOptions::new("m").with_dimensions(2).with_encoding(Encoding::Base64));
    assert_eq!(embedder.embed(&["x"], Purpose::Document).await.unwrap()[0].values(), [0.6, 0.8]);
    assert_eq!(bodies(&server).await[0]["encoding_format"], "base64");
}

#[tokio::test]
async fn connect_finds_the_number_of_dimensions() {
    let server = server_with(lengths).await;
    let options = EmbeddingOptions::new("m").with_space_name("m, fine-tuned").with_scale(0.8, 0.3);
    let embedder = HttpEmbedder::connect(client(), endpoint(&server.uri()), options).await.unwrap();
    assert_eq!(embedder.space().to_string(), "m, fine-tuned (2-d, cosine)");
    assert_eq!((embedder.semantic_weight(), embedder.score_floor(), embedder.max_batch()), (0.8, 0.3, 32));
    let without = HttpEmbedder::new(client(), endpoint(&server.uri()), EmbeddingOptions::new("m"));
    assert_eq!(without.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn invalid_batches_are_not_sent() {
    let server = server_with(lengths).await;
    let embedder = embedder(&server, EmbeddingOptions::new("m").with_dimensions(2).with_max_batch(2));
    for texts in [&["x", " "][..], &["x", "y", "z"]] {
        let error = embedder.embed(texts, Purpose::Document).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert!(bodies(&server).await.is_empty());
}

#[tokio::test]
async fn k3_siliconflow_embeds_with_bge_in_1024_dimensions() {
    let options = Preset::SiliconFlow.embedding().unwrap();
    assert_eq!((options.model.as_str(), options.dimensions), ("BAAI/bge-large-zh-v1.5", Some(1024)));
    assert_eq!(Preset::SiliconFlow.rerank().unwrap().model, "BAAI/bge-reranker-v2-m3");
}
