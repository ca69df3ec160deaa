//! Turns of a companion, on every backend.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "../../memory-engine/tests/integration/given/mod.rs"]
mod given;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::StreamExt;
use given::{Backend, lin};
use memory_engine::{
    ErrorKind, Field, Filter, Forget, MemoryEngine, Record, ScanQuery, Scope, State,
    llm::{ChatRequest, ScriptedModel, ScriptedReply},
    testing::ManualClock,
};
use memory_engine_companion::{ChatProfiles, Companion, Pack, TurnPiece, TurnReply, UserMessage};
use memory_engine_context::InjectionRules;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A companion at noon of 1 March 2026 in Shanghai.
struct World {
    memory: MemoryEngine,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    aicy: Companion,
}

async fn world(backend: &Backend, model: ScriptedModel) -> World {
    let clock = Arc::new(ManualClock::new("2026-03-01T04:00:00Z".parse().unwrap()));
    let memory = backend.builder().clock(clock.clone()).background(false).build().await.unwrap();
    let aicy = Companion::new(memory.clone(), Arc::new(model.clone()), Pack::example().unwrap());
    World { memory, clock, model, aicy }
}

fn polite() -> ScriptedModel {
    ScriptedModel::default().otherwise("嗯嗯。")
}

fn verdict(moment: &str, outcome: &str) -> String {
    format!("（点头）\n<verdict>{{\"moment\":\"{moment}\",\"outcome\":\"{outcome}\"}}</verdict>")
}

async fn kind(memory: &MemoryEngine, kind: &str) -> Vec<Record> {
    let filter = Filter::eq(Field::Kind, kind);
    memory.scan(&lin(), &ScanQuery::oldest(1000).with_filter(filter)).await.unwrap().records
}

/// The log as rows: delta, reason, before, after.
async fn log(memory: &MemoryEngine) -> Vec<(i64, String, i64, i64)> {
    let number = |record: &Record, name: &str| record.metadata[name].as_i64().unwrap();
    let mut lines = kind(memory, "ledger/affection").await;
    lines.sort_by_key(|r| {
        (r.occurred_at, number(r, "delta") > 0, number(r, "before_value") * number(r, "delta").signum())
    });
    let row = |r: &Record| {
        let reason = r.metadata["reason"].as_str().unwrap().to_owned();
        (number(r, "delta"), reason, number(r, "before_value"), number(r, "after_value"))
    };
    lines.iter().map(row).collect()
}

fn system(request: &ChatRequest) -> &str {
    &request.messages[0].content
}

#[tokio::test]
async fn a8_turn_stores_counts_and_answers() {
    for backend in Backend::all() {
        let World { memory, model, aicy, .. } =
            world(&backend, ScriptedModel::replying([verdict("first_meet", "认识")])).await;
        let reply = aicy.turn(&lin(), "你好").await.unwrap();
        assert_eq!((reply.text.as_str(), reply.key_moment.as_deref()), ("（点头）", Some("first_meet")));
        assert_eq!((reply.state.bond.affection, reply.state.total_messages, reply.repeated), (21, 2, false));
        let turns = kind(&memory, "turn").await;
        let messages: Vec<_> = turns.iter().map(|t| (t.text.as_str(), t.source.sequence)).collect();
        assert_eq!(messages, [("你好", Some(1)), ("（点头）", Some(2))]);
        assert_eq!(turns[0].metadata["affection_delta"], 21);
        assert_eq!(
            (&turns[0].metadata["key_moment_id"], &turns[1].metadata["key_moment_id"]),
            (&"first_meet".into(), &"first_meet".into())
        );
        let moments = kind(&memory, "key_moment").await;
        assert_eq!(moments[0].text, "用户：你好\nAicy：（点头）");
        assert_eq!(moments[0].derived_from, [turns[0].id, turns[1].id]);
        assert_eq!(moments[0].metadata["affection_gained"], 20);
        let asked = &model.requests()[0];
        assert_eq!((asked.messages.len(), asked.messages[1].content.as_str()), (2, "你好"));
        assert!(system(asked).contains("【当前阶段：观察者】") && system(asked).contains("#1 第一次见面"));
        assert!(!system(asked).contains("【最近对话】"), "the message itself is no history");
        assert_eq!(log(&memory).await, [(1, "message".into(), 0, 1), (20, "key moment: 第一次见面".into(), 1, 21)]);
        // No recall finds the books.
        let hits = memory.recall(&lin(), "affection message 第一次见面").await.unwrap().hits;
        assert!(hits.iter().all(|hit| !hit.record.kind.is_ledger()));
    }
}

/// Sixty days: a message each day up to the tenth, silence for 45 days, and a return.
#[tokio::test]
async fn a10_log_of_sixty_days() {
    for backend in Backend::all() {
        let model = ScriptedModel::default().when_asked("你好", verdict("first_meet", "认识")).otherwise("嗯。");
        let World { memory, clock, aicy, .. } = world(&backend, model).await;
        let mut expected: Vec<(i64, String, i64, i64)> = Vec::new();
        let mut at = 0;
        let mut line = |delta: i64, reason: &str| {
            expected.push((delta, reason.to_owned(), at, at + delta));
            at += delta;
        };
        for day in 1..=60 {
            let message = match day {
                1 => Some("你好"),
                2..=10 | 56..=60 => Some("早安"),
                _ => None,
            };
            if let Some(message) = message {
                aicy.turn(&lin(), message).await.unwrap();
            }
            clock.advance(DAY);
        }
        // By hand: day 1 brings 1 and the moment's 20; days 2 to 10 bring 1 each, day 7 the streak of 50 on top: 80.
        line(1, "message");
        line(20, "key moment: 第一次见面");
        for day in 2..=10 {
            line(1, "message");
            if day == 7 {
                line(50, "7 days in a row");
            }
        }
        // Days 11 to 55 are idle: the 31st of them, day 41, costs what is left above the floor of chapter one, which
        // is all.
        line(-80, "idle day 31");
        // Days 56 to 60 bring 1 each.
        for _ in 56..=60 {
            line(1, "message");
        }
        assert_eq!(log(&memory).await, expected);
        let state = aicy.state(&lin()).await.unwrap();
        assert_eq!((state.bond.affection, state.bond.consecutive_days, state.total_messages), (5, 5, 30));
    }
}

#[tokio::test]
async fn idle_days_stop_at_the_chapter_floor() {
    let World { memory, clock, aicy, .. } = world(&Backend::all()[0], polite()).await;
    aicy.turn(&lin(), "早安").await.unwrap();
    // An import of an older relationship: the state is a record like any other.
    let mut state = kind(&memory, "ledger/companion").await.remove(0);
    state.metadata.insert("affection".into(), 1450.into());
    memory.store(&lin(), vec![state], memory_engine::PutMode::Upsert).await.unwrap();
    clock.advance(DAY * 40);
    // Looked at day by day or at once, it costs the same: 39 whole days lie between, the last nine of which cost.
    assert_eq!(aicy.charge_idle_days(&lin()).await.unwrap().len(), 5);
    assert_eq!(aicy.charge_idle_days(&lin()).await.unwrap().len(), 0);
    clock.advance(DAY);
    let reply = aicy.turn(&lin(), "我回来了").await.unwrap();
    let changes: Vec<(i32, i32)> = reply.changes.iter().map(|change| (change.delta, change.after)).collect();
    assert_eq!(changes, [(1, 1001)]);
    let idle: Vec<_> = log(&memory).await.into_iter().filter(|row| row.0 < 0).map(|row| (row.0, row.3)).collect();
    assert_eq!(idle, [(-100, 1350), (-100, 1250), (-100, 1150), (-100, 1050), (-50, 1000)]);
}

#[tokio::test]
async fn repeated_message_gets_the_same_reply() {
    for backend in Backend::all() {
        let model =
            ScriptedModel::replying([ScriptedReply::Fail(ErrorKind::Timeout), "好。".into(), "不会说的话".into()]);
        let World { memory, aicy, model, .. } = world(&backend, model).await;
        let message = || UserMessage::new("我明天面试").with_message_id("m1");
        assert_eq!(aicy.turn(&lin(), message()).await.unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(kind(&memory, "turn").await.len(), 1, "the message is stored though the model failed");
        let reply = aicy.turn(&lin(), message()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.repeated), ("好。", false));
        let again = aicy.turn(&lin(), message()).await.unwrap();
        assert_eq!((again.text.as_str(), again.repeated, again.reply), ("好。", true, reply.reply));
        assert_eq!((again.state.bond.affection, again.state.total_messages), (1, 2));
        assert_eq!((log(&memory).await.len(), model.requests().len()), (1, 2));
        let other = aicy.turn(&lin(), UserMessage::new("别的话").with_message_id("m1")).await.unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Conflict);
        memory.forget(&lin(), Forget::Ids(vec![reply.message])).await.unwrap();
        let gone = aicy.turn(&lin(), message()).await.unwrap_err();
        assert!(gone.kind() == ErrorKind::Conflict && gone.to_string().contains("was forgotten"), "{gone}");
        assert_eq!(aicy.state(&lin()).await.unwrap().bond.affection, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_turns_are_counted_once() {
    for backend in Backend::all() {
        let model = ScriptedModel::default().when_asked("你好", verdict("first_meet", "认识")).otherwise("嗯。");
        let World { memory, aicy, .. } = world(&backend, model).await;
        let turns = (0..8).map(|n| {
            let aicy = aicy.clone();
            let message = UserMessage::new("你好").with_message_id(format!("m{}", n % 6));
            tokio::spawn(async move { aicy.turn(&lin(), message).await.unwrap() })
        });
        let replies: Vec<TurnReply> = futures::future::join_all(turns).await.into_iter().map(Result::unwrap).collect();
        let state = aicy.state(&lin()).await.unwrap();
        assert_eq!((state.bond.affection, state.total_messages), (6 + 20, 12), "{:?}", log(&memory).await);
        assert_eq!(replies.iter().filter(|r| r.key_moment.is_some() && !r.repeated).count(), 1, "the moment came once");
        assert_eq!(kind(&memory, "key_moment").await.len(), 1);
        let numbers: BTreeSet<_> = kind(&memory, "turn").await.iter().map(|t| t.source.sequence).collect();
        assert_eq!(numbers, (1..=12).map(Some).collect());
    }
}

async fn streamed(
    aicy: &Companion,
    message: impl Into<UserMessage>,
) -> (Vec<String>, Option<TurnReply>, Option<ErrorKind>) {
    let mut stream = match aicy.stream(&lin(), message).await {
        Ok(stream) => stream,
        Err(e) => return (vec![], None, Some(e.kind())),
    };
    let (mut pieces, mut done, mut failed) = (vec![], None, None);
    while let Some(piece) = stream.next().await {
        match piece {
            Ok(TurnPiece::Text(text)) => pieces.push(text),
            Ok(TurnPiece::Done(reply)) => done = Some(*reply),
            Ok(_) => panic!("another piece"),
            Err(e) => failed = Some(e.kind()),
        }
    }
    (pieces, done, failed)
}

#[tokio::test]
async fn a8_streamed_reply() {
    for backend in Backend::all() {
        let long = format!("<think>他在打招呼</think>（眨眼）你好，观测对象。{}", verdict("first_meet", "认识"));
        let script = [ScriptedReply::from(long), ScriptedReply::BreakOff("说到一半".into()), "说完了。".into()];
        let World { memory, aicy, .. } = world(&backend, ScriptedModel::replying(script)).await;
        let (pieces, done, failed) = streamed(&aicy, "你好").await;
        let done = done.unwrap();
        assert!(pieces.len() > 2 && failed.is_none(), "{pieces:?}");
        assert_eq!(pieces.concat(), "（眨眼）你好，观测对象。（点头）");
        assert_eq!((done.text, done.key_moment.as_deref()), (pieces.concat(), Some("first_meet")));
        assert_eq!(done.state.bond.affection, 21);
        // An incomplete reply is not stored. The message is, and it is answered when it is sent again.
        let message = || UserMessage::new("讲个故事").with_message_id("m2");
        let (pieces, done, failed) = streamed(&aicy, message()).await;
        assert_eq!(
            (pieces.concat().as_str(), done.is_none(), failed),
            ("说到一半", true, Some(ErrorKind::Unavailable))
        );
        assert_eq!(kind(&memory, "turn").await.len(), 3);
        let (pieces, done, _) = streamed(&aicy, message()).await;
        assert_eq!((pieces.concat().as_str(), done.unwrap().state.total_messages), ("说完了。", 4));
        let (pieces, done, _) = streamed(&aicy, message()).await;
        assert_eq!((pieces.concat().as_str(), done.unwrap().repeated), ("说完了。", true));
    }
}

#[tokio::test]
async fn a5_deleting_a_message_deletes_its_key_moment() {
    for backend in Backend::all() {
        let model = ScriptedModel::default().when_asked("你好", verdict("first_meet", "认识")).otherwise("嗯。");
        let World { memory, aicy, model, .. } = world(&backend, model).await;
        let first = aicy.turn(&lin(), "你好").await.unwrap();
        aicy.turn(&lin(), "今天天气不错").await.unwrap();
        assert!(
            system(&model.requests()[1]).contains("【关键记忆】\n\n[第一次见面 - 3月1日]\n用户：你好\nAicy：（点头）")
        );
        memory.forget(&lin(), Forget::Ids(vec![first.message])).await.unwrap();
        assert_eq!(kind(&memory, "key_moment").await.len(), 0);
        let reply = aicy.turn(&lin(), "你好呀").await.unwrap();
        assert_eq!((reply.state.bond.affection, reply.key_moment), (23, None), "it came once and does not come again");
        assert!(!system(&model.requests()[2]).contains("第一次见面"));
        // After everything is forgotten, the relationship starts from the beginning.
        memory.forget(&lin(), Forget::Everything).await.unwrap();
        let anew = aicy.turn(&lin(), "你好").await.unwrap();
        assert_eq!((anew.state.bond.affection, anew.state.total_messages), (21, 2));
        assert_eq!(log(&memory).await.len(), 2);
    }
}

#[tokio::test]
async fn a4_profile_is_refreshed_every_twenty_messages() {
    for backend in Backend::all() {
        let World { memory, aicy, model, .. } = world(&backend, polite()).await;
        let mut last = None;
        for n in 1..=21 {
            let text = if n == 3 { "叫我小林吧，我喜欢爬山".to_owned() } else { format!("第{n}句话") };
            last = Some(aicy.turn(&lin(), text.as_str()).await.unwrap());
            let profiles = kind(&memory, "profile").await;
            assert_eq!(profiles.len(), n / 10, "after {} messages", 2 * n);
        }
        let profiles = kind(&memory, "profile").await;
        let states: Vec<State> = profiles.iter().map(|record| record.state).collect();
        assert!(states.contains(&State::Superseded) && states.contains(&State::Active), "{states:?}");
        assert!(last.unwrap().degraded.is_empty());
        let asked = model.requests().pop().unwrap();
        assert!(
            system(&asked).contains("【用户画像】\n称呼：小林\n好感度：20（第一章：观察者）\n"),
            "{}",
            system(&asked)
        );
        assert!(system(&asked).contains("偏好：我喜欢爬山"));
        // What it was made from is deleted: it goes, and so does the one made from it. A new one is made of what is
        // left.
        let named = kind(&memory, "turn").await.into_iter().find(|turn| turn.text.contains("小林")).unwrap();
        memory.forget(&lin(), Forget::Ids(vec![named.id])).await.unwrap();
        assert_eq!(kind(&memory, "profile").await.len(), 0);
        aicy.turn(&lin(), "再说一句").await.unwrap();
        let profiles = kind(&memory, "profile").await;
        assert!(profiles.len() == 1 && !profiles[0].text.contains("小林"), "{profiles:?}");
    }
}

#[tokio::test]
async fn profile_failure_is_reported_as_degraded() {
    let World { aicy, .. } = world(&Backend::all()[0], polite()).await;
    let broken = ScriptedModel::default().otherwise(ScriptedReply::Fail(ErrorKind::RateLimited));
    let aicy = aicy.with_profiles(Arc::new(ChatProfiles::new(Arc::new(broken))));
    let mut replies = Vec::new();
    for n in 1..=10 {
        replies.push(aicy.turn(&lin(), format!("第{n}句话")).await.unwrap());
    }
    assert_eq!(replies.iter().filter(|reply| !reply.degraded.is_empty()).count(), 1);
    assert_eq!((replies[9].degraded[0].stage, replies[9].text.as_str()), ("profile", "嗯嗯。"));
}

#[tokio::test]
async fn a7_related_history_follows_the_rules() {
    for backend in Backend::all() {
        let World { memory, aicy, model, .. } = world(&backend, polite()).await;
        aicy.turn(&lin(), "我第一次买了 ETH，好紧张").await.unwrap();
        aicy.turn(&lin(), "I am allergic to shellfish").await.unwrap();
        for n in 0..30 {
            aicy.turn(&lin(), format!("闲聊 {n}")).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        let asked = async |text: &str| {
            aicy.turn(&lin(), text).await.unwrap();
            system(&model.requests().pop().unwrap()).to_owned()
        };
        let text = asked("你还记得我们第一次聊 ETH 吗？").await;
        assert!(text.contains("【相关历史】\n[3月1日] 用户：我第一次买了 ETH，好紧张"), "{text}");
        let text = asked("Do you remember what I am allergic to?").await;
        assert!(text.contains("shellfish"), "{text}");
        assert!(asked("ETH 今天怎么样").await.contains("好紧张"), "it touches an earlier message");
        assert!(!asked("晚上想早点睡").await.contains("【相关历史】"), "nothing is relevant");
        let aicy = aicy.with_rules(InjectionRules::of_document());
        aicy.turn(&lin(), "ETH 现在怎么样").await.unwrap();
        let text = system(&model.requests().pop().unwrap()).to_owned();
        assert!(!text.contains("【相关历史】"), "it does not ask about the past: {text}");
    }
}

/// Returns the part of a context before the related history and what follows it.
fn before_related(text: &str) -> &str {
    text.split_once("【相关历史】").map_or(text, |(before, _)| before).trim_end()
}

#[tokio::test]
async fn context_prefix_is_stable_between_profiles() {
    let World { aicy, model, .. } = world(&Backend::all()[0], polite()).await;
    let mut beginnings: Vec<String> = Vec::new();
    for n in 0..50 {
        let reply = aicy.turn(&lin(), format!("今天的第{n}件事")).await.unwrap();
        beginnings.push(reply.context.unwrap().stable().to_owned());
    }
    for (n, pair) in beginnings.windows(2).enumerate() {
        let made_anew = (n + 1) % 10 == 0;
        assert_eq!(pair[0] == pair[1], !made_anew, "turn {n}");
    }
    // The recent conversation only grows: within ten turns each context starts with the previous one, except for the
    // related history at its end.
    let requests = model.requests();
    let texts: Vec<&str> = requests.iter().map(system).collect();
    let grown = texts.windows(2).filter(|pair| pair[1].starts_with(before_related(pair[0]))).count();
    assert!(grown >= 40, "{grown} of 49");
}

#[tokio::test]
async fn invalid_input_is_explained() {
    let World { memory, aicy, .. } = world(&Backend::all()[0], polite()).await;
    let nobody = aicy.turn(&Scope::tenant_wide("default").unwrap(), "你好").await.unwrap_err();
    assert!(nobody.kind() == ErrorKind::InvalidInput && nobody.to_string().contains("has no user"), "{nobody}");
    assert_eq!(aicy.turn(&lin(), "  ").await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(aicy.state(&lin()).await.unwrap().total_messages, 0);
    let silent =
        Companion::new(memory, Arc::new(ScriptedModel::replying(["<verdict>no</verdict>"])), Pack::example().unwrap());
    let empty_reply = silent.turn(&lin(), "你好").await.unwrap_err();
    assert!(empty_reply.to_string().contains("is empty"), "{empty_reply}");
}

#[tokio::test]
async fn m1_companions_and_users_are_isolated() {
    let World { aicy, .. } = world(&Backend::all()[0], polite()).await;
    let (a, b) = (lin().with_agent("aicy").unwrap(), lin().with_agent("bo").unwrap());
    let mo = Scope::user("mo").unwrap().with_agent("aicy").unwrap();
    for _ in 0..3 {
        aicy.turn(&a, "早").await.unwrap();
    }
    aicy.turn(&b, "早").await.unwrap();
    let reply = aicy.turn(&mo, "早").await.unwrap();
    assert!(!reply.context.unwrap().text.contains("【最近对话】"));
    let affection = async |scope: &Scope| aicy.state(scope).await.unwrap().bond.affection;
    assert_eq!((affection(&a).await, affection(&b).await, affection(&mo).await, affection(&lin()).await), (3, 1, 1, 0));
}
