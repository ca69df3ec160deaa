//! A web backend: axum in front, a Postgres behind, an embedder over HTTP. One tenant per customer.
//!
//! Without `DATABASE_URL` the backend stores in a SQLite file.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Path, Query, State},
    http::{Request, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use memory_engine::{
    Cursor, Page, RecordId,
    http_models::{EmbeddingOptions, Endpoint, HttpClient, HttpEmbedder, HttpOptions},
    prelude::*,
    serde_json::{self, Value, json},
};
use serde::Deserialize;
use tower::ServiceExt;

/// An error as a response. The kinds map to codes of HTTP.
struct Failed(Error);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let code = match self.0.kind() {
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Unauthorized => StatusCode::FORBIDDEN,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Unavailable | ErrorKind::Closed => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (code, Json(json!({"error": self.0.kind().as_str()}))).into_response()
    }
}

type Reply<T> = std::result::Result<Json<T>, Failed>;

/// A page of records. Filter and cursor are the engine's own JSON.
#[derive(Deserialize)]
struct Paging {
    after: Option<Cursor>,
    limit: Option<usize>,
}

fn scope(tenant: &str, user: &str) -> Result<Scope> {
    Scope::tenant_wide(tenant)?.with_user(user)
}

async fn remember(
    State(memory): State<MemoryEngine>,
    Path((tenant, user)): Path<(String, String)>,
    Json(turn): Json<Turn>,
) -> Reply<Value> {
    let id = memory.remember(&scope(&tenant, &user)?, turn).await?;
    Ok(Json(json!({"id": id})))
}

async fn recall(
    State(memory): State<MemoryEngine>,
    Path((tenant, user)): Path<(String, String)>,
    Json(query): Json<RecallQuery>,
) -> Reply<Vec<String>> {
    let found = memory.recall(&scope(&tenant, &user)?, query).await?;
    Ok(Json(found.relevant().map(|hit| hit.text().to_owned()).collect()))
}

async fn list(
    State(memory): State<MemoryEngine>,
    Path((tenant, user)): Path<(String, String)>,
    Query(paging): Query<Paging>,
) -> Reply<Page> {
    let query = ScanQuery::oldest(paging.limit.unwrap_or(20)).with_after(paging.after);
    Ok(Json(memory.scan(&scope(&tenant, &user)?, &query).await?))
}

async fn one(
    State(memory): State<MemoryEngine>,
    Path((tenant, user, id)): Path<(String, String, RecordId)>,
) -> Reply<Record> {
    let missing = || Error::new(ErrorKind::NotFound, "one", "no such record");
    Ok(Json(memory.get(&scope(&tenant, &user)?, id).await?.ok_or_else(missing)?))
}

fn backend(memory: MemoryEngine) -> Router {
    Router::new()
        .route("/{tenant}/{user}/turns", post(remember).get(list))
        .route("/{tenant}/{user}/turns/{id}", get(one))
        .route("/{tenant}/{user}/recall", post(recall))
        .with_state(memory)
}

/// A service with the API of OpenAI's embeddings: counts letters.
async fn embeddings(Json(request): Json<Value>) -> Json<Value> {
    let texts: Vec<String> = serde_json::from_value(request["input"].clone()).unwrap_or_default();
    let vector = |text: &String| {
        let mut counts = vec![0.01_f32; 26];
        for letter in text.to_lowercase().bytes().filter(u8::is_ascii_lowercase) {
            counts[usize::from(letter - b'a')] += 1.0;
        }
        counts
    };
    let data = texts.iter().enumerate().map(|(index, text)| json!({"index": index, "embedding": vector(text)}));
    Json(json!({"data": data.collect::<Vec<_>>(), "model": "letters"}))
}

async fn embedder() -> Result<HttpEmbedder> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = Router::new().route("/v1/embeddings", post(embeddings));
    tokio::spawn(async move { axum::serve(listener, service).await });
    let endpoint = Endpoint::new(&format!("http://{address}/v1"))?;
    HttpEmbedder::connect(HttpClient::new(HttpOptions::default())?, endpoint, EmbeddingOptions::new("letters")).await
}

async fn send(backend: &Router, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let response = backend.clone().oneshot(request.body(body).expect("a request")).await.expect("a response");
    let code = response.status();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("a body");
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_serves_two_tenants_apart() -> Result<()> {
    let (_folder, file) = crate::database();
    let database = std::env::var("DATABASE_URL").unwrap_or_else(|_| file.display().to_string());
    let memory = MemoryEngine::builder().database(database.as_str()).embedder(embedder().await?).build().await?;
    let backend = backend(memory.clone());

    // Tenants of their own, so that a database can be used twice.
    let run = RecordId::new();
    let (acme, other) = (format!("/acme-{run}/kim"), format!("/other-{run}/kim"));
    let turn = json!({"role": "user", "text": "My sister plays the violin."});
    let (code, written) = send(&backend, "POST", &format!("{acme}/turns"), Some(turn)).await;
    assert_eq!(code, StatusCode::OK, "{written}");
    let id = written["id"].as_str().expect("an id").to_owned();
    memory.drain(&Scope::tenant_wide(format!("acme-{run}"))?, |_| ()).await?;

    let question = json!({"text": "Which instrument does my sister play?", "limit": 3});
    let (_, found) = send(&backend, "POST", &format!("{acme}/recall"), Some(question.clone())).await;
    assert_eq!(found, json!(["My sister plays the violin."]));
    let (_, found) = send(&backend, "POST", &format!("{other}/recall"), Some(question)).await;
    assert_eq!(found, json!([]));

    let (code, record) = send(&backend, "GET", &format!("{acme}/turns/{id}"), None).await;
    assert_eq!((code, &record["text"]), (StatusCode::OK, &json!("My sister plays the violin.")));
    let (code, _) = send(&backend, "GET", &format!("{other}/turns/{id}"), None).await;
    assert_eq!(code, StatusCode::NOT_FOUND);
    let (_, page) = send(&backend, "GET", &format!("{acme}/turns?limit=1"), None).await;
    assert_eq!(page["records"].as_array().map(Vec::len), Some(1), "{page}");
    let (code, error) = send(&backend, "POST", &format!("{acme}/recall"), Some(json!({"text": "  "}))).await;
    assert_eq!((code, error), (StatusCode::BAD_REQUEST, json!({"error": "invalid_input"})));

    memory.close().await?;
    let (code, _) = send(&backend, "GET", &format!("{acme}/turns"), None).await;
    assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
    Ok(())
}

#[tokio::test]
async fn an_embedder_behind_http_can_be_shared() -> Result<()> {
    let embedder = Arc::new(embedder().await?);
    let memory = MemoryEngine::builder().in_memory().embedder(Arc::clone(&embedder)).background(false).build().await?;
    let kim = Scope::user("kim")?;
    memory.remember(&kim, "hello").await?;
    memory.drain(&kim, |_| ()).await?;
    assert_eq!(memory.stats(&kim).await?.queued.values().sum::<u64>(), 0);
    Ok(())
}
