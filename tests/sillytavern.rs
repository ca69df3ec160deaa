//! Acceptance of sillytavern-mem0.md (rows M), on each backend: the front end's side of a mem0 server, over HTTP,
//! against ours. Which questions are weak (M4) and the forms of lists and filters are tested in the crates; the real
//! clients of mem0 in `crates/memory-server`; the example is a program that chats.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/fixtures.rs"]
mod fixtures;
#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/served.rs"]
mod served;

use std::{sync::Arc, time::Duration};

use fixtures::{TestDatabase, trials};
use libtest_mimic::Arguments;
use memory_engine::{
    EnrichmentOptions, MemoryEngine, Scope,
    http_models::{HttpClient, HttpOptions, Mem0Client, Mem0Event, Mem0Owner, Mem0Search},
    llm::{Message, ScriptedModel},
    recall::QueryForm,
};
use memory_engine_server::Mem0;
use serde_json::{Map, Value, json};
use served::{Served, server};
use sillytavern_mem0::{ChatMemories, Mem0Chat, Mem0Settings};

type Test = (&'static str, TestFn);
type TestFn = fn(TestDatabase) -> futures::future::LocalBoxFuture<'static, ()>;

const DAY: Duration = Duration::from_secs(24 * 3600);
const WEAK: &str = "你今天有什么不一样？";
const WEAK_TOO: &str = "What is different about you today?";

/// Our mem0 server, as used by a chat front end.
struct Tavern {
    test_db: TestDatabase,
    memory: MemoryEngine,
    server: Served,
}

fn client(url: &str) -> Mem0Client {
    let http = HttpClient::new(HttpOptions::default().with_system_proxy(false)).unwrap();
    Mem0Client::new(http, url, None).unwrap()
}

fn seraphina() -> Mem0Owner {
    Mem0Owner::user("xiaoyu").with_agent("Seraphina")
}

/// Settings with long limits: a busy machine may still have to load the dictionary.
fn settings() -> Mem0Settings {
    let mut settings = Mem0Settings::default();
    settings.write_limit_ms = 60_000;
    settings.search_limit_ms = 60_000;
    settings.rewrite_limit_ms = 60_000;
    settings
}

/// Returns a chat of alternating messages, the first one from the user.
fn chat(lines: &[&str]) -> Vec<Message> {
    let line = |(n, text): (usize, &&str)| if n % 2 == 0 { Message::user(*text) } else { Message::assistant(*text) };
    lines.iter().enumerate().map(line).collect()
}

impl Tavern {
    async fn new(test_db: TestDatabase) -> Self {
        let memory = test_db.open_with(|builder| builder.enrichment(EnrichmentOptions::rules().unwrap())).await;
        let mem0 = Mem0::new(memory.clone()).with_add_timeout(Duration::from_secs(30));
        let server = Served::new(server(&memory).mem0(mem0)).await;
        Self { test_db, memory, server }
    }

    fn of(&self, owner: Mem0Owner) -> Mem0Chat {
        let memory = Mem0Chat::new(client(&self.server.url), owner);
        memory.set(settings()).unwrap();
        memory
    }

    /// Saves a round and returns the events of the server. Then a day passes.
    async fn save_round(&self, memory: &Mem0Chat, text: &str) -> Vec<Mem0Event> {
        let metadata = json!({ "chatfile": "day-1.jsonl", "avatar_url": "Seraphina.png" });
        let metadata: Map<String, Value> = metadata.as_object().unwrap().clone();
        let events = memory.chat_saved(&chat(&[text, "嗯，记下了。"]), metadata).await.unwrap().unwrap();
        self.memory.drain(&Scope::user("xiaoyu").unwrap(), |_| ()).await.unwrap();
        self.test_db.clock.advance(DAY);
        events
    }
}

fn change(memory: &Mem0Chat, change: impl FnOnce(&mut Mem0Settings)) {
    let mut settings = memory.settings();
    change(&mut settings);
    memory.set(settings).unwrap();
}

fn holds(retrieved: &ChatMemories, form: QueryForm, words: &str) {
    assert_eq!((retrieved.form(), retrieved.degraded.len()), (Some(form), 0), "{retrieved:?}");
    assert!(retrieved.memories.iter().any(|memory| memory.memory.contains(words)), "{retrieved:?}");
    assert!(retrieved.text.starts_with("Relevant long-term memory:\n- ") && retrieved.text.contains(words));
}

async fn m1_m2_saved_chat_has_metadata_and_is_isolated(test_db: TestDatabase) {
    let tavern = Tavern::new(test_db).await;
    let memory = tavern.of(seraphina());
    let long =
        ["你好", "你好呀", "I am allergic to walnuts", "I will remember that.", "我养了一只叫团子的猫", "真可爱"];
    let metadata = Map::from_iter([("chatfile".to_owned(), json!("a.jsonl"))]);
    memory.chat_saved(&chat(&long[..4]), metadata.clone()).await.unwrap().unwrap();
    change(&memory, |settings| settings.rounds = 2);
    memory.chat_saved(&chat(&long), metadata).await.unwrap().unwrap();
    let stored =
        tavern.memory.scan(&Scope::user("xiaoyu").unwrap(), &memory_engine::ScanQuery::oldest(99)).await.unwrap();
    let said: Vec<&str> = stored.records.iter().map(|record| record.text.as_str()).collect();
    assert!(!said.contains(&"你好") && said.contains(&long[2]) && said.contains(&long[4]), "the last rounds: {said:?}");

    for (question, words) in [("Which nuts? walnuts?", "walnuts"), ("团子今天乖吗？", "团子")] {
        let found = memory.before_generation(&chat(&[question])).await;
        holds(&found, QueryForm::Question, words);
        assert_eq!(found.memories[0].metadata.as_ref().unwrap()["chatfile"], "a.jsonl");
        for other in [
            Mem0Owner::user("xiaoyu").with_agent("Kai"),
            Mem0Owner::user("mei").with_agent("Seraphina"),
            seraphina().with_run("group chat"),
        ] {
            let found = tavern.of(other.clone()).before_generation(&chat(&[question])).await;
            assert_eq!((found.memories.len(), found.degraded.len()), (0, 0), "{other:?}: {found:?}");
        }
    }
}

async fn m3_m5_m8_case_a_clear_query_across_days(test_db: TestDatabase) {
    let tavern = Tavern::new(test_db).await;
    let memory = tavern.of(seraphina());
    tavern.save_round(&memory, "我海鲜过敏，别推荐海鲜").await;
    tavern.save_round(&memory, "I get hives from peanuts, so never recommend peanuts").await;
    tavern.save_round(&memory, "昨天的晚饭推荐得怎么样，你还记得吗？").await;
    let asked = [Message::system("Stay in character."), Message::user("晚饭推荐什么？")];
    let found = memory.before_generation(&asked).await;
    holds(&found, QueryForm::Question, "海鲜");
    assert!(!found.memories.iter().any(|memory| memory.memory.contains("记下了")), "not the character's own words");
    assert!(!found.memories[0].memory.contains('？'), "an earlier question does not come first: {found:?}");
    let prompt = found.inject(&asked);
    assert_eq!((prompt.len(), &prompt[1]), (2, &asked[1]));
    assert_eq!(prompt[0].content, format!("Stay in character.\n\n{}", found.text), "appended, and nothing changed");
    let found = memory.before_generation(&chat(&["What do you recommend for dinner?"])).await;
    holds(&found, QueryForm::Question, "peanuts");
    let prompt = found.inject(&chat(&["What do you recommend for dinner?"]));
    assert_eq!((prompt.len(), prompt[0].role.as_str(), &prompt[0].content), (2, "system", &found.text));
    for (message, words) in [("今晚外卖点啥", "海鲜"), ("any snack ideas?", "peanuts")] {
        let found = memory.before_generation(&chat(&[message])).await;
        holds(&found, QueryForm::Question, words);
    }
    change(&memory, |settings| (settings.limit, settings.inject_chars) = (1, 60));
    let found = memory.before_generation(&chat(&["What do you recommend for dinner?"])).await;
    assert!(found.memories.len() == 1 && found.text.chars().count() <= 60, "{}", found.text);
}

async fn m3_m4_m8_case_b_weak_query_uses_dialogue(test_db: TestDatabase) {
    let tavern = Tavern::new(test_db).await;
    let memory = tavern.of(seraphina());
    tavern.save_round(&memory, "我一失眠第二天就头疼，喝点温牛奶会好些").await;
    tavern.save_round(&memory, "My insomnia gives me a headache; warm milk helps").await;
    for (before, weak, words) in
        [("我昨晚失眠了，三点才睡着", WEAK, "温牛奶"), ("It was insomnia again last night", WEAK_TOO, "warm milk")]
    {
        let asked = chat(&[before, "……", weak]);
        change(&memory, |settings| settings.weak_at_once = true);
        let found = memory.before_generation(&asked).await;
        holds(&found, QueryForm::Context, words);
        let query = &found.searches[0].query;
        assert_eq!(found.searches.len(), 1, "straight to the second form");
        assert!(query.contains(before) && query.ends_with(&format!("User question: {weak}")), "{query}");
        change(&memory, |settings| settings.weak_at_once = false);
        let fallback = memory.before_generation(&asked).await;
        assert_eq!((fallback.form(), fallback.searches.len()), (Some(QueryForm::Context), 2), "else after the first");
    }
    let page = "很久很久以前，山里有一座庙。".repeat(200);
    let found = memory.before_generation(&chat(&[&page, "……", WEAK])).await;
    assert!(found.searches.iter().all(|asked| asked.query.chars().count() <= 1200));
}

async fn m3_m7_m8_case_c_model_rewrite_follows_current_settings(test_db: TestDatabase) {
    let tavern = Tavern::new(test_db).await;
    let rewritten = "结合最近对话：用户昨晚失眠，询问今天状态有何变化";
    let model = ScriptedModel::default()
        .when(|request| request.messages[0].content.contains("one plain word"), "Sorry:\n- I cannot")
        .when_asked("数羊", rewritten)
        .when_asked("ceiling", "What insomnia does to the user today");
    let memory = tavern.of(seraphina()).with_model(Arc::new(model.clone()));
    tavern.save_round(&memory, "我昨晚失眠了，三点才睡着").await;
    tavern.save_round(&memory, "My insomnia gives me a headache; warm milk helps").await;
    let asked = chat(&["又是盯着天花板数羊的一夜", "……", WEAK]);
    let off = memory.before_generation(&asked).await;
    assert_eq!((off.form(), off.searches.len(), off.text.as_str()), (None, 2, ""), "{off:?}");
    assert_eq!(model.requests().len(), 0, "off is off");

    change(&memory, |settings| settings.rewrite = true);
    let on = memory.before_generation(&asked).await;
    holds(&on, QueryForm::Rewritten, "失眠");
    assert_eq!(
        on.searches.iter().map(|search| search.form).collect::<Vec<_>>(),
        [QueryForm::Question, QueryForm::Context, QueryForm::Rewritten]
    );
    assert_eq!(on.searches[2].query, rewritten);
    let prompt: Value = serde_json::from_str(&model.requests()[0].messages[1].content).unwrap();
    assert_eq!((&prompt["user_name"], &prompt["char_name"]), (&json!("xiaoyu"), &json!("Seraphina")));
    assert_eq!(prompt["user_question"], WEAK);
    assert!(prompt["recent_conversation"].to_string().contains("数羊"));
    let english = chat(&["Another night staring at the ceiling", "…", WEAK_TOO]);
    holds(&memory.before_generation(&english).await, QueryForm::Rewritten, "headache");

    change(&memory, |settings| settings.rewrite_prompt = "Answer in one plain word".into());
    let broken = memory.before_generation(&asked).await;
    assert_eq!((broken.form(), broken.degraded[0].stage), (None, "rewrite"), "{broken:?}");
}

async fn m2_m6_unavailable_server_costs_only_its_timeout(_: TestDatabase) {
    // It accepts connections and never answers: without time limits, nothing here would end.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // It has a port, and refuses connections.
    let gone = tokio::net::TcpSocket::new_v4().unwrap();
    gone.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    for (url, is_silent) in [(silent.local_addr().unwrap(), true), (gone.local_addr().unwrap(), false)] {
        let memory = Mem0Chat::new(client(&format!("http://{url}")), seraphina());
        let asked = chat(&["我海鲜过敏", "好的", "晚饭推荐什么？"]);
        let writing = memory.chat_saved(&asked, Map::new());
        assert!(!is_silent || !writing.is_finished(), "a save waits for nothing");
        let found = memory.before_generation(&asked).await;
        assert_eq!((found.inject(&asked), found.degraded[0].stage), (asked, "search"));
        assert!(!found.degraded[0].reason.contains("海鲜"), "{:?}", found.degraded);
        assert_eq!(writing.await.unwrap(), None, "not written, and nobody's error");
    }
}

async fn m9_m10_mem0_client_sees_types_and_superseded_facts(test_db: TestDatabase) {
    let tavern = Tavern::new(test_db).await;
    let memory = tavern.of(seraphina());
    let mut first = Vec::new();
    for (said, event, memory_text) in [
        ("I live in Porto.", "ADD", "The user lives in Porto."),
        ("我海鲜过敏，别推荐海鲜", "ADD", "用户对海鲜过敏。"),
        ("I live in Lisbon now.", "UPDATE", "The user lives in Lisbon."),
    ] {
        let events = tavern.save_round(&memory, said).await;
        let of = events.iter().find(|one| one.memory == memory_text).unwrap_or_else(|| panic!("{events:?}"));
        assert_eq!(of.event, event);
        first.push(of.id.clone());
    }
    let client = client(&tavern.server.url);
    let found =
        client.search(&seraphina(), &Mem0Search::new("Where does the user live?").with_threshold(0.05)).await.unwrap();
    let facts: Vec<&str> = found.iter().map(|memory| memory.memory.as_str()).collect();
    assert!(facts.contains(&"The user lives in Lisbon.") && !facts.contains(&"The user lives in Porto."), "{facts:?}");
    let history = tavern.server.get(&format!("memories/{}/history", first[0])).await.json();
    let events: Vec<&str> = history.as_array().unwrap().iter().map(|one| one["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["ADD", "UPDATE"], "{history}");
    assert_eq!(history[1]["new_memory"], "The user lives in Lisbon.");
    let mine = json!({ "filters": { "user_id": "xiaoyu", "agent_id": "Seraphina" } });
    let listed = tavern.server.post("v3/memories/", &[], &mine).await.json();
    let rows = listed["results"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{listed}");
    for row in rows {
        assert!(["fact", "preference", "state"].contains(&row["categories"][0].as_str().unwrap()), "{row}");
    }
    assert!(client.delete(&first[1]).await.unwrap() && client.get(&first[1]).await.unwrap().is_none());
}

macro_rules! tests {
    ($($name:ident,)*) => { vec![$((stringify!($name), (|test_db| Box::pin($name(test_db))) as TestFn)),*] };
}

fn main() {
    let tests: Vec<Test> = tests! {
        m1_m2_saved_chat_has_metadata_and_is_isolated,
        m2_m6_unavailable_server_costs_only_its_timeout,
        m3_m5_m8_case_a_clear_query_across_days,
        m3_m4_m8_case_b_weak_query_uses_dialogue,
        m3_m7_m8_case_c_model_rewrite_follows_current_settings,
        m9_m10_mem0_client_sees_types_and_superseded_facts,
    };
    libtest_mimic::run(&Arguments::from_args(), trials(&tests)).exit();
}
