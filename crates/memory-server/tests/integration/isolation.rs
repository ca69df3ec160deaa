//! Compares the answers to random requests of one key, from a server with the memories of other users and tenants, and
//! from one without. What others store must change no answer.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request},
};
use memory_engine::{
    Database, Kind, MemoryEngine, PutMode, Record, RecordId, Role, ScanQuery, Scope, Timestamp,
    certificate::CertificateKey, transfer,
};
use memory_engine_core::ManualClock;
use memory_engine_server::{
    Access, ApiKey, Auditing, Config, Debugging, Deletions, Guard, Hooks, Inspector, KeyRing, Mcp, Mem0, Records,
    Reviews, Server, Tools,
};
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use crate::limits::{Document, kind};

/// Number of requests of each key. `ISOLATION_REQUESTS` sets another one.
const REQUESTS_PER_KEY: usize = 500;
/// Number of requests after which both stores are restored, because deletions empty them.
const REQUESTS_PER_ROUND: usize = 250;

/// Stands for an id that is not known before a request.
const NEW_ID: &str = "<new id>";

const WORDS: [&str; 16] = [
    "violin",
    "小提琴",
    "Zurich",
    "tea",
    "绿茶",
    "sister",
    "allergy",
    "花生",
    "Anna",
    "password",
    "rent",
    "train",
    "beach",
    "海边",
    "deploy",
    "birthday",
];
/// Words and names that only others use.
const FOREIGN_WORDS: [&str; 6] = ["bassoon", "大提琴", "Ljubljana", "Zhang Wei", "hazelnut", "kayak"];
const FOREIGN_SENTENCES: [&str; 4] = [
    "My brother Zhang Wei plays the bassoon in Ljubljana",
    "我弟弟在卢布尔雅那拉大提琴",
    "I am allergic to hazelnut",
    "My name is Mei and I like to kayak",
];
const SENTENCES: [&str; 8] = [
    "My sister Anna plays the violin in Zurich",
    "我妹妹安娜在苏黎世拉小提琴",
    "I am allergic to peanuts",
    "我对花生过敏",
    "My name is Lin and I live in Zurich",
    "I like green tea more than coffee",
    "The rent is due on 3 March",
    "我每天坐火车去海边",
];

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap() % end
    }

    fn one_of<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

fn clock() -> ManualClock {
    ManualClock::new("2026-05-01T10:00:00Z".parse().unwrap())
}

async fn open(file: &Path) -> MemoryEngine {
    MemoryEngine::builder().sqlite(file).clock(clock()).build().await.unwrap()
}

/// Stores turns and notes with these sentences, and waits for what is derived from them.
async fn fill(engine: &MemoryEngine, tenant: &str, user: &str, sentences: &[&str]) {
    for number in 0..24 {
        let scope = Scope::tenant_wide(tenant).unwrap().with_user(user).unwrap();
        let scope = scope.with_session(format!("s{}", number % 3)).unwrap();
        let text = format!("{} {}", sentences[number % sentences.len()], WORDS[number % WORDS.len()]);
        let kind = if number % 4 == 3 { Kind::NOTE } else { Kind::TURN };
        let mut record = Record::new(scope.clone(), kind, text, engine.settings().clock().as_ref());
        record.role = (number % 4 != 3).then_some(if number % 2 == 0 { Role::USER } else { Role::ASSISTANT });
        record.occurred_at =
            Timestamp::from_micros(1_770_000_000_000_000 + 60_000_000 * i64::try_from(number).unwrap());
        engine.store(&scope, vec![record], PutMode::Create).await.unwrap();
    }
    let everybody = Scope::tenant_wide(tenant).unwrap();
    engine.drain(&everybody, |_| ()).await.unwrap();
}

/// Returns the ids of all records of all users.
async fn all_ids(engine: &MemoryEngine) -> Vec<RecordId> {
    let mut ids = Vec::new();
    for tenant in ["acme", "globex"] {
        let scope = Scope::tenant_wide(tenant).unwrap();
        let page = engine.scan(&scope, &ScanQuery::oldest(10_000)).await.unwrap();
        ids.extend(page.records.iter().map(|record| record.id));
    }
    ids
}

async fn back_up(file: &Path, backup: &Path) -> Database {
    let backup = Database::file(backup);
    transfer::backup(&Database::file(file), &backup, false, |_, _| ()).await.unwrap();
    backup
}

async fn restore(backup: &Database, file: &Path) -> MemoryEngine {
    transfer::restore_backup(backup, &Database::file(file), |_, _| ()).await.unwrap();
    open(file).await
}

fn server(engine: &MemoryEngine, key: &ApiKey, access: Access, certificates: CertificateKey) -> Router {
    let guard = Guard::keys(KeyRing::default().with_key(key, access));
    Server::new(engine.clone(), guard)
        .mem0(Mem0::new(engine.clone()))
        .mcp(Mcp::new(engine.clone()))
        .hooks(Hooks::new(engine.clone()))
        .tools(Tools::new(engine.clone()))
        .debugging(Debugging::new(engine.clone()))
        .deletions(Deletions::new(engine.clone(), certificates))
        .auditing(Auditing::new(engine.clone()))
        .records(Records::new(engine.clone()))
        .reviews(Reviews::new(engine.clone()))
        .inspector(Inspector::new(engine.clone(), Config::default()))
        .router()
}

struct Generator<'d> {
    document: &'d Document,
    /// The ids that a request can name: of own records, of those of others, and of none.
    ids: &'d [RecordId],
    numbers: Numbers,
}

impl Generator<'_> {
    /// Returns method, address and body of a request to any operation.
    fn request(&mut self) -> (String, String, Option<Value>) {
        let operations: Vec<(&str, &str, &Value)> = self.document.operations().collect();
        let (method, path, operation) = *self.numbers.one_of(&operations);
        if path == "/mcp" {
            return ("POST".to_owned(), path.to_owned(), Some(self.tool_call()));
        }
        let mut uri = String::new();
        for part in path.split('{') {
            match part.split_once('}') {
                Some((name, rest)) => uri.push_str(&format!("{}{rest}", self.text(name))),
                None => uri.push_str(part),
            }
        }
        let mut separator = '?';
        for parameter in operation["parameters"].as_array().into_iter().flatten().filter(|p| p["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            if parameter["required"] != true && self.numbers.below(3) > 0 {
                continue;
            }
            let value = self.value(name, &parameter["schema"]);
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            uri.push_str(&format!("{separator}{name}={value}"));
            separator = '&';
        }
        let body = self.document.body(operation).map(|schema| self.object(schema));
        (method.to_uppercase(), uri, body)
    }

    fn tool_call(&mut self) -> Value {
        let tools = [
            "add_memory",
            "search_memory",
            "list_memories",
            "get_memory",
            "update_memory",
            "delete_memory",
            "init_context",
        ];
        let mut arguments = json!({});
        for name in ["text", "query", "id", "user_id", "session_id", "limit", "kind"] {
            if self.numbers.below(2) == 0 {
                arguments[name] =
                    self.value(name, &json!({ "type": if name == "limit" { "integer" } else { "string" } }));
            }
        }
        let tool = self.numbers.one_of(&tools);
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
    }

    fn object(&mut self, schema: &Value) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut object = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&name.as_str()) || self.numbers.below(3) == 0 {
                object.insert(name.clone(), self.value(name, schema));
            }
        }
        object.into()
    }

    fn value(&mut self, name: &str, schema: &Value) -> Value {
        let schema = self.document.resolve(schema).clone();
        match (name, kind(&schema)) {
            ("messages", _) => json!([{ "role": "user", "content": self.numbers.one_of(&SENTENCES) }]),
            ("filters" | "filter", _) => json!({ "user_id": self.text("user_id") }),
            (_, Some("integer")) => (1 + self.numbers.below(30)).into(),
            (_, Some("number")) => 0.5.into(),
            // What deletes everything leaves nothing to compare.
            ("everything", _) => false.into(),
            (_, Some("boolean")) => (self.numbers.below(2) == 0).into(),
            (_, Some("array")) => {
                (0..self.numbers.below(3)).map(|_| self.value(name.trim_end_matches('s'), &schema["items"])).collect()
            }
            (_, Some("object")) => self.object(&schema),
            _ => match schema["enum"].as_array() {
                Some(choices) => self.numbers.one_of(choices).clone(),
                None => self.text(name).into(),
            },
        }
    }

    fn text(&mut self, name: &str) -> String {
        match name {
            "user_id" | "user" | "name" => (*self.numbers.one_of(&["lin", "lin", "lin", "mei", "nobody"])).to_owned(),
            "session_id" | "session" | "run_id" => format!("s{}", self.numbers.below(4)),
            "agent" => (*self.numbers.one_of(&["claude-code", "codex"])).to_owned(),
            "agent_id" | "branch" | "scene" | "cursor" | "after" => String::new(),
            "type" => "user".to_owned(),
            "kind" => (*self.numbers.one_of(&["turn", "note", "fact"])).to_owned(),
            "since" | "until" | "as_of" => format!("2026-0{}-02T10:00:00Z", 1 + self.numbers.below(6)),
            _ if name == "why" || name == "record" || name.ends_with("id") => self.numbers.one_of(self.ids).to_string(),
            "query" | "q" | "about" | "topic" => {
                let words = if self.numbers.below(3) == 0 { &FOREIGN_WORDS[..] } else { &WORDS[..] };
                (*self.numbers.one_of(words)).to_owned()
            }
            _ => (*self.numbers.one_of(&SENTENCES)).to_owned(),
        }
    }
}

/// Returns an answer without what differs between any two servers: new ids, signatures, and how long something took.
async fn answer(
    router: &Router,
    key: &ApiKey,
    request: &(String, String, Option<Value>),
    known: &BTreeSet<String>,
) -> String {
    let (method, uri, body) = request;
    let body = body.as_ref().map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(uri);
    let request = request
        .header("host", "localhost")
        .header("x-api-key", key.reveal())
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json");
    let response = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let mut text = format!("{}\n", response.status());
    for (name, value) in response.headers() {
        if !["x-request-id", "content-length"].contains(&name.as_str()) {
            text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let body = without_new_ids(&without_times(&String::from_utf8_lossy(&body)), known);
    text.push_str(&sorted(&without_signatures(&body)));
    text
}

/// Leaves out hashes with a random salt, signatures and the key that made them, and the id of the store.
fn without_signatures(text: &str) -> String {
    let is_encoded = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    let is_store_id = |part: &str| part.len() == 17 && part[..16].bytes().all(|b| b.is_ascii_hexdigit());
    let is_random = |part: &str| part.len() > 40 || part.is_ascii() && is_store_id(part);
    let parts = text.split_inclusive(|c| !is_encoded(c));
    parts.map(|part| if is_random(part) { part.trim_start_matches(is_encoded) } else { part }).collect()
}

/// Returns the first difference of two texts with what is around it.
fn difference(one: &str, other: &str) -> Option<String> {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = &text.as_bytes()[same.saturating_sub(150)..text.len().min(same + 150)];
        String::from_utf8_lossy(bytes).into_owned()
    };
    (one != other).then(|| format!("…{}…\n…{}…", around(one), around(other)))
}

/// Replaces the numbers of fields that say how long something took: `ms` and those that end with `_ms`.
fn without_times(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(end) = ["\"ms\":", "_ms\":"].iter().filter_map(|name| Some(rest.find(name)? + name.len())).min() {
        result.push_str(&rest[..end]);
        rest = rest[end..].trim_start_matches(|c: char| c.is_ascii_digit() || "+-.eE ".contains(c));
        result.push('0');
    }
    result + rest
}

/// Replaces ids that a server has made.
fn without_new_ids(text: &str, known: &BTreeSet<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let id = rest.get(..36).filter(|id| id.parse::<RecordId>().is_ok() && !known.contains(*id));
        result.push_str(id.map_or(&rest[..c.len_utf8()], |_| NEW_ID));
        rest = &rest[id.map_or(c.len_utf8(), str::len)..];
    }
    result
}

/// Sorts the lists of new records in a JSON body: two facts of one sentence have the order of their random ids.
fn sorted(body: &str) -> String {
    fn sort(value: &mut Value) {
        if let Value::Array(list) = value {
            list.iter_mut().for_each(sort);
            if list.iter().any(|value| value.to_string().contains(NEW_ID)) {
                list.sort_by_key(Value::to_string);
            }
        } else if let Value::Object(fields) = value {
            fields.values_mut().for_each(sort);
        } else if let Value::String(text) = value {
            // The content of a tool's result is JSON in a string.
            *text = sorted(text);
        }
    }
    let Ok(mut value) = serde_json::from_str(body) else { return body.to_owned() };
    sort(&mut value);
    value.to_string()
}

/// Sends random requests of one key to a server with and to one without the memories of others.
async fn compare(tenant_wide: bool, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let engine = open(&at("lin.db")).await;
    fill(&engine, "acme", "lin", &SENTENCES).await;
    let alone = back_up(&at("lin.db"), &at("alone.backup")).await;
    let foreign: Vec<&str> = FOREIGN_SENTENCES.iter().chain(&SENTENCES).copied().collect();
    fill(&engine, "globex", "lin", &foreign).await;
    fill(&engine, "globex", "mei", &foreign).await;
    if !tenant_wide {
        fill(&engine, "acme", "mei", &foreign).await;
    }
    let mut ids = all_ids(&engine).await;
    ids.push(RecordId::new());
    let together = back_up(&at("lin.db"), &at("together.backup")).await;
    let access = Access::tenant("phone", "acme").unwrap();
    let access = if tenant_wide { access } else { access.only_users(["lin"]).unwrap() };
    let key = ApiKey::generate();
    let known: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
    let mut seed = 1;
    let mut answered: BTreeMap<String, bool> = BTreeMap::new();
    for start in (0..count).step_by(REQUESTS_PER_ROUND) {
        let engines = [
            restore(&alone, &at(&format!("{start}-alone.db"))).await,
            restore(&together, &at(&format!("{start}-together.db"))).await,
        ];
        let routers = [0, 1].map(|n| server(&engines[n], &key, access.clone(), CertificateKey::generate().unwrap()));
        let document = Document(crate::openapi::document(&routers[0]).await);
        seed += 1;
        let mut generator = Generator { document: &document, ids: &ids, numbers: Numbers(seed) };
        for number in 0..REQUESTS_PER_ROUND.min(count - start) {
            let request = generator.request();
            let [without, with] =
                [answer(&routers[0], &key, &request, &known).await, answer(&routers[1], &key, &request, &known).await];
            for engine in &engines {
                engine.drain(&Scope::tenant_wide("acme").unwrap(), |_| ()).await.unwrap();
            }
            let operation = format!("{} {}", request.0, request.1.split(['?', '0']).next().unwrap_or_default());
            *answered.entry(operation).or_default() |= with.starts_with("20");
            let difference = difference(&without, &with);
            assert_eq!(difference, None, "request {number} of round {start}: {request:?}");
        }
    }
    let succeeded = answered.values().filter(|succeeded| **succeeded).count();
    assert!(succeeded * 2 > answered.len(), "most operations were never answered: {answered:?}");
}

/// The comparison finds what another key may see.
#[tokio::test]
async fn a_key_that_may_see_others_gets_other_answers() {
    let folder = tempfile::tempdir().unwrap();
    let engines = [open(&folder.path().join("a.db")).await, open(&folder.path().join("b.db")).await];
    fill(&engines[1], "acme", "mei", &FOREIGN_SENTENCES).await;
    let key = ApiKey::generate();
    let mut answers = Vec::new();
    for engine in &engines {
        let access = Access::tenant("phone", "acme").unwrap();
        let router = server(engine, &key, access, CertificateKey::generate().unwrap());
        let mut of_server = Vec::new();
        for uri in ["/memories?user_id=mei", "/entities", "/api/inspector/search?user_id=mei&query=bassoon"] {
            let request = ("GET".to_owned(), uri.to_owned(), None);
            of_server.push(answer(&router, &key, &request, &BTreeSet::new()).await);
        }
        answers.push(of_server);
    }
    for (without, with) in answers[0].iter().zip(&answers[1]) {
        assert!(with.starts_with("200") && difference(without, with).is_some(), "{with}");
    }
}

fn count() -> usize {
    std::env::var("ISOLATION_REQUESTS").map_or(REQUESTS_PER_KEY, |count| count.parse().unwrap())
}

#[tokio::test]
async fn a_key_of_one_user_sees_no_trace_of_others() {
    compare(false, count()).await;
}

#[tokio::test]
async fn a_key_of_one_tenant_sees_no_trace_of_others() {
    compare(true, count()).await;
}
