//! OAuth for clients of MCP, over HTTP: the whole flow, its rules and its pages.

mod flow;
mod pages;
mod rules;
mod settings;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use memory_engine::{Clock, MemoryEngine, Timestamp};
use memory_engine_core::ManualClock;
use memory_engine_server::{Access, ApiKey, Guard, KeyRing, Mcp, McpOptions, Mem0, OAuth, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

const ISSUER: &str = "https://memory.example";
const RESOURCE: &str = "https://memory.example/mcp";
const CALLBACK: &str = "https://app.example/callback";
const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// The example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A clock that a test moves while the server has it.
#[derive(Debug, Clone)]
struct SharedClock(Arc<ManualClock>);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// A server with a key for all users of `acme` and one for the user `lin`.
struct Served {
    router: Router,
    key: ApiKey,
    key_of_lin: ApiKey,
    clock: SharedClock,
    engine: MemoryEngine,
}

/// A response, read to its end.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// Returns a parameter in the address of a redirect.
    fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.header("location").split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
    }

    /// Returns the signed request in the form of a page.
    fn signed_request(&self) -> String {
        let (_, rest) = self.text.split_once("name=\"request\" value=\"").unwrap_or_else(|| panic!("{}", self.text));
        rest.split('"').next().unwrap().to_owned()
    }
}

impl Served {
    async fn new() -> Self {
        let clock = SharedClock(Arc::new(ManualClock::new(Timestamp::from_micros(1_790_000_000_000_000))));
        let engine = MemoryEngine::builder().in_memory().clock(clock.clone()).build().await.unwrap();
        let (key, key_of_lin) = (ApiKey::generate(), ApiKey::generate());
        let router = router(&engine, &[&key, &key_of_lin], SECRET);
        Self { router, key, key_of_lin, clock, engine }
    }

    /// Starts the server again with other keys or another secret.
    fn restart(&mut self, keys: &[&ApiKey], secret: &str) {
        self.router = router(&self.engine, keys, secret);
    }

    fn advance(&self, seconds: u64) {
        self.clock.0.advance(Duration::from_secs(seconds));
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        Answer { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    async fn post_form(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.send(request.body(encode(fields).into()).unwrap()).await
    }

    /// Registers a client, and returns its id.
    async fn register(&self, description: Value) -> String {
        let answer = self.post_json("/oauth/register", &description).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        answer.json()["client_id"].as_str().unwrap().to_owned()
    }

    async fn post_json(&self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.header("content-length", body.len()).body(body.into()).unwrap()).await
    }

    /// Opens the authorization page.
    async fn open(&self, client: &str, changes: &[(&str, &str)]) -> Answer {
        self.get(&format!("/oauth/authorize?{}", encode(&authorization(client, changes))), &[]).await
    }

    /// Enters a key on the authorization page.
    async fn enter_key(&self, client: &str, key: &str) -> Answer {
        let page = self.open(client, &[]).await;
        let request = page.signed_request();
        self.post_form("/oauth/authorize", &[("request", &request), ("key", key)], &[]).await
    }

    /// Returns a code for a client.
    async fn code(&self, client: &str, key: &ApiKey) -> String {
        let answer = self.enter_key(client, key.reveal()).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        answer.parameter("code").unwrap()
    }

    /// Exchanges a code for tokens.
    async fn exchange(&self, client: &str, code: &str, changes: &[(&str, &str)]) -> Answer {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", CALLBACK),
            ("resource", RESOURCE),
        ];
        self.post_form("/oauth/token", &changed(&fields, changes), &[]).await
    }

    async fn refresh(&self, client: &str, token: &str) -> Answer {
        let fields = [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)];
        self.post_form("/oauth/token", &fields, &[]).await
    }

    /// Runs the whole flow. Returns the id of the client, its access token and its refresh token.
    async fn connect(&self, key: &ApiKey) -> (String, String, String) {
        let client = self.register(app()).await;
        let code = self.code(&client, key).await;
        let (access, refresh) = tokens(&self.exchange(&client, &code, &[]).await);
        (client, access, refresh)
    }

    /// Calls a tool of MCP.
    async fn call_tool(&self, token: &str, path: &str, name: &str, arguments: Value) -> Answer {
        let params = json!({ "name": name, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = Request::post(path)
            .header("host", "memory.example")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"));
        self.send(request.body(body.to_string().into()).unwrap()).await
    }

    /// Returns the status of a call of MCP with this token.
    async fn status(&self, token: &str) -> StatusCode {
        self.call_tool(token, "/mcp", "list_memories", json!({ "user_id": "lin" })).await.status
    }
}

fn router(engine: &MemoryEngine, keys: &[&ApiKey], secret: &str) -> Router {
    let mut ring = KeyRing::default();
    for (number, key) in keys.iter().enumerate() {
        let access = Access::tenant(format!("key {number}"), "acme").unwrap();
        let access = if number == 1 { access.only_users(["lin"]).unwrap() } else { access };
        ring = ring.with_key(key, access);
    }
    let options = McpOptions::default().with_allowed_hosts(["memory.example"]);
    Server::new(engine.clone(), Guard::keys(ring))
        .mcp(Mcp::new(engine.clone()).with_options(options))
        .mem0(Mem0::new(engine.clone()))
        .cors_origins(["http://localhost:6274"])
        .unwrap()
        .oauth(OAuth::new(ISSUER, secret).unwrap())
        .unwrap()
        .router()
}

/// The description of a client.
fn app() -> Value {
    json!({ "client_name": "Test app", "redirect_uris": [CALLBACK, "http://localhost:33418/"] })
}

/// Returns the parameters of an authorization request.
fn authorization<'a>(client: &'a str, changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let usual = [
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "st&te"),
        ("resource", RESOURCE),
    ];
    changed(&usual, changes)
}

/// Returns fields with some of them replaced. An empty value removes a field.
fn changed<'a>(fields: &[(&'a str, &'a str)], changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let kept = fields.iter().filter(|(name, _)| !is_changed(name));
    kept.chain(changes.iter().filter(|(_, value)| !value.is_empty())).copied().collect()
}

fn encode(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Returns the access token and the refresh token of an answer.
fn tokens(answer: &Answer) -> (String, String) {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let token = |name: &str| answer.json()[name].as_str().unwrap().to_owned();
    (token("access_token"), token("refresh_token"))
}

/// Checks that an answer is an error with this code.
fn assert_error(answer: &Answer, code: &str) {
    assert!(answer.status.is_client_error(), "{} {}", answer.status, answer.text);
    assert_eq!(answer.json()["error"], code, "{}", answer.text);
    assert!(!answer.json()["error_description"].as_str().unwrap().is_empty());
}
