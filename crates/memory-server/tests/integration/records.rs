//! Changes of records over HTTP: pins, corrections, retractions and restoring.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use memory_engine::{EnrichmentOptions, MemoryEngine, RecordId, Scope, State, Turn, history::Rewind};
use memory_engine_server::{Access, ApiKey, Config, Guard, KeyRing, Records, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

struct Fixture {
    engine: MemoryEngine,
    router: Router,
    key: String,
}

impl Fixture {
    /// A server with a key for two users.
    async fn new() -> Self {
        let builder = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules().unwrap());
        let engine = builder.background(false).build().await.unwrap();
        let key = ApiKey::generate();
        let access = Access::tenant("desk", "acme").unwrap().only_users(["lin", "mei"]).unwrap();
        let guard = Guard::keys(KeyRing::default().with_key(&key, access));
        let server = Server::new(engine.clone(), guard).records(Records::new(engine.clone()));
        #[cfg(feature = "ui")]
        let server = server.inspector(memory_engine_server::Inspector::new(engine.clone(), Config::default()));
        Self { engine, router: server.router(), key: key.reveal().to_owned() }
    }

    async fn remember(&self, scope: &Scope, text: &str) -> RecordId {
        let id = self.engine.remember(scope, Turn::user(text)).await.unwrap();
        self.engine.drain(&scope.namespace(), |_| ()).await.unwrap();
        id
    }

    async fn send(&self, request: axum::http::request::Builder, body: &str) -> (StatusCode, Value) {
        let request = request.header("x-api-key", &self.key).body(Body::from(body.to_owned())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn post(&self, verb: &str, body: Value) -> (StatusCode, Value) {
        self.send(Request::post(format!("/api/records/{verb}")), &body.to_string()).await
    }

    async fn retractions(&self, query: &str) -> Vec<Value> {
        let (status, reply) = self.send(Request::get(format!("/api/records/retractions?{query}")), "").await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply["retractions"].as_array().unwrap().clone()
    }

    async fn record(&self, scope: &Scope, id: &Value) -> memory_engine::Record {
        let id = id.as_str().unwrap().parse().unwrap();
        self.engine.get(scope, id).await.unwrap().unwrap()
    }
}

fn user(name: &str) -> Scope {
    Scope::tenant_wide("acme").unwrap().with_user(name).unwrap()
}

#[tokio::test]
async fn records_are_pinned() {
    let server = Fixture::new().await;
    let id = server.remember(&user("lin"), "备用钥匙在门垫下面").await;
    let body = json!({ "user_id": "lin", "ids": [id], "pinned": true, "importance": 0.9 });
    let (status, reply) = server.post("patch", body).await;
    assert_eq!((status, reply), (StatusCode::OK, json!({ "changed": 1 })));
    assert!(server.record(&user("lin"), &json!(id)).await.pinned);
}

#[tokio::test]
async fn a_text_is_corrected_and_a_fact_superseded() {
    let server = Fixture::new().await;
    let lin = user("lin").with_session("monday").unwrap();
    let note = server.engine.remember(&lin, Turn::note("备用钥匙在门垫下面")).await.unwrap();
    let (status, reply) =
        server.post("edit", json!({ "user_id": "lin", "id": note, "text": "备用钥匙在阿墨那里" })).await;
    assert_eq!((status, &reply), (StatusCode::OK, &json!({ "id": note })));
    assert_eq!(server.record(&lin, &reply["id"]).await.text, "备用钥匙在阿墨那里");

    server.remember(&lin, "I live in Porto.").await;
    let fact = server.engine.facts(&user("lin")).await.unwrap().remove(0).id;
    let (status, reply) = server.post("edit", json!({ "user_id": "lin", "id": fact, "text": "Braga" })).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_ne!(reply["id"], json!(fact));
    assert_eq!(server.record(&user("lin"), &json!(fact)).await.state, State::Superseded);
    let values: Vec<String> =
        server.engine.facts(&user("lin")).await.unwrap().into_iter().map(|fact| fact.value).collect();
    assert_eq!(values, ["Braga"]);
}

#[tokio::test]
async fn a_retraction_is_listed_and_restored() {
    let server = Fixture::new().await;
    let lin = user("lin").with_session("monday").unwrap();
    let id = server.remember(&lin, "I live in Porto.").await;
    let facts = || async { server.engine.facts(&user("lin")).await.unwrap().len() };
    assert_eq!(facts().await, 1);

    let (status, retraction) =
        server.post("retract", json!({ "user_id": "lin", "ids": [id], "reason": " that was Mo " })).await;
    assert_eq!((status, &retraction["reason"]), (StatusCode::OK, &json!("that was Mo")), "{retraction}");
    // The turn, and the fact that was derived from it.
    assert_eq!((&retraction["records"][0], retraction["records"].as_array().unwrap().len()), (&json!(id), 2));
    assert_eq!(facts().await, 0);
    assert_eq!(server.record(&lin, &json!(id)).await.state, State::Revoked);
    let listed = server.retractions("user_id=lin").await;
    assert_eq!((listed.len(), &listed[0]["id"], &listed[0]["reason"]), (1, &retraction["id"], &retraction["reason"]));
    assert!(retraction["at"].as_str().unwrap().ends_with('Z'));

    // Retracted already.
    let (status, none) = server.post("retract", json!({ "user_id": "lin", "ids": [id] })).await;
    assert_eq!((status, &none["id"], &none["records"]), (StatusCode::OK, &Value::Null, &json!([])));

    let body = json!({ "user_id": "lin", "retraction": retraction["id"] });
    assert_eq!(server.post("restore", body.clone()).await, (StatusCode::OK, json!({ "restored": 2 })));
    assert_eq!(facts().await, 1);
    assert!(server.retractions("user_id=lin").await.is_empty());
    assert_eq!(server.post("restore", body).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn retractions_are_listed_latest_first_within_the_scope() {
    let server = Fixture::new().await;
    let monday = user("lin").with_session("monday").unwrap();
    let tuesday = user("lin").with_session("tuesday").unwrap();
    let first = server.remember(&monday, "one").await;
    server.remember(&tuesday, "two").await;
    server.post("retract", json!({ "user_id": "lin", "session_id": "monday", "ids": [first] })).await;
    server.engine.history().rewind(&tuesday, Rewind::Last(1)).await.unwrap();
    let reasons = |listed: Vec<Value>| -> Vec<String> {
        listed.iter().map(|retraction| retraction["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(reasons(server.retractions("user_id=lin").await), ["rewind", ""]);
    assert_eq!(reasons(server.retractions("user_id=lin&limit=1").await), ["rewind"]);
    assert_eq!(reasons(server.retractions("user_id=lin&session_id=monday").await), [""]);
}

#[tokio::test]
async fn a_key_changes_only_its_own_records() {
    let server = Fixture::new().await;
    let (mei, wang) = (user("mei"), user("wang"));
    let of_mei = server.remember(&mei, "Mei keeps bees").await;
    let of_wang = server.remember(&wang, "Wang keeps goats").await;
    let hidden = server.engine.history().retract(&wang, &[of_wang], "private").await.unwrap();
    let retraction = server.engine.history().retract(&mei, &[of_mei], "").await.unwrap();
    server.engine.history().restore(&mei, retraction.id).await.unwrap();

    // The ids of another user do not exist.
    let (status, _) = server.post("edit", json!({ "user_id": "lin", "id": of_mei, "text": "x" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, none) = server.post("retract", json!({ "user_id": "lin", "ids": [of_mei] })).await;
    assert_eq!((&none["id"], &none["records"]), (&Value::Null, &json!([])));
    let (status, _) = server.post("restore", json!({ "user_id": "lin", "retraction": hidden.id })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(server.retractions("user_id=lin").await.is_empty());
    assert_eq!(server.record(&mei, &json!(of_mei)).await.text, "Mei keeps bees");

    // A user without access, and no user at all.
    for named in [json!({ "user_id": "wang" }), json!({})] {
        for (verb, field) in [
            ("edit", json!({ "id": of_wang, "text": "x" })),
            ("retract", json!({ "ids": [of_wang] })),
            ("restore", json!({ "retraction": hidden.id })),
        ] {
            let mut body = named.clone();
            body.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
            let (status, reply) = server.post(verb, body).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{verb}: {reply}");
        }
    }
    for query in ["?user_id=wang", ""] {
        let (status, reply) = server.send(Request::get(format!("/api/records/retractions{query}")), "").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    }
    assert_eq!(server.record(&wang, &json!(of_wang)).await.state, State::Revoked);
}

#[tokio::test]
async fn the_core_is_listed_by_rank() {
    let server = Fixture::new().await;
    let lin = user("lin");
    for text in ["I live in Porto.", "I'm allergic to shellfish.", "I like jazz."] {
        server.remember(&lin, text).await;
    }
    server.remember(&user("mei"), "我对花生过敏。").await;
    let pinned = server.remember(&lin, "备用钥匙在门垫下面").await;
    server.post("patch", json!({ "user_id": "lin", "ids": [pinned], "pinned": true })).await;
    let core = async |query: &str| {
        let (status, reply) = server.send(Request::get(format!("/api/records/core?user_id=lin{query}")), "").await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let entry =
            |memory: &Value| (memory["class"].as_str().unwrap().to_owned(), memory["included"].as_bool().unwrap());
        reply["memories"].as_array().unwrap().iter().map(entry).collect::<Vec<_>>()
    };
    let all = [("pinned", true), ("health", true), ("identity", true)].map(|(class, fits)| (class.to_owned(), fits));
    assert_eq!(core("").await, all);
    let narrow = core("&max_tokens=12").await;
    assert_eq!(narrow.iter().filter(|(_, fits)| *fits).count(), 1, "{narrow:?}");
    let (status, reply) = server.send(Request::get("/api/records/core?user_id=lin&max_tokens=0"), "").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    let tenant = Access::tenant("desk", "acme").unwrap();
    let key = ApiKey::generate();
    let guard = Guard::keys(KeyRing::default().with_key(&key, tenant));
    let router = Server::new(server.engine.clone(), guard).records(Records::new(server.engine.clone())).router();
    let everyone = Fixture { engine: server.engine.clone(), router, key: key.reveal().to_owned() };
    let (status, reply) = everyone.send(Request::get("/api/records/core"), "").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "of nobody in particular: {reply}");
    let (status, _) = server.send(Request::get("/api/records/core?user_id=wang"), "").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn wrong_requests_are_explained() {
    let server = Fixture::new().await;
    let id = "0198c0de-0000-7000-8000-000000000000";
    for (verb, body, status, expected) in [
        ("edit", json!({ "user_id": "lin", "id": id }), StatusCode::BAD_REQUEST, "send {\"id\""),
        ("edit", json!({ "user_id": "lin", "id": "one", "text": "x" }), StatusCode::BAD_REQUEST, "send {\"id\""),
        ("edit", json!({ "user": "lin", "id": id, "text": "x" }), StatusCode::BAD_REQUEST, "unknown field `user`"),
        ("edit", json!({ "user_id": "lin", "id": id, "text": " " }), StatusCode::BAD_REQUEST, "empty"),
        ("edit", json!({ "user_id": "lin", "id": id, "text": "x" }), StatusCode::NOT_FOUND, id),
        ("retract", json!({ "user_id": "lin", "ids": [] }), StatusCode::BAD_REQUEST, "from 1 to 500"),
        ("retract", json!({ "user_id": "lin", "ids": vec![id; 501] }), StatusCode::BAD_REQUEST, "from 1 to 500"),
        ("retract", json!({ "user_id": "lin", "id": id }), StatusCode::BAD_REQUEST, "send {\"ids\""),
        ("restore", json!({ "user_id": "lin", "id": id }), StatusCode::BAD_REQUEST, "GET /api/records/retractions"),
        ("restore", json!({ "user_id": "lin", "retraction": id }), StatusCode::NOT_FOUND, id),
        ("patch", json!({ "user_id": "lin", "ids": [id] }), StatusCode::BAD_REQUEST, "expires_at"),
        ("patch", json!({ "user_id": "lin", "ids": [], "pinned": true }), StatusCode::BAD_REQUEST, "from 1 to 500"),
    ] {
        let (found, reply) = server.post(verb, body.clone()).await;
        assert_eq!(found, status, "{verb} {body}: {reply}");
        assert!(reply["detail"].as_str().unwrap().contains(expected), "{verb} {body}: {reply}");
    }
    for (query, expected) in [("limit=0", "from 1 to 500"), ("limit=501", "from 1 to 500"), ("user=lin", "user_id")] {
        let (status, reply) =
            server.send(Request::get(format!("/api/records/retractions?user_id=lin&{query}")), "").await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}: {reply}");
        assert!(reply["detail"].as_str().unwrap().contains(expected), "{query}: {reply}");
    }
    let (status, _) = server.send(Request::get("/api/records/edit"), "").await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn the_configuration_switches_the_routes_off() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    for (enabled, expected) in [(true, StatusCode::OK), (false, StatusCode::NOT_FOUND)] {
        let mut config = Config::default();
        config.metrics.enabled = false;
        config.records_api.enabled = enabled;
        let router = config.server(&engine, |_| None).unwrap().router();
        let request = Request::get("/api/records/retractions").header("host", "localhost");
        let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), expected);
    }
}

#[cfg(feature = "ui")]
mod inspector {
    use memory_engine::history::Fork;

    use super::*;

    async fn get(server: &Fixture, path: &str) -> (StatusCode, Value) {
        server.send(Request::get(format!("/api/inspector/{path}")), "").await
    }

    async fn preview(server: &Fixture, body: Value) -> (StatusCode, Value) {
        let request = Request::post("/api/inspector/deletion-preview").header("content-type", "application/json");
        server.send(request, &body.to_string()).await
    }

    #[tokio::test]
    async fn records_of_a_retraction_are_shown_with_deleted_ones() {
        let server = Fixture::new().await;
        let id = server.remember(&user("lin"), "I live in Porto.").await;
        let of_mei = server.remember(&user("mei"), "Mei keeps bees").await;
        let (_, retraction) = server.post("retract", json!({ "user_id": "lin", "ids": [id] })).await;
        let ids: Vec<&str> = retraction["records"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        let path = format!("undo/records?user_id=lin&ids={},{of_mei}", ids.join(","));
        let (status, shown) = get(&server, &path).await;
        assert_eq!(status, StatusCode::OK, "{shown}");
        assert_eq!(
            (&shown["records"][0]["text"], &shown["records"][0]["state"]),
            (&json!("I live in Porto."), &json!("revoked"))
        );
        assert_eq!((&shown["records"][1]["kind"], &shown["missing"]), (&json!("fact"), &json!([of_mei])));
        assert_eq!(get(&server, &format!("undo/records?user_id=wang&ids={id}")).await.0, StatusCode::FORBIDDEN);
        for (query, expected) in [("ids=", "from 1 to 500"), ("ids=one", "id"), ("id=one", "unknown field")] {
            let (status, reply) = get(&server, &format!("undo/records?user_id=lin&{query}")).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{query}: {reply}");
            assert!(reply["detail"].as_str().unwrap().contains(expected), "{query}: {reply}");
        }
    }

    #[tokio::test]
    async fn branches_are_listed_with_what_they_share() {
        let server = Fixture::new().await;
        let story = user("lin").with_session("story").unwrap();
        for (sequence, text) in [(1, "船启航了"), (2, "船沉了")] {
            server.engine.remember(&story, Turn::assistant(text).with_sequence(sequence)).await.unwrap();
        }
        let branch = |name: &str| story.clone().with_branch(name).unwrap();
        server.engine.history().fork(&branch("mercy"), Fork::at(1)).await.unwrap();
        server.engine.remember(&branch("mercy"), Turn::assistant("船靠岸了").with_sequence(2)).await.unwrap();
        server.engine.history().fork(&branch("apart"), Fork::at(2).from_branch("mercy").alone()).await.unwrap();

        let (_, first) = get(&server, "undo/branches?user_id=lin&limit=1").await;
        let apart = &first["branches"][0];
        assert_eq!((&apart["branch"], &apart["parent"], &apart["at"]), (&json!("apart"), &json!("mercy"), &json!(2)));
        assert_eq!(
            (&apart["inherits"], &apart["last_shared"], &apart["records"]),
            (&json!(false), &Value::Null, &json!(0))
        );
        let cursor = first["next_cursor"].as_str().unwrap();
        let (_, second) = get(&server, &format!("undo/branches?user_id=lin&limit=1&cursor={cursor}")).await;
        let mercy = &second["branches"][0];
        assert_eq!((&mercy["branch"], &mercy["parent"], &mercy["records"]), (&json!("mercy"), &Value::Null, &json!(1)));
        assert_eq!((&mercy["last_shared"]["text"], &mercy["session_id"]), (&json!("船启航了"), &json!("story")));
        assert_eq!(second["next_cursor"], Value::Null);

        assert_eq!(get(&server, "undo/branches?user_id=mei").await.1["branches"], json!([]));
        assert_eq!(get(&server, "undo/branches?user_id=wang").await.0, StatusCode::FORBIDDEN);
        assert_eq!(get(&server, "undo/branches?user_id=lin&limit=101").await.0, StatusCode::BAD_REQUEST);
    }

    #[tokio::test]
    async fn a_deletion_is_previewed() {
        let server = Fixture::new().await;
        let id = server.remember(&user("lin"), "I live in Porto.").await;
        let of_mei = server.remember(&user("mei"), "Mei keeps bees").await;
        let (status, shown) = preview(&server, json!({ "user_id": "lin", "ids": [id, of_mei] })).await;
        assert_eq!((status, &shown["records"]), (StatusCode::OK, &json!(2)), "{shown}");
        assert_eq!((&shown["selected"], &shown["derived"]), (&json!({ "turn": 1 }), &json!({ "fact": 1 })));
        assert_eq!(
            (&shown["selected_sample"][0]["text"], &shown["not_found"]),
            (&json!("I live in Porto."), &json!([of_mei]))
        );
        let (_, shown) =
            preview(&server, json!({ "user_id": "lin", "filter": { "field": "kind", "value": "fact" } })).await;
        assert_eq!((&shown["selected"], &shown["derived"]), (&json!({ "fact": 1 }), &json!({})));
        let (_, shown) = preview(&server, json!({ "user_id": "lin", "everything": true })).await;
        assert_eq!(shown["selected"], json!({ "fact": 1, "turn": 1 }));
        assert_eq!(server.record(&user("lin"), &json!(id)).await.state, State::Active);
        for (body, status) in [
            (json!({ "user_id": "wang", "everything": true }), StatusCode::FORBIDDEN),
            (json!({ "everything": true }), StatusCode::FORBIDDEN),
            (json!({ "user_id": "lin" }), StatusCode::BAD_REQUEST),
            (json!({ "user_id": "lin", "ids": ["one"] }), StatusCode::BAD_REQUEST),
        ] {
            assert_eq!(preview(&server, body.clone()).await.0, status, "{body}");
        }
    }
}
