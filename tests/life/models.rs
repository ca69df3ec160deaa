//! The life of a memory with a model behind HTTP: one that answers, and one that answers nonsense, is busy, broken or
//! silent. Facts, labels and summaries are then made by the rules, the graph waits, a question is not rewritten; all
//! of it is told, and nothing is lost.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    EnrichmentOptions, Field, Filter, Job, Kind, MemoryEngine, Record, Result, ScanQuery, State,
    admin::Failure,
    enrichment::SummaryTrigger,
    graph::{ChatExtractor, GraphFactsQuery},
    http_models::{ChatOptions, Endpoint, HttpChatModel, HttpClient, HttpOptions, Secret},
    llm::{ChatModel, ChatReply, ChatRequest, ChatStream},
    recall::{Enhancement, QueryForm, Rewrite},
};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::path};

use crate::fixtures::{TestDatabase, lin, message, recalled_texts, story};

const KEY: &str = "sk-hunter2-0123456789";
/// The delay that a busy service asks for.
const WAIT: Duration = Duration::from_secs(120);
const SUMMARY: &str = "Lin and the assistant spoke of seafood, of Shen Yan and of Mira.";

/// The behaviour of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Scripted,
    Malformed,
    Busy,
    Broken,
    Silent,
}

/// A chat model behind HTTP, played by a server in this process.
struct Service {
    server: MockServer,
    mood: Arc<Mutex<Mood>>,
}

/// The model of the service. Only a silent service meets a short time limit: a reply may be late on a busy machine.
#[derive(Debug)]
struct TimedModel {
    patient: HttpChatModel,
    impatient: HttpChatModel,
    mood: Arc<Mutex<Mood>>,
}

impl TimedModel {
    fn client(&self) -> &HttpChatModel {
        if *self.mood.lock().unwrap() == Mood::Silent { &self.impatient } else { &self.patient }
    }
}

#[async_trait]
impl ChatModel for TimedModel {
    fn name(&self) -> &str {
        self.patient.name()
    }
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        self.client().complete(request).await
    }
    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        self.client().stream(request).await
    }
}

impl Service {
    async fn start(mood: Mood) -> Self {
        let (server, mood) = (MockServer::start().await, Arc::new(Mutex::new(mood)));
        let now = Arc::clone(&mood);
        let respond = move |request: &Request| answer(*now.lock().unwrap(), request);
        Mock::given(path("/v1/chat/completions")).respond_with(respond).mount(&server).await;
        Self { server, mood }
    }

    fn becomes(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn model(&self) -> Arc<dyn ChatModel> {
        let client = |read_timeout: Duration| {
            let options = HttpOptions::default().with_system_proxy(false).with_retries(0);
            let client = HttpClient::new(options.with_read_timeout(read_timeout)).unwrap();
            let endpoint = Endpoint::new(&format!("{}/v1", self.server.uri())).unwrap();
            let endpoint = endpoint.with_key(&Secret::new(KEY)).unwrap();
            HttpChatModel::new(client, endpoint, ChatOptions::new("toy")).unwrap()
        };
        Arc::new(TimedModel {
            patient: client(Duration::from_secs(60)),
            impatient: client(Duration::from_millis(150)),
            mood: Arc::clone(&self.mood),
        })
    }

    /// Returns the number of requests whose instructions contain this text.
    async fn count_requests(&self, instruction: &str) -> usize {
        let requests = self.server.received_requests().await.unwrap();
        requests.iter().filter(|request| prompt(request).0.contains(instruction)).count()
    }
}

/// Returns the instructions and the input of the model.
fn prompt(request: &Request) -> (String, String) {
    let body: Value = request.body_json().unwrap();
    let content = |n: usize| body["messages"][n]["content"].as_str().unwrap_or_default().to_owned();
    (content(0), content(1))
}

fn answer(mood: Mood, request: &Request) -> ResponseTemplate {
    let text_reply = |text: &str| {
        let choice = json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        ResponseTemplate::new(200).set_body_json(json!({"id": "x", "choices": [choice]}))
    };
    match mood {
        Mood::Scripted => text_reply(&script(request)),
        Mood::Malformed => text_reply("Sure!\n- here it comes: {\"entities\": [{\"name\""),
        Mood::Busy => ResponseTemplate::new(429).insert_header("retry-after", WAIT.as_secs().to_string().as_str()),
        Mood::Broken => ResponseTemplate::new(500).set_body_string("a stack trace"),
        Mood::Silent => text_reply("too late").set_delay(Duration::from_secs(60)),
    }
}

fn script(request: &Request) -> String {
    let (instructions, input) = prompt(request);
    let entity = |name: &str, kind: &str| json!({"name": name, "kind": kind, "aliases": []});
    let graph = |person: &str, relation: &str, place: &str| {
        let relation = json!({"source": person, "relation": relation, "target": place});
        json!({"entities": [entity(person, "person"), entity(place, "place")], "relations": [relation]})
    };
    let turns = || serde_json::from_str::<Vec<Value>>(&input).unwrap();
    let reply = match instructions {
        instructions if instructions.contains("list who and what it names") => match input {
            input if input.contains("沈砚") => graph("沈砚", "住在", "青石村"),
            input if input.contains("Mira") => graph("Mira", "lives in", "Lisbon"),
            _ => json!({"entities": [], "relations": []}),
        },
        instructions if instructions.contains("durable facts") => {
            let about_mira = turns().into_iter().find(|turn| turn["text"].as_str().unwrap().contains("Mira"));
            let fact = about_mira.map(|turn| {
                json!({
                    "n": turn["n"], "subject": "Mira", "slot": "home", "value": "Lisbon", "polarity": "positive",
                    "cardinality": "single", "type": "fact", "text": "Mira lives in Lisbon.",
                })
            });
            json!({"facts": fact.into_iter().collect::<Vec<_>>()})
        }
        instructions if instructions.contains("You label turns") => {
            let label = |turn: Value| json!({"n": turn["n"], "topic": "scripted", "entities": [], "emotion": null});
            json!({"turns": turns().into_iter().map(label).collect::<Vec<_>>()})
        }
        instructions if instructions.contains("You summarize") => return SUMMARY.to_owned(),
        instructions if instructions.contains("You rewrite") => return "沈砚 青石村".to_owned(),
        instructions => panic!("unexpected request: {instructions}"),
    };
    reply.to_string()
}

async fn open(test_db: &TestDatabase, service: &Service) -> MemoryEngine {
    let model = service.model();
    let digest = EnrichmentOptions::model(model.clone()).unwrap().with_trigger(SummaryTrigger::every_turns(4));
    let graph = Arc::new(ChatExtractor::new(model));
    test_db.open_with(|builder| builder.enrichment(digest).graph(graph)).await
}

/// Stores a conversation in which rules find two facts, and a model one more.
async fn remember_conversation(memory: &MemoryEngine) {
    let texts = [
        "我对海鲜过敏。沈砚住在青石村。",
        "记住了。",
        "I live in Porto. Mira, though, has a flat in Lisbon.",
        "Noted.",
    ];
    for (n, text) in (1..).zip(texts) {
        let turn = message(n, text);
        let turn = if n % 2 == 0 { turn.with_role(memory_engine::Role::ASSISTANT) } else { turn };
        memory.remember(&story(None), turn).await.unwrap();
    }
}

/// Runs the jobs until the queue is empty; advances the clock by an hour before each retry.
async fn run_jobs(test_db: &TestDatabase, memory: &MemoryEngine) {
    for _ in 0..7 {
        let _ = tokio::time::timeout(Duration::from_millis(1500), memory.drain(&lin(), |_| ())).await;
        if memory.stats(&lin()).await.unwrap().queued.is_empty() {
            return;
        }
        test_db.clock.advance(Duration::from_secs(3600));
    }
}

async fn of_kind(memory: &MemoryEngine, kind: Kind) -> Vec<Record> {
    let filter = Filter::eq(Field::Kind, kind.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
    memory.scan(&lin(), &ScanQuery::oldest(99).with_filter(filter)).await.unwrap().records
}

async fn fact_texts(memory: &MemoryEngine) -> Vec<String> {
    memory.facts(&lin()).await.unwrap().into_iter().map(|fact| fact.text).collect()
}

/// A question that finds nothing, neither by itself nor with what was said before it.
fn weak(service: &Service) -> (&'static str, Enhancement) {
    let recent = [("user", "Tell me about that man again."), ("assistant", "Which one?")];
    let rewrite = Rewrite::by(service.model()).with_time(Duration::from_secs(20));
    ("the hermit, where is he?", Enhancement::new(recent).with_rewrite(rewrite))
}

pub(crate) async fn model_makes_labels_facts_summaries_graph_and_rewrite(test_db: TestDatabase) {
    let service = Service::start(Mood::Scripted).await;
    let memory = open(&test_db, &service).await;
    remember_conversation(&memory).await;
    assert_eq!(service.server.received_requests().await.unwrap().len(), 0, "no write waits for a model");
    run_jobs(&test_db, &memory).await;
    let facts = fact_texts(&memory).await;
    for word in ["海鲜", "Porto", "Mira lives in Lisbon."] {
        assert!(facts.iter().any(|fact| fact.contains(word)), "{word}: {facts:?}");
    }
    assert_eq!(of_kind(&memory, Kind::SUMMARY).await.iter().map(|s| s.text.as_str()).collect::<Vec<_>>(), [SUMMARY]);
    assert!(of_kind(&memory, Kind::TURN).await.iter().all(|turn| turn.topic.as_deref() == Some("scripted")));
    let known = memory.graph().facts(&lin(), &GraphFactsQuery::about(["沈砚在哪？"])).await.unwrap();
    let said = &known.relations[0];
    assert_eq!((&said.source[..], &said.relation[..], &said.target[..]), ("沈砚", "住在", "青石村"));
    assert_eq!(said.citation.message_id.as_deref(), Some("m1"));
    let (question, enhancement) = weak(&service);
    let found = memory.recall_enhanced(&lin(), question, &enhancement).await.unwrap();
    assert_eq!((found.form, found.asked.as_str()), (QueryForm::Rewritten, "沈砚 青石村"));
    assert!(found.recall.relevant().next().unwrap().record.text.contains("青石村"));
    assert_eq!(memory.admin().failures(&lin(), 9).await.unwrap(), []);
}

/// Makes the service so, and looks at what is there without it and at what comes when it is well again.
async fn without_it(test_db: TestDatabase, mood: Mood, reason: &str) -> Vec<Failure> {
    let service = Service::start(mood).await;
    let memory = open(&test_db, &service).await;
    remember_conversation(&memory).await;
    let _ = tokio::time::timeout(Duration::from_millis(1500), memory.drain(&lin(), |_| ())).await;
    let (first, tried_at) =
        (memory.admin().failures(&lin(), 9).await.unwrap(), memory_engine::Clock::now(&*test_db.clock));
    run_jobs(&test_db, &memory).await;

    // What the rules can do is done.
    let facts = fact_texts(&memory).await;
    assert!(facts.len() == 2 && facts.iter().any(|fact| fact.contains("海鲜")), "{facts:?}");
    let summaries = of_kind(&memory, Kind::SUMMARY).await;
    assert!(summaries.len() == 1 && summaries[0].text.contains("Porto"), "{summaries:?}");
    assert!(
        service.count_requests("durable facts").await > 0 && service.count_requests("You summarize").await > 0,
        "it was asked"
    );

    // The graph is not, and says why.
    assert_eq!(memory.graph().store().stats(&lin()).await.unwrap().records, 0);
    let stats = memory.stats(&lin()).await.unwrap();
    let undone = |counts: &std::collections::BTreeMap<Job, u64>| counts.get(&Job::Graph).copied().unwrap_or_default();
    assert_eq!(undone(&stats.queued) + undone(&stats.dead_letters), 4, "{stats:?}");
    assert_eq!(stats.queued.keys().chain(stats.dead_letters.keys()).filter(|job| **job != Job::Graph).count(), 0);
    let failures = memory.admin().failures(&lin(), 9).await.unwrap();
    assert!(failures.iter().any(|one| one.job == Job::Graph && one.reason.contains(reason)), "{failures:?}");
    let told = format!("{failures:?}");
    assert!(!told.contains("hunter2") && !told.contains("青石村") && !told.contains("stack trace"), "{told}");

    // Nor is a question rewritten; it finds what it finds by itself.
    let (question, enhancement) = weak(&service);
    let found = memory.recall_enhanced(&lin(), question, &enhancement).await.unwrap();
    assert!(found.form != QueryForm::Rewritten, "{found:?}");
    assert!(found.recall.degraded.iter().any(|one| one.stage == "rewrite" && !one.reason.is_empty()), "{found:?}");
    assert!(
        recalled_texts(&memory, &lin(), "海鲜").await.iter().any(|text| text.contains("沈砚")),
        "found by its words"
    );

    // Nothing is lost: with a service that answers all of it is made, and nothing twice.
    service.becomes(Mood::Scripted);
    memory.admin().requeue_enrichment(&lin()).await.unwrap();
    run_jobs(&test_db, &memory).await;
    assert_eq!(of_kind(&memory, Kind::TURN).await.len(), 4);
    assert_eq!(memory.graph().store().stats(&lin()).await.unwrap().records, 2);
    let facts = fact_texts(&memory).await;
    assert!(facts.len() == 3 && facts.iter().any(|fact| fact == "Mira lives in Lisbon."), "{facts:?}");
    assert_eq!(of_kind(&memory, Kind::SUMMARY).await.len(), 1);
    let stats = memory.stats(&lin()).await.unwrap();
    assert_eq!((stats.queued.len(), stats.dead_letters.len()), (0, 0), "{stats:?}");
    let found = memory.recall_enhanced(&lin(), question, &enhancement).await.unwrap();
    assert_eq!((found.form, found.recall.degraded.len()), (QueryForm::Rewritten, 0));
    let waits = |one: &Failure| one.retry_at.is_none_or(|at| at > tried_at);
    assert!(first.iter().all(waits), "{first:?}");
    first
}

pub(crate) async fn r15_unreadable_graph_replies_go_to_dead_letters(test_db: TestDatabase) {
    without_it(test_db, Mood::Malformed, "JSON").await;
}

pub(crate) async fn r15_busy_model_is_retried_after_its_delay(test_db: TestDatabase) {
    let start = memory_engine::Clock::now(&*test_db.clock);
    let first = without_it(test_db, Mood::Busy, "429").await;
    let graph = first.iter().find(|one| one.job == Job::Graph).unwrap();
    assert!(graph.retry_at.unwrap() >= start.after(WAIT), "no sooner than it asks: {graph:?}");
}

pub(crate) async fn r15_broken_model_falls_back_and_graph_waits(test_db: TestDatabase) {
    without_it(test_db, Mood::Broken, "500").await;
}

pub(crate) async fn r15_silent_model_delays_nothing(test_db: TestDatabase) {
    without_it(test_db, Mood::Silent, "did not").await;
}
