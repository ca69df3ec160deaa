//! The memories injected into prompts, by trigger and by frame.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    MemoryEngine, Result,
    embed::{Embedder, Embedding, EmbeddingSpace, Purpose},
};
use memory_engine_server::GatewayOptions;
use serde_json::json;

use crate::given::{Chat, lin, patient, said, to, user};

const SYSTEM: &str = "You are Krueger.";

#[tokio::test]
async fn k17_a_new_window_a_question_about_the_past_and_small_talk_get_what_the_document_says() {
    let chat = Chat::new().await;
    chat.remember("我对海鲜过敏，尤其是虾").await;
    let system = json!({ "role": "system", "content": SYSTEM });

    let first = chat.ask(&to("echo", &[system.clone(), user("早上好")])).await;
    assert_eq!(first.header("x-memory-rule"), "cold_start");
    assert!(chat.system().starts_with(&format!("{SYSTEM}\n\n---\n[记忆参考")), "{}", chat.system());
    assert!(chat.system().contains("海鲜过敏") && chat.system().chars().count() <= 500 + SYSTEM.len() + 2);

    let history = [system.clone(), user("早上好"), said("好的: 早上好")];
    let asked = [&history[..], &[user("还记得我对什么海鲜过敏吗")]].concat();
    let recalled = chat.ask(&to("echo", &asked)).await;
    assert_eq!((recalled.header("x-memory-rule"), recalled.header("x-memory-scene")), ("recall", "daily"));
    assert!(chat.system().contains("[日常]") && chat.system().contains("海鲜过敏"), "{}", chat.system());
    assert_eq!(recalled.header("x-memory-ids").split(',').count(), 1);
    assert!(recalled.header("x-memory-tokens").parse::<usize>().unwrap() > 20);
    assert_eq!(recalled.header("x-memory-degraded"), "");

    let small_talk = chat.ask(&to("echo", &[&history[..], &[user("吃饭了吗")]].concat())).await;
    assert_eq!((small_talk.header("x-memory-rule"), chat.system().as_str()), ("nothing", SYSTEM));
    assert_eq!(small_talk.header("x-memory-ids"), "");
}

#[tokio::test]
async fn k17_scenes_are_told_as_the_document_says_and_go_on_after_a_restart() {
    let chat = Chat::new().await;
    let mut history = Vec::new();
    for (text, scene) in [
        ("今天好累啊", "daily"),
        ("来玩剧本吧！", "plot"),
        ("（继续剧情对话）", "plot"),
        ("测试一下这个MCP工具", "meta"),
        ("他推开了门", "plot"),
    ] {
        history.push(user(text));
        assert_eq!(chat.ask(&to("echo", &history)).await.header("x-memory-scene"), scene, "{text}");
        history.push(said(&format!("好的: {text}")));
    }
    let scenes: Vec<String> = chat.turns("monday").await.into_iter().filter_map(|record| record.scene).collect();
    assert_eq!(scenes, ["daily", "daily", "plot", "plot", "plot", "plot", "meta", "meta", "plot", "plot"]);

    // Another gateway on the same memory, as after a restart.
    let again = Chat::over(chat.served.engine.clone(), patient()).await;
    history.push(user("城堡里很黑"));
    assert_eq!(again.ask(&to("echo", &history)).await.header("x-memory-scene"), "plot");
    assert_eq!(again.turns("monday").await.last().unwrap().source.round, Some(6));
    history.extend([said("好的: 城堡里很黑"), user("不玩了回来聊天")]);
    assert_eq!(again.ask(&to("echo", &history)).await.header("x-memory-scene"), "daily");
}

#[tokio::test]
async fn an_english_question_is_answered_from_memory_too() {
    let rules = memory_engine::context::InjectionRules::from_toml("[recall]\nmore_words = ['remember']").unwrap();
    let chat = Chat::with(patient().with_rules(rules)).await;
    chat.remember("I am allergic to shellfish, shrimp most of all.").await;
    let asked = [user("hi"), said("hello"), user("Do you remember that I am allergic to shellfish?")];
    let answer = chat.ask(&to("echo", &asked)).await;
    assert_eq!(answer.header("x-memory-rule"), "recall");
    assert!(chat.system().contains("allergic to shellfish"), "{}", chat.system());
    assert_eq!(
        chat.served.seen.last()["messages"].as_array().unwrap().len(),
        4,
        "a system message stands before all others"
    );
}

#[tokio::test]
async fn rounds_of_tools_get_what_their_question_got_and_what_the_chat_holds_is_not_said_twice() {
    let chat = Chat::new().await;
    chat.remember("我住在柏林").await;
    let question = user("之前说过我住在哪里？柏林？");
    let first = chat.ask(&to("tools", std::slice::from_ref(&question))).await;
    let block = chat.system();
    assert!(block.contains("我住在柏林"), "{block}");
    let call = first.json()["choices"][0]["message"].clone();
    let tool = json!({ "role": "tool", "tool_call_id": "call_1", "content": "sunny" });
    let second = chat.ask(&to("tools", &[question.clone(), call.clone(), tool.clone()])).await;
    assert_eq!((second.header("x-memory-rule"), chat.system()), ("continued", block));
    let sent = chat.served.seen.last()["messages"].clone();
    assert_eq!([&sent[2], &sent[3]], [&call, &tool], "nothing comes between a call and its answer");

    let held = [user("我住在柏林"), said("好的"), user("之前说过我住在哪里？柏林？")];
    chat.ask(&to("echo", &held)).await;
    assert!(!chat.system().contains("用户：我住在柏林"), "{}", chat.system());
}

#[tokio::test]
async fn what_was_deleted_or_edited_meanwhile_is_not_put_into_a_reply_that_is_continued() {
    for (text, question) in [("我住在柏林", "之前说过我住在哪里？柏林？"), ("我养了一只猫", "还记得我养了一只什么猫吗")]
    {
        let chat = Chat::new().await;
        chat.remember(text).await;
        let question = user(question);
        let first = chat.ask(&to("tools", std::slice::from_ref(&question))).await;
        assert!(chat.system().contains(text), "{}", chat.system());
        let call = first.json()["choices"][0]["message"].clone();
        let tool = json!({ "role": "tool", "tool_call_id": "call_1", "content": "sunny" });
        let id: memory_engine::RecordId = first.header("x-memory-ids").parse().unwrap();
        let engine = &chat.served.engine;
        if text.contains('猫') {
            let mut record = engine.get(&lin(), id).await.unwrap().unwrap();
            record.text = "我养了一只狗".into();
            let address = record.scope.clone();
            engine.store(&address, vec![record], memory_engine::PutMode::Upsert).await.unwrap();
        } else {
            engine.forget(&lin(), id).await.unwrap();
        }
        for _ in 0..2 {
            let next = chat.ask(&to("tools", &[question.clone(), call.clone(), tool.clone()])).await;
            assert_eq!((next.header("x-memory-rule"), next.header("x-memory-ids")), ("continued", ""));
            assert!(!chat.served.seen.last().to_string().contains(text), "{}", chat.served.seen.last());
        }
    }
}

#[tokio::test]
async fn m1_one_user_never_gets_anothers_memories() {
    let chat = Chat::new().await;
    chat.remember("我的银行卡密码是四个七").await;
    let body = to("echo", &[user("还记得我的银行卡密码吗")]);
    for headers in [&[("x-user-id", "mei")][..], &[], &[("x-user-id", "")]] {
        let answer = chat.get("v1/chat/completions", &body, headers).await;
        assert_eq!(answer.status.as_u16(), 200);
        assert!(!chat.served.seen.last().to_string().contains("四个七"));
    }
    let answer = chat.get("u/lin/s/x/v1/chat/completions", &body, &[]).await;
    assert_eq!(answer.header("x-memory-session"), "x");
    assert!(chat.served.seen.last().to_string().contains("四个七"));
}

#[tokio::test]
async fn a_client_may_have_nothing_of_it() {
    let chat = Chat::new().await;
    chat.remember("我对海鲜过敏").await;
    let body = to("echo", &[user("还记得海鲜过敏吗")]);
    let off = chat.get("v1/chat/completions", &body, &[("x-user-id", "lin"), ("x-memory", "off")]).await;
    assert_eq!((off.header("x-memory-rule"), off.status.as_u16()), ("", 200));
    assert_eq!(chat.served.seen.last(), body);
    let read = chat.get("u/lin/s/monday/v1/chat/completions", &body, &[("x-memory", "read")]).await;
    assert_ne!(read.header("x-memory-ids"), "");
    assert!(chat.turns("monday").await.is_empty());
}

/// An embedder that never answers, or panics.
#[derive(Debug)]
struct Broken {
    space: EmbeddingSpace,
    panics: bool,
}

#[async_trait::async_trait]
impl Embedder for Broken {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        8
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    fn score_floor(&self) -> f64 {
        0.0
    }

    fn unrelated(&self, _: &str, _: &str) -> f64 {
        0.0
    }

    async fn embed(&self, _: &[&str], _: Purpose) -> Result<Vec<Embedding>> {
        assert!(!self.panics, "the embedder breaks down");
        std::future::pending().await
    }
}

#[tokio::test]
async fn k12_an_embedder_that_hangs_or_breaks_down_costs_its_deadline_at_most() {
    for panics in [false, true] {
        let embedder = Arc::new(Broken { space: EmbeddingSpace::cosine("broken", 8), panics });
        let engine = MemoryEngine::builder().in_memory().embedder(embedder).background(false).build().await.unwrap();
        let options = GatewayOptions::default().with_deadlines(Duration::from_millis(600), Duration::from_secs(5));
        let chat = Chat::over(engine, options).await;
        chat.remember("我对海鲜过敏").await;
        let started = std::time::Instant::now();
        let answer = chat.ask(&to("echo", &[user("还记得海鲜过敏吗")])).await;
        assert!(started.elapsed() < Duration::from_secs(3));
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.header("x-memory-rule").len() + answer.header("x-memory-degraded").len() > 0
            ),
            (200, true)
        );
        assert_ne!(answer.header("x-memory-degraded"), "");
        assert_eq!(answer.json()["choices"][0]["message"]["content"], "好的: 还记得海鲜过敏吗");
    }
}
