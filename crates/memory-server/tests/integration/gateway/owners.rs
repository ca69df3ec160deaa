//! The owners of the responses that an upstream stores.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{Forget, MemoryEngine, Scope, http_models::Endpoint};
use memory_engine_server::{Access, ApiKey, Dialect, Gateway, Guard, KeyRing, Server, Upstream};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{
    gateway::fixtures::patient_options,
    support::{listen, native_upstream, upstream::ReceivedRequests},
};

struct Owners {
    engine: MemoryEngine,
    received: Arc<ReceivedRequests>,
    upstream: String,
    lin: ApiKey,
    mei: ApiKey,
    router: Router,
}

impl Owners {
    async fn new() -> Self {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        let received = Arc::new(ReceivedRequests::default());
        let upstream = listen(native_upstream::router(Arc::clone(&received))).await;
        let (lin, mei) = (ApiKey::generate(), ApiKey::generate());
        let router = Self::router(&engine, &upstream, Self::guard(&lin, &mei));
        Self { engine, received, upstream, lin, mei, router }
    }

    fn guard(lin: &ApiKey, mei: &ApiKey) -> Guard {
        let access = |user: &str| Access::tenant(user, "acme").unwrap().only_users([user]).unwrap();
        Guard::keys(KeyRing::default().with_key(lin, access("lin")).with_key(mei, access("mei")))
    }

    /// Returns a server, as after a restart.
    fn router(engine: &MemoryEngine, upstream: &str, guard: Guard) -> Router {
        let native = Upstream::new("native", Endpoint::new(&format!("{upstream}/v1")).unwrap());
        let native = native.with_dialects([Dialect::Responses]);
        let gateway = Gateway::new(engine.clone(), vec![native], patient_options()).unwrap();
        Server::new(engine.clone(), guard).gateway(gateway).router()
    }

    async fn send(&self, key: &ApiKey, method: &str, path: &str, body: Value) -> (StatusCode, String) {
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request = request.header("x-memory-key", key.reveal()).header("content-type", "application/json");
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status();
        (status, String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap())
    }

    /// Asks, and returns the id of the response.
    async fn ask(&self, key: &ApiKey, body: Value) -> String {
        let (status, reply) = self.send(key, "POST", "/v1/responses", body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let id = reply.split("\"id\":\"resp_").nth(1).unwrap().split('"').next().unwrap();
        format!("resp_{id}")
    }

    fn requests(&self) -> usize {
        self.received.requests.lock().len()
    }
}

fn question(model: &str, text: &str) -> Value {
    json!({ "model": model, "input": text })
}

#[tokio::test]
async fn a_response_is_read_continued_and_deleted_by_its_owner_only() {
    let mut owners = Owners::new().await;
    let mut stream = question("native-echo", "我养猫");
    stream["stream"] = json!(true);
    let ids = [
        owners.ask(&owners.mei, question("native-echo", "my secret")).await,
        owners.ask(&owners.mei, stream).await,
        // Its turn is stored with the answer only.
        owners.ask(&owners.mei, question("native-tools", "柏林天气")).await,
    ];
    for restart in [false, true] {
        if restart {
            owners.router = Owners::router(&owners.engine, &owners.upstream, Owners::guard(&owners.lin, &owners.mei));
        }
        for id in &ids {
            let paths = [format!("/v1/responses/{id}"), format!("/v1/responses/{id}/input_items")];
            for path in &paths {
                assert_eq!(owners.send(&owners.mei, "GET", path, Value::Null).await.0, StatusCode::OK, "{path}");
            }
            let mut next = question("native-echo", "and now?");
            next["previous_response_id"] = json!(id);
            assert_eq!(owners.send(&owners.mei, "POST", "/v1/responses", next.clone()).await.0, StatusCode::OK);

            let before = owners.requests();
            let mut refusals = Vec::new();
            for id in [id.as_str(), "resp_unknown"] {
                for (method, rest) in [("GET", ""), ("GET", "/input_items"), ("DELETE", ""), ("POST", "/cancel")] {
                    let path = format!("/v1/responses/{id}{rest}");
                    refusals.push(owners.send(&owners.lin, method, &path, Value::Null).await);
                }
                next["previous_response_id"] = json!(id);
                refusals.push(owners.send(&owners.lin, "POST", "/v1/responses", next.clone()).await);
                let conversation = json!({ "model": "native-echo", "input": "x", "conversation": { "id": id } });
                refusals.push(owners.send(&owners.lin, "POST", "/v1/responses", conversation).await);
                next["previous_response_id"] = json!(id);
                refusals.push(owners.send(&owners.lin, "POST", "/v1/responses/input_tokens", next.clone()).await);
                for item in [json!({ "type": "item_reference", "id": id }), json!({ "id": id })] {
                    let body = json!({ "model": "native-echo", "input": [item] });
                    refusals.push(owners.send(&owners.lin, "POST", "/v1/responses", body).await);
                }
            }
            assert_eq!(owners.requests(), before, "the upstream gets no request of lin");
            let error: Value = serde_json::from_str(&refusals[0].1).unwrap();
            assert_eq!(
                (refusals[0].0, &error["error"]["type"]),
                (StatusCode::NOT_FOUND, &json!("invalid_request_error"))
            );
            refusals.dedup();
            assert_eq!(refusals.len(), 1, "all refusals are the same: {refusals:?}");
        }
    }
    for item in ["msg_1", "fc_1"] {
        let body = json!({ "model": "native-echo", "input": [{ "type": "item_reference", "id": item }] });
        assert_eq!(owners.send(&owners.mei, "POST", "/v1/responses", body).await.0, StatusCode::OK, "{item}");
    }
    let deleted = owners.send(&owners.mei, "DELETE", &format!("/v1/responses/{}", ids[0]), Value::Null).await;
    assert_eq!(deleted.0, StatusCode::OK, "{deleted:?}");
}

#[tokio::test]
async fn the_owner_of_a_response_is_deleted_with_the_user() {
    let owners = Owners::new().await;
    let id = owners.ask(&owners.mei, question("native-tools", "hello")).await;
    let mei = Scope::tenant_wide("acme").unwrap().with_user("mei").unwrap();
    assert!(owners.engine.recall(&mei, "response upstream stores").await.unwrap().hits.is_empty());
    owners.engine.forget(&mei, Forget::Everything).await.unwrap();
    let restarted = Owners::router(&owners.engine, &owners.upstream, Owners::guard(&owners.lin, &owners.mei));
    let owners = Owners { router: restarted, ..owners };
    let (status, _) = owners.send(&owners.mei, "GET", &format!("/v1/responses/{id}"), Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_server_without_keys_passes_every_id_on() {
    let owners = Owners::new().await;
    let guard = Guard::open(Access::tenant("everybody", "acme").unwrap());
    let owners = Owners { router: Owners::router(&owners.engine, &owners.upstream, guard), ..owners };
    let (status, reply) = owners.send(&owners.lin, "GET", "/v1/responses/resp_7", Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let mut next = question("native-echo", "and now?");
    next["previous_response_id"] = json!("resp_unknown");
    assert_eq!(owners.send(&owners.lin, "POST", "/v1/responses", next).await.0, StatusCode::OK);
    let records = owners.engine.records(&Scope::tenant_wide("acme").unwrap()).collect().await.unwrap();
    let owners = records.iter().filter(|record| record.kind.as_str() == "ledger/stored_response").count();
    assert_eq!(owners, 0, "no owner is recorded");
}
