//! Acceptance of aicy-companion.md (rows A), on each backend. The arithmetic of affection, the parts of a context and
//! the form of verdicts are tested in `crates/companion`, the chat in the terminal in `examples/aicy-companion`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/fixtures.rs"]
mod fixtures;

use std::{sync::Arc, time::Duration};

use fixtures::{TestDatabase, lin, trials};
use libtest_mimic::Arguments;
use memory_engine::{Field, Filter, MemoryEngine, Record, ScanQuery, llm::ScriptedModel};
use memory_engine_companion::{Companion, Pack};

type Test = (&'static str, TestFn);
type TestFn = fn(TestDatabase) -> futures::future::LocalBoxFuture<'static, ()>;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn companion(memory: &MemoryEngine) -> (Companion, ScriptedModel) {
    let meeting = "（眨眼）你好，观测对象。\n<verdict>{\"moment\":\"first_meet\",\"outcome\":\"认识\"}</verdict>";
    let model = ScriptedModel::default().when_asked("你好", meeting).otherwise("（点头）嗯嗯。");
    (Companion::new(memory.clone(), Arc::new(model.clone()), Pack::example().unwrap()), model)
}

async fn of_kind(memory: &MemoryEngine, kind: &str) -> Vec<Record> {
    let query = ScanQuery::oldest(1000).with_filter(Filter::eq(Field::Kind, kind));
    memory.scan(&lin(), &query).await.unwrap().records
}

async fn a1_a5_a8_relationship_and_moments_survive_a_restart(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let (aicy, _) = companion(&memory);
    let first = aicy.turn(&lin(), "你好").await.unwrap();
    assert_eq!((first.text.as_str(), first.key_moment.as_deref()), ("（眨眼）你好，观测对象。", Some("first_meet")));
    test_db.clock.advance(Duration::from_secs(60));
    let before = aicy.turn(&lin(), "I work as a nurse and like short answers").await.unwrap().state;
    memory.drain(&lin(), |_| ()).await.unwrap();
    drop((aicy, memory));

    let memory = test_db.open().await;
    let (aicy, model) = companion(&memory);
    assert_eq!(aicy.state(&lin()).await.unwrap(), before);
    test_db.clock.advance(Duration::from_secs(60));
    let reply = aicy.turn(&lin(), "hello again").await.unwrap();
    assert_eq!((reply.key_moment, reply.state.total_messages), (None, 6), "a moment comes once");
    let context = model.requests()[0].messages[0].content.clone();
    let moment = "[第一次见面 - 2月25日]\n用户：你好\nAicy：（眨眼）你好，观测对象。";
    assert!(context.contains(moment), "{context}");
    let count = async |kind| of_kind(&memory, kind).await.len();
    assert_eq!((count("turn").await, count("key_moment").await, count("ledger/companion").await), (6, 1, 1));
    assert_eq!(count("ledger/affection").await, 4, "three messages and a moment");
}

async fn a3_context_has_only_the_current_stage(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let text = "name = \"Aicy\"\npersona = \"p\"\n\
        [[stages]]\nname = \"观察者\"\nfrom = 0\ntext = \"stage one\"\n\
        [[stages]]\nname = \"困惑者\"\nfrom = 2\ntext = \"stage two\"\n\
        [[stages]]\nname = \"学习者\"\nfrom = 4\ntext = \"stage three\"\n";
    let pack = Pack::from_toml(text, |name| Ok(name.to_owned())).unwrap();
    let model = ScriptedModel::default().otherwise("嗯。");
    let aicy = Companion::new(memory, Arc::new(model.clone()), pack);
    for n in 0..5 {
        test_db.clock.advance(Duration::from_secs(1));
        aicy.turn(&lin(), format!("message {n}")).await.unwrap();
    }
    let stages: Vec<Vec<&str>> = model
        .requests()
        .iter()
        .map(|request| {
            let context = &request.messages[0].content;
            ["stage one", "stage two", "stage three"].into_iter().filter(|stage| context.contains(stage)).collect()
        })
        .collect();
    let expected = [vec!["stage one"], vec!["stage two"], vec!["stage two"], vec!["stage three"], vec!["stage three"]];
    assert_eq!(stages, expected);
}

async fn a2_a4_a6_context_has_messages_and_profile_within_limit(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let (aicy, model) = companion(&memory);
    for n in 1..=30 {
        test_db.clock.advance(Duration::from_secs(60));
        aicy.turn(&lin(), format!("我叫小明，第 {n} 件事：the harbour at dusk")).await.unwrap();
    }
    let requests = model.requests();
    let context = &requests.last().unwrap().messages[0].content;
    // Older messages may follow as related history.
    let (recent, _) = context.split_once("【相关历史】").unwrap_or((context, ""));
    let verbatim =
        (1..30).filter(|n| recent.contains(&format!("用户：我叫小明，第 {n} 件事：the harbour at dusk"))).count();
    assert!((15..=25).contains(&verbatim), "30 to 50 messages are of both: {verbatim}");
    assert!(context.contains("第 29 件事"), "the last of them is there");
    assert!(context.contains("【用户画像】") && context.contains("小明"), "made after twenty messages: {context}");
    let state = aicy.state(&lin()).await.unwrap();
    assert_eq!((state.profile_at, state.total_messages), (60, 60));
    let built = aicy.context(&lin(), "你还记得 harbour 吗").await.unwrap();
    assert!(built.tokens <= built.limit && built.limit == 15_000, "{} of {}", built.tokens, built.limit);
    let names: Vec<&str> = built.layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names[..6], ["persona", "stage", "profile", "key_memories", "recent", "related"]);
}

async fn a7_related_history_is_recalled_on_request(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let (aicy, model) = companion(&memory);
    aicy.turn(&lin(), "我们第一次聊 ETH 的时候，我亏了三百块").await.unwrap();
    for n in 0..30 {
        test_db.clock.advance(Duration::from_secs(600));
        aicy.turn(&lin(), format!("今天吃了第 {n} 碗面")).await.unwrap();
    }
    memory.drain(&lin(), |_| ()).await.unwrap();
    let asked = async |message: &'static str| {
        test_db.clock.advance(Duration::from_secs(1));
        aicy.turn(&lin(), message).await.unwrap();
        model.requests().last().unwrap().messages[0].content.clone()
    };
    assert!(!asked("今天天气不错").await.contains("亏了三百块"), "nobody asked");
    let context = asked("你还记得我们第一次聊 ETH 吗？").await;
    assert!(context.contains("【相关历史】") && context.contains("亏了三百块"), "{context}");
}

async fn a10_affection_changes_are_logged(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let (aicy, _) = companion(&memory);
    for _ in 0..8 {
        aicy.turn(&lin(), "在吗").await.unwrap();
        test_db.clock.advance(DAY);
    }
    test_db.clock.advance(DAY * 40);
    aicy.charge_idle_days(&lin()).await.unwrap();
    let state = aicy.state(&lin()).await.unwrap();
    assert_eq!(state.bond.affection, 0, "forty days cost more than there was, and the chapter's floor is 0");
    let mut log = of_kind(&memory, "ledger/affection").await;
    let number = |record: &Record, key: &str| record.metadata[key].as_i64().unwrap();
    assert_eq!(log.iter().map(|line| number(line, "delta")).sum::<i64>(), 0);
    assert!(log.iter().any(|line| number(line, "delta") == 50), "seven days in a row");
    for line in &log {
        assert_eq!(number(line, "before_value") + number(line, "delta"), number(line, "after_value"));
    }
    log.retain(|line| number(line, "delta") < 0);
    assert_eq!(log.iter().map(|line| number(line, "delta")).sum::<i64>(), -58, "eight messages and a week");
}

macro_rules! tests {
    ($($name:ident,)*) => { vec![$((stringify!($name), (|test_db| Box::pin($name(test_db))) as TestFn)),*] };
}

fn main() {
    let tests: Vec<Test> = tests! {
        a1_a5_a8_relationship_and_moments_survive_a_restart,
        a3_context_has_only_the_current_stage,
        a2_a4_a6_context_has_messages_and_profile_within_limit,
        a7_related_history_is_recalled_on_request,
        a10_affection_changes_are_logged,
    };
    libtest_mimic::run(&Arguments::from_args(), trials(&tests)).exit();
}
