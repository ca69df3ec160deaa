//! Deletions with a signed certificate.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, request},
};
use memory_engine::{
    MemoryEngine, RecordId, Scope,
    certificate::{CertificateKey, DeletionCertificate, SearchExtent, verify_signature},
};
use memory_engine_server::{Access, ApiKey, Config, Deletions, Guard, KeyRing, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

const SECRET: &str = "保险箱的密码写在书架最上面那本地图册的扉页";

struct Fixture {
    folder: tempfile::TempDir,
    engine: MemoryEngine,
    key: CertificateKey,
    router: Router,
    lins: String,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.db");
        let engine = MemoryEngine::builder().sqlite(path).background(false).build().await.unwrap();
        let (key, lin, all) = (CertificateKey::generate().unwrap(), ApiKey::generate(), ApiKey::generate());
        let tenant = |name: &str| Access::tenant(name, "default").unwrap();
        let keys = KeyRing::default().with_key(&lin, tenant("lin").only_users(["lin"]).unwrap());
        let guard = Guard::keys(keys.with_key(&all, tenant("all")));
        let copy = CertificateKey::from_text(&key.to_pem()).unwrap();
        let router = Server::new(engine.clone(), guard).deletions(Deletions::new(engine.clone(), copy)).router();
        Self { folder, engine, key, router, lins: lin.reveal().to_string() }
    }

    async fn remember(&self, user: &str, text: &str) -> RecordId {
        let id = self.engine.remember(&Scope::user(user).unwrap(), text).await.unwrap();
        self.engine.drain(&Scope::user(user).unwrap(), |_| ()).await.unwrap();
        id
    }

    async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request, Body::from(body.to_string())).await
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(Request::get(path), Body::empty()).await
    }

    async fn send(&self, request: request::Builder, body: Body) -> (StatusCode, Value) {
        let request = request.header("authorization", format!("Bearer {}", self.lins)).body(body).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("{bytes:?}")))
    }
}

#[tokio::test]
async fn a_deletion_is_certified_and_verified() {
    let server = Fixture::new().await;
    let [id, other] = [server.remember("lin", SECRET).await, server.remember("lin", "I like tea in the morning").await];
    let (status, reply) = server.post("/api/deletions", &json!({ "ids": [id] })).await;
    assert_eq!((status, &reply["clean"], &reply["forgotten"]), (StatusCode::OK, &json!(true), &json!(1)), "{reply}");
    assert!(!reply.to_string().contains("地图册"));
    let certificate = DeletionCertificate::parse(&reply["certificate"].to_string()).unwrap();
    assert!(verify_signature(&certificate, Some(&server.key.public_key())).unwrap().has_passed());
    let (status, checked) = server.post("/api/deletions/verify", &reply["certificate"]).await;
    assert_eq!((status, &checked["passed"]), (StatusCode::OK, &json!(true)), "{checked}");
    let mut changed = reply["certificate"].clone();
    changed["residue"] = json!(7);
    let (_, checked) = server.post("/api/deletions/verify", &changed).await;
    assert_eq!((&checked["passed"], &checked["checks"][0]["name"]), (&json!(false), &json!("signature")), "{checked}");

    let filter = json!({ "field": "id", "op": "eq", "value": other });
    let (status, reply) = server.post("/api/deletions", &json!({ "filter": filter })).await;
    assert_eq!((status, &reply["forgotten"]), (StatusCode::OK, &json!(1)), "{reply}");
    server.remember("lin", "I like coffee, too").await;
    let (status, reply) = server.post("/api/deletions", &json!({ "everything": true, "user_id": "lin" })).await;
    assert_eq!((status, &reply["forgotten"], &reply["clean"]), (StatusCode::OK, &json!(1), &json!(true)), "{reply}");
}

#[tokio::test]
async fn records_are_deleted_by_a_text_in_them() {
    let server = Fixture::new().await;
    for text in ["房东的账号：6217-0088 4412", "her account is 621700884412", "她付了6217元"] {
        server.remember("lin", text).await;
    }
    server.remember("mo", "621700884412").await;
    let (status, reply) = server.post("/api/deletions", &json!({ "text": "6217 0088 4412" })).await;
    assert_eq!((status, &reply["forgotten"], &reply["clean"]), (StatusCode::OK, &json!(2), &json!(true)), "{reply}");
    assert_eq!(reply["certificate"]["target"], "text");
    assert!(!reply.to_string().contains("6217"), "{reply}");
    let (_, reply) = server.post("/api/deletions", &json!({ "text": "6217 0088 4412" })).await;
    assert_eq!(reply["forgotten"], 0);
    for (body, word) in [
        (json!({ "text": "户" }), "at least 3 (2 if all are Chinese)"),
        (json!({ "text": "abc ".repeat(400) }), "at most 1000"),
        (json!({ "text": "6217 0088", "everything": true }), "exactly one"),
        (json!({ "text": 6217 }), "string"),
        (json!({ "ids": [], "redact": true }), "name the text"),
        (json!({ "text": "Deleted", "redact": true }), "a part of [deleted]"),
    ] {
        let (status, reply) = server.post("/api/deletions", &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert!(reply.to_string().contains(word), "{reply}");
    }
}

#[tokio::test]
async fn a_text_is_redacted_in_records() {
    let server = Fixture::new().await;
    let id = server.remember("lin", "房东的账号：6217-0088 4412，别忘了").await;
    let body = json!({ "text": "6217 0088 4412", "redact": true });
    let (status, reply) = server.post("/api/deletions", &body).await;
    let counts = (&reply["forgotten"], &reply["redacted"], &reply["clean"]);
    assert_eq!((status, counts), (StatusCode::OK, (&json!(0), &json!(1), &json!(true))), "{reply}");
    let record = server.engine.get(&Scope::user("lin").unwrap(), id).await.unwrap().unwrap();
    assert_eq!(record.text, "房东的账号：[deleted]，别忘了");
    let (status, checked) = server.post("/api/deletions/verify", &reply["certificate"]).await;
    assert_eq!((status, &checked["passed"]), (StatusCode::OK, &json!(true)), "{checked}");
}

#[tokio::test]
async fn a_text_is_kept_out_until_its_entry_is_deleted() {
    let server = Fixture::new().await;
    server.remember("lin", "房东的账号：6217-0088 4412").await;
    let body = json!({ "text": "6217 0088 4412", "standing": true, "session_id": "monday" });
    let (status, reply) = server.post("/api/deletions", &body).await;
    assert_eq!((status, &reply["forgotten"]), (StatusCode::OK, &json!(0)), "another session: {reply}");
    let monday = Scope::user("lin").unwrap().with_session("monday").unwrap();
    let id = server.engine.remember(&monday, "她的账号是621700884412").await.unwrap();
    assert_eq!(server.engine.get(&monday, id).await.unwrap().unwrap().text, "她的账号是[deleted]");
    let (status, listed) = server.get("/api/deletions/standing").await;
    let entry = &listed["standing"][0];
    assert_eq!((status, &entry["id"], &entry["session_id"]), (StatusCode::OK, &reply["kept_out"], &json!("monday")));
    assert!(entry["length"] == 12 && !listed.to_string().contains("6217"), "{listed}");
    let (status, reply) = server.post("/api/deletions", &json!({ "ids": [entry["id"]] })).await;
    assert_eq!((status, &reply["forgotten"]), (StatusCode::OK, &json!(1)), "{reply}");
    assert_eq!(server.get("/api/deletions/standing").await.1, json!({ "standing": [] }));
    let (status, reply) = server.post("/api/deletions", &json!({ "everything": true, "standing": true })).await;
    assert!(status == StatusCode::BAD_REQUEST && reply.to_string().contains("name the text"), "{reply}");
    let (status, _) = server.get("/api/deletions/standing?user_id=mo").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

/// The `search` of a certificate of the key of lin for a deletion of `SECRET`.
async fn search_of_a_deletion(server: &Fixture) -> Value {
    let id = server.remember("lin", SECRET).await;
    let (status, reply) = server.post("/api/deletions", &json!({ "ids": [id] })).await;
    assert_eq!((status, &reply["clean"]), (StatusCode::OK, &json!(true)), "{reply}");
    reply["certificate"]["search"].clone()
}

#[tokio::test]
async fn a_certificate_tells_nothing_about_other_users() {
    let (alone, shared) = (Fixture::new().await, Fixture::new().await);
    shared.remember("mo", SECRET).await;
    shared.remember("mo", "I like coffee, too").await;
    let named = Scope::user("mo").unwrap().with_session(&SECRET[..30]).unwrap();
    shared.engine.remember(&named, "a conversation with a name").await.unwrap();
    std::fs::write(shared.folder.path().join("memory.db-left"), SECRET).unwrap();
    assert_eq!(search_of_a_deletion(&alone).await, search_of_a_deletion(&shared).await);
}

#[tokio::test]
async fn a_forged_certificate_tells_nothing_about_other_users() {
    let server = Fixture::new().await;
    let moss = server.remember("mo", SECRET).await;
    let own = server.remember("lin", SECRET).await;
    let (_, reply) = server.post("/api/deletions", &json!({ "ids": [own] })).await;
    // Not signed again: the store is not searched.
    let mut forged = reply["certificate"].clone();
    forged["records"][0]["id"] = json!(moss);
    let (_, checked) = server.post("/api/deletions/verify", &forged).await;
    let checks = checked["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!((&checked["passed"], names), (&json!(false), vec!["signature", "public key", "deletion"]), "{checked}");
    // A record of another user.
    forged["records"][0]["user"] = json!("mo");
    let (status, reply) = server.post("/api/deletions/verify", &forged).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert!(reply["detail"].as_str().unwrap().contains("was changed"), "{reply}");
}

#[tokio::test]
async fn a_certificate_is_read_only_as_it_was_written() {
    let server = Fixture::new().await;
    let id = server.remember("lin", SECRET).await;
    let (_, reply) = server.post("/api/deletions", &json!({ "ids": [id] })).await;
    let mut certificate = reply["certificate"].clone();
    let time = certificate["begun_at"].as_str().unwrap().trim_end_matches('Z').to_owned();
    certificate["begun_at"] = json!(time);
    let (status, reply) = server.post("/api/deletions/verify", &certificate).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert!(reply["detail"].as_str().unwrap().contains("`begun_at`"), "{reply}");
}

#[tokio::test]
async fn other_users_and_incomplete_requests_are_refused() {
    let server = Fixture::new().await;
    let moss = server.remember("mo", SECRET).await;
    // The ids of other users do not exist.
    let (status, reply) = server.post("/api/deletions", &json!({ "ids": [moss] })).await;
    assert_eq!((status, &reply["forgotten"]), (StatusCode::OK, &json!(0)));
    assert_eq!(reply["certificate"]["not_found"], json!([moss]));
    assert_eq!(reply["certificate"]["records"], json!([]));
    for (body, status, word) in [
        (json!({ "ids": [moss], "user_id": "mo" }), StatusCode::FORBIDDEN, "no access"),
        (json!({}), StatusCode::BAD_REQUEST, "exactly one"),
        (json!({ "ids": [], "everything": true }), StatusCode::BAD_REQUEST, "exactly one"),
        (json!({ "ids": ["nonsense"] }), StatusCode::BAD_REQUEST, "id"),
        (json!({ "everything": true, "user": "lin" }), StatusCode::BAD_REQUEST, "unknown field `user`"),
    ] {
        let (found, reply) = server.post("/api/deletions", &body).await;
        assert_eq!(found, status, "{body}: {reply}");
        assert!(reply["detail"].as_str().unwrap().contains(word), "{body}: {reply}");
    }
    let mo = Scope::user("mo").unwrap();
    let handle = server.engine.deletion();
    let deletion = handle.forget_with_certificate(&mo, moss, &server.key, SearchExtent::Users).await.unwrap();
    let certificate = deletion.certificate;
    let (status, _) = server.post("/api/deletions/verify", &serde_json::to_value(&certificate).unwrap()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, reply) = server.post("/api/deletions/verify", &json!({ "format": "x" })).await;
    assert!(
        status == StatusCode::BAD_REQUEST && reply["detail"].as_str().unwrap().contains("not a deletion"),
        "{reply}"
    );
}

#[tokio::test]
async fn everything_of_all_users_needs_a_user() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let guard = Guard::open(Access::tenant("everybody", "default").unwrap());
    let deletions = Deletions::new(engine.clone(), CertificateKey::generate().unwrap());
    let router = Server::new(engine, guard).deletions(deletions).router();
    let request = Request::post("/api/deletions").header("content-type", "application/json");
    let response = router.oneshot(request.body(Body::from(r#"{"everything": true}"#)).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

/// Returns the status of an empty request to a server of this configuration, with this key in the variable.
async fn status(engine: &MemoryEngine, config: &Config, key: Option<String>) -> memory_engine::Result<StatusCode> {
    let variable = move |name: &str| key.clone().filter(|_| name == "MEMORY_CERTIFICATE_KEY");
    let router = config.server(engine, variable)?.router();
    let request = Request::post("/api/deletions").header("content-type", "application/json");
    let request = request.header("host", "localhost").body(Body::from("{}")).unwrap();
    Ok(router.oneshot(request).await.unwrap().status())
}

#[tokio::test]
async fn the_configuration_names_the_key_for_certificates() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let key = CertificateKey::generate().unwrap().to_pem();
    let mut config = Config::default();
    config.metrics.enabled = false;
    assert_eq!(status(&engine, &config, None).await.unwrap(), StatusCode::BAD_REQUEST);
    assert_eq!(status(&engine, &config, Some(key.clone())).await.unwrap(), StatusCode::BAD_REQUEST);
    assert!(status(&engine, &config, Some("secret".into())).await.unwrap_err().to_string().contains("PKCS#8"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key.pem").display().to_string();
    config.deletions.key_file = Some(file.clone());
    assert!(status(&engine, &config, Some(key.clone())).await.unwrap_err().to_string().contains("cannot be read"));
    std::fs::write(&file, &key).unwrap();
    assert_eq!(status(&engine, &config, None).await.unwrap(), StatusCode::BAD_REQUEST);
    config.deletions.enabled = false;
    assert_eq!(status(&engine, &config, Some(key)).await.unwrap(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn without_a_key_records_are_deleted_without_a_certificate() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let lin = Scope::user("lin").unwrap();
    let id = engine.remember(&lin, SECRET).await.unwrap();
    let mut config = Config::default();
    config.metrics.enabled = false;
    let router = config.server(&engine, |_: &str| None).unwrap().router();
    let send = async |request: Request<Body>| {
        let response = router.clone().oneshot(request).await.unwrap();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        serde_json::from_slice::<Value>(&bytes).unwrap_or_else(|_| panic!("{bytes:?}"))
    };
    let show = Request::get("/api/deletions").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(send(show).await, json!({ "certified": false }));
    let delete = Request::post("/api/deletions").header("host", "localhost").header("content-type", "application/json");
    let delete = delete.body(Body::from(json!({ "user_id": "lin", "ids": [id] }).to_string())).unwrap();
    assert_eq!(send(delete).await, json!({ "forgotten": 1, "redacted": 0, "retracted": 0 }));
    assert!(engine.get(&lin, id).await.unwrap().is_none());
}
