//! Several servers over one store answer like one. On SQLite, with an engine of its own for each server, and on Postgres
//! as well if `DATABASE_URL` names a server.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use futures::future::join_all;
use memory_engine::{
    Clock, EnrichmentOptions, Field, Filter, Forget, Kind, MemoryEngine, Record, ScanQuery, State, Timestamp, Turn,
    http_models::Endpoint, testing::ManualClock,
};
use memory_engine_postgres::PostgresOptions;
use memory_engine_server::{
    Access, ApiKey, Dialect, Gateway, GatewayOptions, Guard, KeyRing, Mcp, Mem0, Server, Upstream,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::fixtures::{assistant, lin, patient_options, user};
use crate::support::{
    listen, native_upstream,
    upstream::{self, ReceivedRequests, own_words},
};

/// 2026-03-02 in UTC.
const START: i64 = 1_772_409_600_000_000;

/// A clock that the engines and gateways of a test share.
#[derive(Debug, Clone)]
struct SharedClock(Arc<ManualClock>);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// A store that any number of engines can open.
enum Store {
    Sqlite(TempDir),
    Postgres { url: String, schema: String },
}

impl Store {
    /// Returns an empty store of each backend.
    fn all(test: &str) -> Vec<Self> {
        let mut stores = vec![Self::Sqlite(tempfile::tempdir().unwrap())];
        if let Ok(url) = std::env::var("DATABASE_URL") {
            stores.push(Self::Postgres { url, schema: format!("servers_{test}_{}", std::process::id()) });
        }
        stores
    }

    async fn engine(&self, clock: &SharedClock) -> MemoryEngine {
        let builder = MemoryEngine::builder().enrichment(EnrichmentOptions::rules().unwrap()).clock(clock.clone());
        let builder = match self {
            Self::Sqlite(folder) => builder.sqlite(folder.path().join("memory.db")),
            Self::Postgres { url, schema } => {
                builder.postgres_with(url, PostgresOptions::default().with_schema(schema.as_str()))
            }
        };
        builder.background(false).build().await.unwrap()
    }
}

/// Servers over one store, each with an engine of its own. Each request goes to the next one.
struct Servers {
    _store: Store,
    engine: MemoryEngine,
    routers: Vec<Router>,
    received: [Arc<ReceivedRequests>; 2],
    key: ApiKey,
    clock: SharedClock,
    requests: AtomicUsize,
}

/// A response, without ids that differ from run to run.
#[derive(Debug, PartialEq)]
struct Step {
    status: u16,
    headers: Vec<String>,
    memories: usize,
    /// The memories in the request to the upstream.
    block: String,
    reply: String,
    /// The id of the response.
    id: Option<String>,
}

impl Step {
    fn rule(&self) -> &str {
        &self.headers[0]
    }

    fn scene(&self) -> &str {
        &self.headers[1]
    }
}

impl Servers {
    async fn new(store: Store, count: usize) -> Self {
        let clock = SharedClock(Arc::new(ManualClock::new(Timestamp::from_micros(START))));
        let received = [Arc::new(ReceivedRequests::default()), Arc::new(ReceivedRequests::default())];
        let scripted = listen(upstream::router(Arc::clone(&received[0]))).await;
        let native = listen(native_upstream::router(Arc::clone(&received[1]))).await;
        let key = ApiKey::generate();
        let mut engines = Vec::new();
        let mut routers = Vec::new();
        for _ in 0..count {
            let engine = store.engine(&clock).await;
            let upstream = |name: &str, url: &str| Upstream::new(name, Endpoint::new(&format!("{url}/v1")).unwrap());
            let native = upstream("native", &native).with_models(["native-*"]);
            let upstreams =
                vec![upstream("scripted", &scripted), native.with_dialects([Dialect::Messages, Dialect::Responses])];
            let mut options: GatewayOptions = patient_options();
            options.clock = Arc::new(clock.clone());
            let gateway = Gateway::new(engine.clone(), upstreams, options).unwrap();
            let access = Access::tenant("tests", "acme").unwrap();
            let server = Server::new(engine.clone(), Guard::keys(KeyRing::default().with_key(&key, access)));
            let server = server.gateway(gateway).mem0(Mem0::new(engine.clone())).mcp(Mcp::new(engine.clone()));
            routers.push(server.router());
            engines.push(engine);
        }
        let engine = engines.remove(0);
        Self { _store: store, engine, routers, received, key, clock, requests: AtomicUsize::new(0) }
    }

    async fn post(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> (axum::http::Response<()>, String) {
        self.request(Request::post(path), body.to_string(), headers).await
    }

    async fn request(
        &self,
        request: axum::http::request::Builder,
        body: String,
        headers: &[(&str, &str)],
    ) -> (axum::http::Response<()>, String) {
        let server = self.requests.fetch_add(1, Ordering::Relaxed) % self.routers.len();
        let mut request = request.header("host", "localhost").header("content-type", "application/json");
        request = request.header("x-memory-key", self.key.reveal()).header("x-user-id", "lin");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap();
        let (parts, body) = self.routers[server].clone().oneshot(request).await.unwrap().into_parts();
        let body = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        (axum::http::Response::from_parts(parts, ()), body)
    }

    /// Sends a request of lin a minute after the one before, and runs the background jobs.
    async fn send(&self, path: &str, body: Value, headers: &[(&str, &str)]) -> Step {
        self.clock.0.advance(Duration::from_secs(60));
        let received: Vec<usize> = self.received.iter().map(|received| received.requests.lock().len()).collect();
        let (response, text) = self.post(path, &body, headers).await;
        self.engine.drain(&lin(), |_| ()).await.unwrap();
        let header = |name: &str| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let reply: Value = serde_json::from_str(&text).unwrap();
        let is_new = |(received, before): (&Arc<ReceivedRequests>, usize)| {
            let count = received.requests.lock().len();
            (count > before).then(|| received.last())
        };
        let sent = self.received.iter().zip(received).find_map(is_new).unwrap_or_default();
        Step {
            status: response.status().as_u16(),
            headers: ["rule", "scene", "session", "degraded"].map(|name| header(&format!("x-memory-{name}"))).to_vec(),
            memories: header("x-memory-ids").split(',').filter(|id| !id.is_empty()).count(),
            block: block_of(&sent),
            id: reply["id"].as_str().map(str::to_owned),
            reply: reply["choices"][0]["message"]["content"].as_str().unwrap_or(&text).to_owned(),
        }
    }

    /// Returns the stored turns of lin.
    async fn turns(&self) -> Vec<Record> {
        let query = ScanQuery::oldest(500).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
        self.engine.scan(&lin(), &query).await.unwrap().records
    }

    /// Returns the rounds of the active turns of a session, with their texts.
    async fn rounds(&self, session: &str) -> Vec<(u32, String)> {
        let turns = self.turns().await.into_iter();
        let of_session = turns.filter(|turn| turn.scope.session() == Some(session) && turn.state == State::Active);
        of_session.map(|turn| (turn.source.round.unwrap(), turn.text)).collect()
    }
}

/// Returns the text that the gateway has added to a request, or an empty text.
fn block_of(request: &Value) -> String {
    let texts = |value: &Value| -> Vec<String> {
        let parts = value.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        value.as_str().into_iter().chain(parts).map(str::to_owned).collect()
    };
    let messages = ["messages", "input"].into_iter().filter_map(|name| request[name].as_array()).flatten();
    let mut all: Vec<String> = messages.flat_map(|message| texts(&message["content"])).collect();
    all.extend(["instructions", "system", "input"].into_iter().flat_map(|name| texts(&request[name])));
    let added = all.iter().filter_map(|text| text.strip_prefix(own_words(text).as_str()));
    added.map(str::trim).collect::<Vec<_>>().join("")
}

/// A conversation in the dialect of chat completions.
struct Conversation<'s> {
    servers: &'s Servers,
    session: &'static str,
    history: Vec<Value>,
    steps: Vec<Step>,
}

impl<'s> Conversation<'s> {
    fn new(servers: &'s Servers, session: &'static str) -> Self {
        Self { servers, session, history: Vec::new(), steps: Vec::new() }
    }

    async fn request(&mut self, model: &str) -> &Step {
        let body = json!({ "model": model, "messages": self.history });
        let step = self.servers.send("/v1/chat/completions", body, &[("x-session-id", self.session)]).await;
        assert_eq!((step.status, step.headers[3].as_str()), (200, ""), "{step:?}");
        self.steps.push(step);
        self.steps.last().unwrap()
    }

    async fn say(&mut self, text: &str) -> &Step {
        self.history.push(user(text));
        self.request("echo").await;
        let step = self.steps.last().unwrap();
        self.history.push(assistant(&step.reply));
        step
    }
}

/// Edits a message and the first one, and requests another reply.
async fn edits(servers: &Servers) -> Vec<Step> {
    let mut chat = Conversation::new(servers, "edits");
    for text in ["I rent a flat in Tartu.", "I repair violins.", "My brother Uku sails.", "The harbour is frozen."] {
        chat.say(text).await;
    }
    chat.history.truncate(4);
    chat.say("My cousin Mari paints.").await;
    let revoked = servers.turns().await.into_iter().filter(|turn| turn.state == State::Revoked);
    let revoked: Vec<String> = revoked.filter(|turn| turn.scope.session() == Some("edits")).map(|t| t.text).collect();
    assert_eq!(revoked.len(), 4, "{revoked:?}");
    let asked = chat.say("Do you remember what my brother does?").await;
    assert!(!asked.block.contains("Uku"), "{}", asked.block);
    chat.history.pop();
    chat.request("thinker").await;
    chat.history.push(assistant("早点休息"));
    chat.say("Thanks.").await;
    chat.history = Vec::new();
    chat.say("I rent a flat in Narva.").await;
    let rounds = servers.rounds("edits").await;
    let expected: BTreeSet<u32> = (1..=6).collect();
    assert_eq!(rounds.iter().map(|(round, _)| *round).collect::<BTreeSet<_>>(), expected, "{rounds:?}");
    chat.steps
}

/// Enters a play, labels a message in it, leaves it, and goes back to a message before it.
async fn plays(servers: &Servers) -> Vec<Step> {
    let mut chat = Conversation::new(servers, "plays");
    let said = [
        ("我每周三去游泳", "daily"),
        ("来玩剧本吧！", "plot"),
        ("他点亮了灯塔", "plot"),
        ("测试一下这个MCP工具", "meta"),
        ("海面上有一艘船", "plot"),
        ("好了，我们不演了", "daily"),
        ("还记得我周几去游泳吗", "daily"),
    ];
    for (text, scene) in said {
        assert_eq!(chat.say(text).await.scene(), scene, "{text}");
    }
    // In the play, and then in place of its beginning.
    chat.history.truncate(6);
    assert_eq!(chat.say("他关上了门").await.scene(), "plot");
    chat.history.truncate(2);
    assert_eq!(chat.say("明天要去看牙医").await.scene(), "daily");
    chat.steps
}

/// A client that sends its last message only.
async fn short_history(servers: &Servers) -> Vec<Step> {
    let mut chat = Conversation::new(servers, "short");
    let said = [
        ("我在学吹长笛", "daily"),
        ("Let's role play: you are a smith and I'm a knight", "plot"),
        ("My sword broke at the bridge.", "plot"),
        ("(ooc: let's end it here)", "daily"),
        ("I keep my keys in the blue jar.", "daily"),
        ("Please don't remember that.", "daily"),
        // The client repeats it: there is no message between both.
        ("Please don't remember that.", "daily"),
        ("I grow leeks.", "daily"),
    ];
    for (text, scene) in said {
        chat.history.clear();
        assert_eq!(chat.say(text).await.scene(), scene, "{text}");
    }
    let rounds = servers.rounds("short").await;
    assert_eq!(
        rounds.iter().map(|(round, _)| *round).collect::<Vec<_>>(),
        [1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
        "{rounds:?}"
    );
    assert!(!rounds.iter().any(|(_, text)| text.contains("blue jar")), "{rounds:?}");
    chat.steps
}

/// Rounds of tools after a question, of two agents in one session.
async fn tools(servers: &Servers) -> Vec<Step> {
    let scope = lin().with_session("earlier").unwrap();
    for text in ["My boat is called Heron.", "我的自行车是绿色的"] {
        servers.engine.remember(&scope, Turn::user(text).with_scene("daily").with_round(1)).await.unwrap();
    }
    let questions = ["Do you remember what my boat is called?", "还记得我的自行车是什么颜色吗"];
    let mut steps = Vec::new();
    let mut agents: Vec<Conversation<'_>> = questions.iter().map(|_| Conversation::new(servers, "tools")).collect();
    for (agent, question) in agents.iter_mut().zip(questions) {
        agent.history.push(user(question));
        agent.request("tools").await;
    }
    for number in 0..3 {
        for agent in &mut agents {
            let id = format!("call_{number}");
            let call = json!({ "id": id, "type": "function", "function": { "name": "weather", "arguments": "{}" } });
            agent.history.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
            agent.history.push(json!({ "role": "tool", "tool_call_id": id, "content": "sunny" }));
            let first = agent.steps[0].block.clone();
            let step = agent.request("tools").await;
            assert!(first.contains("Heron") || first.contains("绿色"), "{first}");
            assert_eq!((step.rule(), step.scene(), step.block.as_str()), ("continued", "daily", first.as_str()));
        }
    }
    let stored = servers.turns().await.into_iter().filter(|turn| turn.scope.session() == Some("tools"));
    assert!(stored.into_iter().all(|turn| turn.scene.as_deref() == Some("daily")));
    steps.extend(agents.into_iter().flat_map(|agent| agent.steps));
    steps
}

/// A client that continues responses by their ids, also after tools and after a message off the record.
async fn responses(servers: &Servers) -> Vec<Step> {
    let ask = async |model: &str, input: Value, previous: &[Step]| {
        let previous = previous.last().and_then(|step| step.id.clone());
        let body = json!({ "model": model, "input": input, "previous_response_id": previous });
        let step = servers.send("/v1/responses", body, &[]).await;
        assert_eq!(step.status, 200, "{step:?}");
        step
    };
    let result = |id: &str| json!([{ "type": "function_call_output", "call_id": id, "output": "sunny" }]);
    let mut steps = Vec::new();
    steps.push(ask("native-echo", json!("I keep two goats."), &steps).await);
    steps.push(ask("native-echo", json!("他们叫大宝和二宝"), &steps).await);
    steps.push(ask("native-tools", json!("Do you remember how many goats I keep?"), &steps).await);
    steps.push(ask("native-tools", result("call_1"), &steps).await);
    steps.push(ask("native-tools", json!("Off the record: is the barn insured?"), &steps).await);
    steps.push(ask("native-tools", result("call_1"), &steps).await);
    steps.push(ask("native-echo", json!("The vet comes on Friday."), &steps).await);
    let sessions: BTreeSet<&String> = steps.iter().map(|step| &step.headers[2]).collect();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let rounds = servers.rounds(&steps[0].headers[2]).await;
    let users = rounds.iter().filter(|(_, text)| !text.starts_with("好的"));
    let expected = [
        (1, "I keep two goats."),
        (2, "他们叫大宝和二宝"),
        (3, "Do you remember how many goats I keep?"),
        (4, "The vet comes on Friday."),
    ];
    assert_eq!(users.cloned().collect::<Vec<_>>(), expected.map(|(round, text)| (round, text.to_owned())));
    assert_eq!(rounds.len(), 8, "{rounds:?}");
    steps
}

/// Forgets many memories after a yes, a few at once, and brings those back.
async fn requests(servers: &Servers) -> Vec<Step> {
    let scope = lin().with_session("notes").unwrap();
    for n in 0..12 {
        let note = format!("Entry {n} of my quarry diary");
        servers.engine.remember(&scope, Turn::user(&note).with_scene("daily")).await.unwrap();
    }
    servers.engine.remember(&scope, Turn::user("我的房东老周会修表").with_scene("daily")).await.unwrap();
    let count = async |word: &str| {
        let turns = servers.turns().await.into_iter();
        turns.filter(|turn| turn.state == State::Active && turn.text.contains(word)).count()
    };
    let mut chat = Conversation::new(servers, "requests");
    chat.say("Please forget everything about my quarry.").await;
    assert_eq!(count("quarry").await, 12);
    let answer = chat.say("yes, forget them all").await;
    assert!(answer.block.contains("12"), "{}", answer.block);
    assert_eq!(count("quarry").await, 0);
    chat.say("把房东的事都忘掉吧").await;
    assert_eq!(count("房东").await, 0);
    chat.say("撤销").await;
    assert_eq!(count("房东").await, 1);
    chat.say("My tent leaks.").await;
    chat.say("Don't save what I just told you.").await;
    assert_eq!(count("tent").await, 0);
    chat.say("Off the record: I snore.").await;
    chat.say("Good night.").await;
    assert_eq!(servers.rounds("requests").await.iter().map(|(round, _)| *round).collect::<Vec<_>>(), [1, 1]);
    chat.steps
}

/// Chats of a client that names no session.
async fn unnamed(servers: &Servers) -> Vec<Step> {
    let mut steps = Vec::new();
    let ask = async |messages: &[Value]| {
        servers.send("/v1/chat/completions", json!({ "model": "echo", "messages": messages }), &[]).await
    };
    for words in ["The loom arrives at noon", "我想买一台织布机"] {
        let opening = [user("good morning"), assistant("好的: good morning")];
        steps.push(ask(&opening[..1]).await);
        steps.push(ask(&[&opening[..], &[user(words)]].concat()).await);
        let history = [&opening[..], &[user(words), assistant(&format!("好的: {words}")), user("ok")]].concat();
        steps.push(ask(&history).await);
    }
    let sessions: Vec<&str> = steps.iter().map(|step| step.headers[2].as_str()).collect();
    assert!(sessions[0] == sessions[2] && sessions[3] == sessions[5] && sessions[0] != sessions[3], "{sessions:?}");
    steps
}

/// A turn without ids that differ from run to run.
fn row(turn: Record) -> String {
    let session = turn.scope.session().unwrap_or_default().to_owned();
    let (round, sequence, role) = (turn.source.round, turn.source.sequence, turn.role);
    format!(
        "{session} {round:?} {sequence:?} {role:?} {:?} {:?} {} {}",
        turn.state, turn.scene, turn.occurred_at, turn.text
    )
}

async fn run(servers: &Servers) -> (Vec<Step>, Vec<String>) {
    let mut steps = edits(servers).await;
    steps.extend(plays(servers).await);
    steps.extend(short_history(servers).await);
    steps.extend(tools(servers).await);
    steps.extend(responses(servers).await);
    steps.extend(requests(servers).await);
    steps.extend(unnamed(servers).await);
    let rows = servers.turns().await.into_iter().map(row).collect();
    (steps, rows)
}

#[tokio::test]
async fn two_servers_answer_like_one() {
    for (one, two) in Store::all("one").into_iter().zip(Store::all("two")) {
        let (steps_of_one, turns_of_one) = run(&Servers::new(one, 1).await).await;
        let (steps_of_two, turns_of_two) = run(&Servers::new(two, 2).await).await;
        assert!(steps_of_one.iter().any(|step| step.memories > 0), "memories are injected");
        for (number, (one, two)) in steps_of_one.iter().zip(&steps_of_two).enumerate() {
            assert_eq!(one, two, "step {number}");
        }
        assert_eq!(turns_of_one, turns_of_two);
    }
}

#[tokio::test]
async fn messages_that_two_servers_get_at_the_same_time_are_stored_in_rounds_of_their_own() {
    for store in Store::all("rounds") {
        let servers = Servers::new(store, 2).await;
        let texts: Vec<String> = (0..24).map(|n| format!("第{n}件事：买{n}个苹果")).collect();
        for group in texts.chunks(6) {
            let requests = group.iter().map(|text| async {
                let body = json!({ "model": "echo", "messages": [user(text)] });
                servers.post("/v1/chat/completions", &body, &[("x-session-id", "busy")]).await.0
            });
            for response in join_all(requests).await {
                assert_eq!((response.status().as_u16(), response.headers().get("x-memory-degraded")), (200, None));
            }
        }
        let rounds = servers.rounds("busy").await;
        let of_user: BTreeSet<&String> =
            rounds.iter().filter(|(_, text)| texts.contains(text)).map(|(_, text)| text).collect();
        let numbers: BTreeSet<u32> = rounds.iter().map(|(round, _)| *round).collect();
        assert_eq!((rounds.len(), of_user.len(), numbers.len()), (48, 24, 24), "{rounds:?}");
        for text in &texts {
            let of_turn: Vec<u32> =
                rounds.iter().filter(|(_, other)| other.ends_with(text)).map(|(round, _)| *round).collect();
            assert_eq!((of_turn.len(), of_turn[0]), (2, of_turn[1]), "{text}");
        }
    }
}

#[tokio::test]
async fn the_state_of_a_session_has_no_text_and_goes_with_the_session() {
    for store in Store::all("state") {
        let servers = Servers::new(store, 2).await;
        let scope = lin().with_session("earlier").unwrap();
        let remembered = servers.engine.remember(&scope, Turn::user("My ferry leaves from Kuressaare.")).await.unwrap();
        let mut chat = Conversation::new(&servers, "stateful");
        let body = json!({ "model": "native-echo", "input": "Off the record: I dislike ferries." });
        servers.send("/v1/responses", body, &[("x-session-id", "stateful")]).await;
        chat.history.push(user("Do you remember where my ferry leaves from?"));
        let first = chat.request("tools").await.block.clone();
        assert!(first.contains("Kuressaare"), "{first}");
        let call = json!({ "id": "c", "type": "function", "function": { "name": "weather", "arguments": "{}" } });
        chat.history.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        chat.history.push(json!({ "role": "tool", "tool_call_id": "c", "content": "sunny" }));

        let ledgers = async || {
            let records = servers.engine.scan(&lin(), &ScanQuery::oldest(100)).await.unwrap().records;
            records.into_iter().filter(|record| record.kind.is_ledger()).collect::<Vec<_>>()
        };
        let entries = serde_json::to_string(&ledgers().await).unwrap();
        assert!(entries.contains("ledger/session") && entries.contains("ledger/continuation"), "{entries}");
        for word in ["ferry", "ferries", "Kuressaare", "dislike"] {
            assert!(!entries.contains(word), "{word}: {entries}");
        }
        for (path, body) in [
            ("/search", json!({ "query": "the state of a session", "user_id": "lin" })),
            ("/v2/memories/", json!({ "filters": { "user_id": "lin" } })),
        ] {
            let (response, text) = servers.post(path, &body, &[]).await;
            assert_eq!(response.status().as_u16(), 200, "{path} {text}");
            assert!(!text.contains("the state of a session") && !text.contains("turn of a response"), "{path} {text}");
        }
        // Nothing of the session is stored yet but its state.
        let (response, entities) = servers.request(Request::get("/v1/entities/"), String::new(), &[]).await;
        assert_eq!(response.status().as_u16(), 200, "{entities}");
        assert!(entities.contains("earlier") && !entities.contains("stateful"), "{entities}");
        // A deleted memory does not come back with the results of tools.
        servers.engine.forget(&lin(), remembered).await.unwrap();
        assert_eq!(chat.request("tools").await.block, "");
        servers.engine.forget(&scope, Forget::Everything).await.unwrap();
        let session = lin().with_session("stateful").unwrap();
        servers.engine.forget(&session, Forget::Everything).await.unwrap();
        let left = ledgers().await.into_iter().filter(|entry| session.covers(&entry.scope)).count();
        assert_eq!(left, 0);
        // The session begins again, with a state of its own.
        servers.engine.remember(&scope, Turn::user("My ferry leaves from Orissaare.")).await.unwrap();
        chat.history.truncate(1);
        let again = chat.request("tools").await.block.clone();
        assert!(again.contains("Orissaare"), "{again}");
        let call = json!({ "id": "c", "type": "function", "function": { "name": "weather", "arguments": "{}" } });
        chat.history.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        chat.history.push(json!({ "role": "tool", "tool_call_id": "c", "content": "sunny" }));
        assert_eq!(chat.request("tools").await.block, again);
    }
}
