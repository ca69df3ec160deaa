//! Acceptance of kelivo-gateway.md (rows K), on each backend: its tables 5.1 to 5.4 through the gateway, over several
//! days, and the search behind it. Imports (K15) are tested where they are, in `crates/memory-cli`; the example goes
//! through the tables as a program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/fixtures.rs"]
mod fixtures;
#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/served.rs"]
mod served;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fixtures::{TestDatabase, lin, trials};
use libtest_mimic::Arguments;
use memory_engine::{
    Builder, EnrichmentOptions, Error, ErrorKind, Field, Filter, Kind, MemoryEngine, RecallOptions, RecallQuery,
    Record, Result, ScanQuery, Turn, admin,
    context::{GatewayBlock, InjectionRules},
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    http_models::{Endpoint, Secret},
    recall::Reranker,
    store::Score,
    synonyms::{SEED, SourceText, Suggester, SynonymGroup, SynonymStoreExt, groups_from_toml},
};
use memory_engine_server::{BlockPlacement, Gateway, GatewayOptions, Mcp, Upstream};
use serde_json::{Value, json};
use served::{Served, ServedReply, server};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

type Test = (&'static str, TestFn);
type TestFn = fn(TestDatabase) -> futures::future::LocalBoxFuture<'static, ()>;

const SYSTEM: &str = "你是 Krueger。";
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Long, since the first query loads the dictionary, which takes time on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

fn configure(builder: Builder) -> Builder {
    let options = RecallOptions::default().with_deadline(DEADLINE);
    let zone = memory_engine::jiff::tz::TimeZone::fixed(memory_engine::jiff::tz::offset(8));
    builder.zone(zone).enrichment(EnrichmentOptions::rules().unwrap()).recall_options(options)
}

/// The gateway, the model behind it, and the app before it.
struct Kelivo {
    memory: MemoryEngine,
    model: MockServer,
    gateway: Served,
}

/// One window of the app: a session with its own history.
struct Window<'k>(&'k Kelivo, &'static str, Vec<Value>);

/// The model: it reasons, streams on request, and lists its models.
fn reply(request: &Request) -> ResponseTemplate {
    if request.url.path().ends_with("/models") {
        return ResponseTemplate::new(200)
            .set_body_json(json!({ "object": "list", "data": [{ "id": "krueger", "object": "model" }] }));
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let choice = |name: &str, message: Value| json!({ "id": "c1", "created": 1, "model": "krueger", "choices": [{ "index": 0, name: message, "finish_reason": "stop" }] });
    let message = json!({ "role": "assistant", "content": "嗯。", "reasoning_content": "她在说什么？" });
    if body["stream"] == true {
        let events = format!("data: {}\n\ndata: [DONE]\n\n", choice("delta", message));
        return ResponseTemplate::new(200).set_body_raw(events, "text/event-stream");
    }
    ResponseTemplate::new(200).set_body_json(choice("message", message))
}

impl Kelivo {
    async fn new(test_db: &TestDatabase) -> Self {
        Self::over(test_db, test_db.open_with(configure).await, DEADLINE).await
    }

    async fn over(test_db: &TestDatabase, memory: MemoryEngine, deadline: Duration) -> Self {
        let model = MockServer::start().await;
        Mock::given(any()).respond_with(reply).mount(&model).await;
        let endpoint = Endpoint::new(&format!("{}/v1", model.uri())).unwrap();
        let endpoint = endpoint.with_key(&Secret::new("sk-hunter2")).unwrap();
        let mut options = GatewayOptions::default().with_deadlines(deadline, DEADLINE);
        options.clock = Arc::new(test_db.clock.clone());
        options.rules = InjectionRules::of_document();
        options.block = GatewayBlock::of_document();
        // The document puts the memories at the end of the system prompt (K9).
        options.placement = BlockPlacement::System;
        let gateway = Gateway::new(memory.clone(), vec![Upstream::new("scripted", endpoint)], options).unwrap();
        let gateway = Served::new(server(&memory).gateway(gateway).mcp(Mcp::new(memory.clone()))).await;
        Self { memory, model, gateway }
    }

    fn window(&self, session: &'static str) -> Window<'_> {
        Window(self, session, vec![json!({ "role": "system", "content": SYSTEM })])
    }

    /// Simulates the jobs of one night.
    async fn night(&self, test_db: &TestDatabase) {
        self.memory.drain(&lin(), |_| ()).await.unwrap();
        test_db.clock.advance(DAY);
    }

    /// Returns the text that was appended to the app's own system prompt.
    async fn injected(&self) -> String {
        let requests = self.model.received_requests().await.unwrap();
        let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
        let system = body["messages"][0]["content"].as_str().unwrap();
        system.strip_prefix(SYSTEM).unwrap_or_else(|| panic!("changed: {system}")).trim_start().to_owned()
    }

    async fn of_kind(&self, kind: Kind) -> Vec<Record> {
        let query = ScanQuery::oldest(100).with_filter(Filter::eq(Field::Kind, kind.as_str()));
        self.memory.scan(&lin(), &query).await.unwrap().records
    }

    async fn tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.gateway.post("mcp", &[("x-user-id", "lin")], &call).await.json()["result"].take()
    }
}

impl Window<'_> {
    async fn says(&mut self, text: &str) -> ServedReply {
        self.ask(text, false).await
    }

    async fn ask(&mut self, text: &str, streamed: bool) -> ServedReply {
        self.2.push(json!({ "role": "user", "content": text }));
        let body = json!({ "model": "krueger", "messages": self.2, "stream": streamed });
        let headers = [("x-user-id", "lin"), ("x-session-id", self.1)];
        let answer = self.0.gateway.post("v1/chat/completions", &headers, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.2.push(json!({ "role": "assistant", "content": "嗯。" }));
        answer
    }
}

async fn k1_k17_table_5_2_scenes_in_both_languages(test_db: TestDatabase) {
    let kelivo = Kelivo::new(&test_db).await;
    let mut window = kelivo.window("monday");
    let table = [
        ("今天好累啊", "daily"),
        ("来玩剧本吧！", "plot"),
        ("（继续剧情对话）", "plot"),
        ("不玩了回来聊天", "daily"),
        ("测试一下这个MCP工具", "meta"),
        ("What is the latest on sharp knives?", "daily"),
        ("Let's RP tonight", "plot"),
        ("He opened the door", "plot"),
        ("debug the server first", "meta"),
        ("Behind it lay the sea", "plot"),
    ];
    for (text, scene) in table {
        assert_eq!(window.says(text).await.tells("scene"), scene, "{text}");
    }
    let turns = kelivo.of_kind(Kind::TURN).await;
    for (text, scene) in table {
        let turn = turns.iter().find(|turn| turn.text == text).unwrap();
        assert_eq!(turn.scene.as_deref(), Some(scene), "{text}");
    }
    assert_eq!(kelivo.window("tuesday").says("早").await.tells("scene"), "daily", "a window has a scene of its own");
}

async fn k8_k9_k17_table_5_3_injection_rules_over_three_days(test_db: TestDatabase) {
    let kelivo = Kelivo::new(&test_db).await;
    let mut window = kelivo.window("day-1");
    for text in [
        "今天好累啊",
        "想换份工作，周五就要面试了，有点紧张",
        "I am allergic to shellfish, shrimp most of all",
        "来玩剧本吧！",
        "Krueger 掀开伪装网，露出胸前的双头鹰",
        "不玩了回来聊天",
        "今天被老板骂了，好难过",
    ] {
        window.says(text).await;
    }
    kelivo.night(&test_db).await;

    let mut window = kelivo.window("day-2");
    let block = async |answer: ServedReply, rule: &str| {
        assert_eq!(answer.tells("rule"), rule);
        kelivo.injected().await
    };
    let first = block(window.says("早安").await, "cold_start").await;
    assert!(first.starts_with("---\n[记忆参考 - 仅供自然融入对话，不要机械引用]") && first.ends_with("---"), "{first}");
    assert!(first.contains("老板") && first.chars().count() <= 500, "{first}");
    let recall_block = block(window.says("你还记得上次我们聊什么吗").await, "recall").await;
    assert!(recall_block.contains("[2026-02-25") && recall_block.contains("面试"), "{recall_block}");
    assert!(recall_block.contains("标记为[剧本]的内容是角色扮演剧情，不是真实事件"), "{recall_block}");
    assert_eq!(block(window.says("吃饭了吗").await, "nothing").await, "");
    let english = block(window.says("Do you remember that I am allergic to shellfish?").await, "recall").await;
    assert!(english.contains("shrimp most of all"), "{english}");
    kelivo.night(&test_db).await;

    let mut window = kelivo.window("day-3");
    window.says("早").await;
    let felt = block(window.says("唉，还是很伤心").await, "emotion").await;
    assert!(felt.contains("老板"), "of the last three days: {felt}");
    window.says("接着演").await;
    let plot = block(window.says("上次剧情里谁掀开了伪装网").await, "plot_recall").await;
    assert!(plot.contains("[剧本]") && plot.contains("双头鹰") && !plot.contains("老板"), "{plot}");
}

async fn k12_k13_k17_table_5_1_gateway_and_tools(test_db: TestDatabase) {
    let kelivo = Kelivo::new(&test_db).await;
    assert_eq!(kelivo.gateway.get("health").await.status, 200);
    assert_eq!(kelivo.gateway.get("v1/models").await.json()["data"][0]["id"], "krueger");
    let mut window = kelivo.window("monday");
    let plain = window.says("我的纹身在胸前").await.json();
    let message = &plain["choices"][0]["message"];
    assert_eq!((&message["content"], &message["reasoning_content"]), (&json!("嗯。"), &json!("她在说什么？")));
    let streamed = window.ask("来玩剧本吧！城堡里很黑", true).await.body;
    assert!(streamed.contains("她在说什么") && streamed.ends_with("data: [DONE]\n\n"), "{streamed}");
    let turns: Vec<_> = kelivo.of_kind(Kind::TURN).await.into_iter().map(|turn| (turn.text, turn.scene)).collect();
    let of = |text: &str, scene: &str| (text.to_owned(), Some(scene.to_owned()));
    let expected =
        [of("我的纹身在胸前", "daily"), of("嗯。", "daily"), of("来玩剧本吧！城堡里很黑", "plot"), of("嗯。", "plot")];
    assert_eq!(turns, expected, "a thought is no turn");

    let found = kelivo.tool("search_memory", json!({ "query": "纹身" })).await;
    assert_eq!(found["structuredContent"]["results"][0]["memory"], "我的纹身在胸前", "{found}");
    let opening = kelivo.tool("init_context", json!({})).await;
    let text = opening["structuredContent"]["context"].as_str().unwrap();
    assert!(text.contains("[daily]") && text.contains("[plot]") && text.contains("城堡里很黑"), "{text}");
}

/// The hash embedder, which can be out of order or silent.
#[derive(Debug, Default)]
struct Remote {
    inner: HashEmbedder,
    broken: AtomicBool,
    silent: AtomicBool,
}

#[async_trait]
impl Embedder for Remote {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }
    fn max_batch(&self) -> usize {
        self.inner.max_batch()
    }
    fn semantic_weight(&self) -> f64 {
        1.0
    }
    fn score_floor(&self) -> f64 {
        self.inner.score_floor()
    }
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if self.silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.broken.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "embed", "the service answers 503"));
        }
        self.inner.embed(texts, purpose).await
    }
}

async fn k3_k7_k12_k17_table_5_4_failing_and_silent_embedders(test_db: TestDatabase) {
    let remote = Arc::new(Remote::default());
    let memory = test_db.open_with(|builder| configure(builder).embedder(remote.clone())).await;
    memory.recall(&lin(), "词典").await.unwrap(); // the dictionary is loaded
    let kelivo = Kelivo::over(&test_db, memory, Duration::from_secs(3)).await;
    remote.broken.store(true, Ordering::SeqCst);
    let mut window = kelivo.window("monday");
    window.says("我对海鲜过敏，尤其是虾").await;
    let _ = kelivo.memory.drain(&lin(), |_| ()).await; // it reports what failed
    assert_eq!(window.says("还记得我对什么海鲜过敏吗").await.tells("rule"), "recall");
    let found = kelivo.memory.recall(&lin(), "海鲜").await.unwrap();
    assert_eq!(found.hits[0].record.text, "我对海鲜过敏，尤其是虾", "found by its words");
    assert!(found.degraded.iter().any(|part| part.stage == "vector"), "{:?}", found.degraded);

    remote.broken.store(false, Ordering::SeqCst);
    remote.silent.store(true, Ordering::SeqCst);
    let mut other = kelivo.window("tuesday");
    other.says("早").await;
    // Without the deadline there would be no answer: the embedder never ends.
    let answer = other.says("还记得我对海鲜过敏吗").await;
    assert!(answer.tells("degraded").contains("vector"), "what is missing is named: {:?}", answer.tells("degraded"));
    assert!(kelivo.injected().await.contains("尤其是虾"), "and what was ready is injected");

    remote.silent.store(false, Ordering::SeqCst);
    test_db.clock.advance(DAY); // until it is tried again
    kelivo.memory.drain(&lin(), |_| ()).await.unwrap();
    let stats = kelivo.memory.stats(&lin()).await.unwrap();
    assert_eq!(stats.queued.values().sum::<u64>(), 0, "embedded later: {stats:?}");
    assert_eq!(kelivo.memory.admin().failures(&lin(), 9).await.unwrap(), []);
}

/// A reranker behind an API that is down.
#[derive(Debug)]
struct Down;

#[async_trait]
impl Reranker for Down {
    async fn rerank(&self, _: &str, _: &[&str]) -> Result<Vec<Score>> {
        Err(Error::new(ErrorKind::Unavailable, "rerank", "the service answers 503"))
    }
}

async fn k2_k4_k5_k6_hybrid_search_with_synonyms_scenes_and_reranker(test_db: TestDatabase) {
    let options = RecallOptions::default().with_deadline(DEADLINE);
    let memory = test_db.open_with(|builder| builder.recall_options(options).reranker(Arc::new(Down))).await;
    let (plot, daily) = ("Krueger 掀开伪装网，露出胸前的双头鹰", "我想去纹身，纹一只猫");
    for (text, scene) in [
        (plot, "plot"),
        (daily, "daily"),
        ("He served in the Kommando Spezialkräfte for nine years", "plot"),
        ("Tomorrow the tests run on the new server", "meta"),
        ("团子今天又打翻了水碗", "daily"),
    ] {
        memory.remember(&lin(), Turn::user(text).with_scene(scene)).await.unwrap();
    }
    let summary = Turn::note("两个人聊了纹身的图案").with_kind(Kind::SUMMARY).with_scene("daily");
    memory.remember(&lin(), summary).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    let from = async |scene: &str, question: &str| {
        let recall = memory.recall(&lin(), RecallQuery::new(question).in_scene(scene).with_limit(5)).await.unwrap();
        let failed = recall.degraded.iter().all(|part| part.stage == "rerank" && part.reason.contains("503"));
        assert!(failed, "{:?}", recall.degraded);
        recall
    };
    let texts = async |scene: &str, question: &str| -> Vec<String> {
        from(scene, question).await.hits.into_iter().map(|hit| hit.record.text).collect()
    };
    let relevant = async |scene: &str, question: &str| -> Vec<String> {
        from(scene, question).await.relevant().map(|hit| hit.record.text.clone()).collect()
    };

    assert_eq!(relevant("plot", "克鲁格").await, [""; 0], "nobody knows yet who that is");
    let thesaurus = memory.settings().synonyms();
    thesaurus.store().put(&lin(), &groups_from_toml(SEED).unwrap()).await.unwrap();
    thesaurus.refresh(&lin()).await.unwrap();
    let found = texts("daily", "克鲁格的纹身").await;
    for text in [plot, daily, "两个人聊了纹身的图案"] {
        assert!(found.contains(&text.to_owned()), "{text} is not in {found:?}");
    }
    assert!(!found.iter().any(|text| text.contains("new server")), "no test of the system: {found:?}");
    assert_eq!(relevant("plot", "克鲁格的纹身").await, [plot]);
    assert!(!texts("plot", "克鲁格的纹身").await.contains(&daily.to_owned()), "a plot sees plots only");
    assert_eq!(texts("meta", "克鲁格的纹身").await, [""; 0], "and a test of the system nothing");
    for word in ["KSK", "特种部队", "kommando spezialkräfte"] {
        assert!(relevant("plot", word).await.iter().any(|text| text.contains("nine years")), "{word}");
    }
    assert_eq!(relevant("daily", "小白").await, [""; 0]);
    thesaurus.store().put(&lin(), &[SynonymGroup::new("团子", ["小白"])]).await.unwrap();
    thesaurus.refresh(&lin()).await.unwrap();
    assert_eq!(relevant("daily", "小白").await, ["团子今天又打翻了水碗"], "without a restart");
}

async fn k10_k11_turns_are_labelled_and_summarized_every_five_rounds(test_db: TestDatabase) {
    let kelivo = Kelivo::new(&test_db).await;
    let mut window = kelivo.window("monday");
    for text in [
        "今天不太开心，在虹桥火车站等小王",
        "小王说面试改到周五",
        "I had dinner with Anna in Lisbon",
        "晚饭吃了番茄牛腩面",
        "明天要早起",
        "晚安",
    ] {
        test_db.clock.advance(Duration::from_secs(60));
        assert_eq!(window.says(text).await.tells("scene"), "daily");
    }
    assert!(kelivo.of_kind(Kind::SUMMARY).await.is_empty(), "no reply waits for it");
    kelivo.memory.drain(&lin(), |_| ()).await.unwrap();
    let turns = kelivo.of_kind(Kind::TURN).await;
    assert_eq!(turns[0].emotion.as_deref(), Some("难过"));
    assert!(turns[0].entities.iter().any(|entity| entity.contains("虹桥")), "{:?}", turns[0].entities);
    assert!(turns.iter().any(|turn| turn.topic.is_some()), "{turns:?}");
    assert_eq!(turns.iter().map(|turn| turn.source.round.unwrap()).max(), Some(6));
    let summaries = kelivo.of_kind(Kind::SUMMARY).await;
    assert_eq!(summaries.len(), 1, "{summaries:?}");
    assert_eq!((summaries[0].scene.as_deref(), summaries[0].derived_from.len()), (Some("daily"), 10));
    let stats = kelivo.memory.stats(&lin()).await.unwrap();
    assert_eq!(stats.queued.values().sum::<u64>(), 0, "it has its vector, too: {stats:?}");
}

async fn k16_service_key_is_sent_but_not_stored(test_db: TestDatabase) {
    let kelivo = Kelivo::new(&test_db).await;
    kelivo.window("monday").says("我的密码不是 swordfish").await;
    kelivo.memory.drain(&lin(), |_| ()).await.unwrap();
    let requests = kelivo.model.received_requests().await.unwrap();
    assert_eq!(requests.last().unwrap().headers["authorization"], "Bearer sk-hunter2");
    test_db.assert_no_trace_of("hunter2").await;
    assert!(!format!("{:?}", kelivo.memory).contains("hunter2"));
}

async fn k14_schema_migrates_down_and_up(test_db: TestDatabase) {
    let memory = test_db.open().await;
    memory.remember(&lin(), "我对海鲜过敏").await.unwrap();
    memory.settings().synonyms().store().put(&lin(), &groups_from_toml(SEED).unwrap()).await.unwrap();
    drop(memory);
    let database = test_db.database();
    let migrated = admin::migrations(&database).await.unwrap();
    assert!(migrated.pending.is_empty() && !migrated.applied.is_empty(), "{migrated:?}");
    admin::migrate_down(&database, 0).await.unwrap();
    let down = admin::migrations(&database).await.unwrap();
    assert_eq!((down.schema, down.applied.len(), down.pending), (0, 0, migrated.applied.clone()));
    admin::migrate_up(&database, 0).await.unwrap();
    assert_eq!(admin::migrations(&database).await.unwrap(), migrated);
    let memory = test_db.open().await;
    assert_eq!(memory.stats(&lin()).await.unwrap().records, 0);
    assert_eq!(memory.settings().synonyms().store().list(&lin()).await.unwrap(), []);
}

async fn k18_suggested_synonyms_apply_only_when_accepted(test_db: TestDatabase) {
    let memory = test_db.open_with(configure).await;
    let turns = [
        "老婆今天加班，晚饭我自己煮的面",
        "媳妇说周末想去爬山，让我查查路线",
        "The first walk along the harbour this year",
        "周末陪老婆看了场电影，挺闷的",
        "媳妇嫌我打呼噜，让我去看医生",
        "Another walk along the harbour, in the rain",
        "老婆的生日快到了，买点什么好",
        "跟媳妇商量了一下，年底前不换车",
        "A walk along the harbour before breakfast",
    ];
    for text in turns {
        memory.remember(&lin(), text).await.unwrap();
    }
    let (thesaurus, store) = (memory.settings().synonyms(), memory.settings().synonyms().store());
    let records = memory.scan(&lin(), &ScanQuery::oldest(99)).await.unwrap().records;
    let texts: Vec<SourceText<'_>> = records.iter().map(SourceText::of).collect();
    let suggested = async || {
        let (known, verdicts) = (thesaurus.refresh(&lin()).await.unwrap(), store.verdicts(&lin()).await.unwrap());
        let found = Suggester::default().suggest(&texts, &[], &known, &verdicts);
        found.iter().map(|found| [found.pair.first(), found.pair.second()].map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(suggested().await, [["媳妇".to_owned(), "老婆".to_owned()]], "and no words that stand together");
    assert_eq!(store.list(&lin()).await.unwrap(), [], "nothing is applied by itself");
    store.accept(&lin(), "老婆", "媳妇").await.unwrap();
    assert!(suggested().await.is_empty(), "a decided pair is not suggested again");
    let found = memory.recall(&lin(), RecallQuery::new("老婆嫌我什么").with_limit(9)).await.unwrap();
    assert_eq!(found.hits[0].record.text, "媳妇嫌我打呼噜，让我去看医生");
    store.reject(&lin(), "媳妇", "harbour").await.unwrap();
    assert_eq!(store.list(&lin()).await.unwrap().len(), 1);
}

macro_rules! tests {
    ($($name:ident,)*) => { vec![$((stringify!($name), (|test_db| Box::pin($name(test_db))) as TestFn)),*] };
}

fn main() {
    let tests: Vec<Test> = tests! {
        k1_k17_table_5_2_scenes_in_both_languages,
        k8_k9_k17_table_5_3_injection_rules_over_three_days,
        k12_k13_k17_table_5_1_gateway_and_tools,
        k3_k7_k12_k17_table_5_4_failing_and_silent_embedders,
        k2_k4_k5_k6_hybrid_search_with_synonyms_scenes_and_reranker,
        k10_k11_turns_are_labelled_and_summarized_every_five_rounds,
        k14_schema_migrates_down_and_up,
        k16_service_key_is_sent_but_not_stored,
        k18_suggested_synonyms_apply_only_when_accepted,
    };
    libtest_mimic::run(&Arguments::from_args(), trials(&tests)).exit();
}
