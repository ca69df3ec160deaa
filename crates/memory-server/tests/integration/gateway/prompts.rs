//! The memories injected into prompts.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    MemoryEngine, Result,
    context::{GatewayBlock, InjectionRules},
    embed::{Embedder, Embedding, EmbeddingSpace, Purpose},
};
use memory_engine_server::GatewayOptions;
use serde_json::json;

use crate::support::TIME_LIMIT;

use super::fixtures::{Chat, assistant, lin, patient_options, request, user};

const SYSTEM: &str = "You are Krueger.";

#[tokio::test]
async fn k17_the_injection_rule_depends_on_the_question() {
    let mut options = patient_options();
    options.rules = InjectionRules::of_document();
    options.block = GatewayBlock::of_document();
    let chat = Chat::with_options(options).await;
    chat.remember("我对海鲜过敏，尤其是虾").await;
    let system = json!({ "role": "system", "content": SYSTEM });

    let first = chat.ask(&request("echo", &[system.clone(), user("早上好")])).await;
    assert_eq!(first.header("x-memory-rule"), "cold_start");
    let sent = chat.served.received.last()["messages"].clone();
    assert_eq!(sent, json!([system, user(&format!("早上好\n\n{}", chat.block()))]));
    assert!(chat.block().starts_with("---\n[记忆参考"), "{}", chat.block());
    assert!(chat.block().contains("海鲜过敏") && chat.block().chars().count() <= 500);

    let history = [system.clone(), user("早上好"), assistant("好的: 早上好")];
    let with_question = [&history[..], &[user("还记得我对什么海鲜过敏吗")]].concat();
    let recalled = chat.ask(&request("echo", &with_question)).await;
    assert_eq!((recalled.header("x-memory-rule"), recalled.header("x-memory-scene")), ("recall", "daily"));
    assert!(chat.block().contains("[日常]") && chat.block().contains("海鲜过敏"), "{}", chat.block());
    assert_eq!(recalled.header("x-memory-ids").split(',').count(), 1);
    assert!(recalled.header("x-memory-tokens").parse::<usize>().unwrap() > 20);
    assert_eq!(recalled.header("x-memory-degraded"), "");

    let small_talk = chat.ask(&request("echo", &[&history[..], &[user("吃饭了吗")]].concat())).await;
    assert_eq!((small_talk.header("x-memory-rule"), chat.block().as_str()), ("nothing", ""));
    assert_eq!(small_talk.header("x-memory-ids"), "");
}

/// The rules read the beginning and the end of a pasted document, and the upstream gets all of it.
#[tokio::test]
async fn a_question_behind_a_pasted_document_is_recognised() {
    let chat = Chat::with_options(patient_options()).await;
    let pasted = "2026-11-27 INFO request 17 was served in 3 ms\n".repeat(2_000);
    let asked = format!("{pasted}Do you remember which instrument I play in the orchestra?");
    let answer = chat.ask(&request("echo", &[user(&asked)])).await;
    assert_eq!((answer.header("x-memory-rule"), answer.header("x-memory-degraded")), ("recall", ""));
    let sent = chat.served.received.last()["messages"].to_string();
    assert_eq!(sent.matches("request 17").count(), 2_000, "the document is passed on whole");
}

#[tokio::test]
async fn k17_scenes_are_detected_and_survive_a_restart() {
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
        assert_eq!(chat.ask(&request("echo", &history)).await.header("x-memory-scene"), scene, "{text}");
        history.push(assistant(&format!("好的: {text}")));
    }
    let scenes: Vec<String> = chat.turns("monday").await.into_iter().filter_map(|record| record.scene).collect();
    assert_eq!(scenes, ["daily", "daily", "plot", "plot", "plot", "plot", "meta", "meta", "plot", "plot"]);

    // A second gateway on the same engine, as after a restart.
    let restarted = Chat::with_engine(chat.served.engine.clone(), patient_options()).await;
    history.push(user("城堡里很黑"));
    assert_eq!(restarted.ask(&request("echo", &history)).await.header("x-memory-scene"), "plot");
    assert_eq!(restarted.turns("monday").await.last().unwrap().source.round, Some(6));
    history.extend([assistant("好的: 城堡里很黑"), user("不玩了回来聊天")]);
    assert_eq!(restarted.ask(&request("echo", &history)).await.header("x-memory-scene"), "daily");
}

#[tokio::test]
async fn memories_are_recalled_for_an_english_question() {
    let chat = Chat::with_options(patient_options()).await;
    chat.remember("I am allergic to shellfish, shrimp most of all.").await;
    let asked = [user("hi"), assistant("hello"), user("Do you remember that I am allergic to shellfish?")];
    let answer = chat.ask(&request("echo", &asked)).await;
    assert_eq!(answer.header("x-memory-rule"), "recall");
    assert!(chat.block().contains("allergic to shellfish"), "{}", chat.block());
    assert_eq!(chat.served.received.last()["messages"].as_array().unwrap()[..2], asked[..2]);
}

#[tokio::test]
async fn tool_rounds_keep_memories_and_history_is_not_injected() {
    let chat = Chat::new().await;
    chat.remember("我住在柏林").await;
    let question = user("之前说过我住在哪里？柏林？");
    let first = chat.ask(&request("tools", std::slice::from_ref(&question))).await;
    let block = chat.block();
    assert!(block.contains("我住在柏林"), "{block}");
    let asked = chat.served.received.last()["messages"].clone();
    let call = first.json()["choices"][0]["message"].clone();
    let tool = json!({ "role": "tool", "tool_call_id": "call_1", "content": "sunny" });
    let second = chat.ask(&request("tools", &[question.clone(), call.clone(), tool.clone()])).await;
    assert_eq!((second.header("x-memory-rule"), chat.block()), ("continued", block));
    let sent = chat.served.received.last()["messages"].clone();
    assert_eq!(sent[0], asked[0], "the prefix is that of the first request");
    assert_eq!([&sent[1], &sent[2]], [&call, &tool], "nothing is inserted between a call and its result");

    let history = [user("我住在柏林"), assistant("好的"), user("之前说过我住在哪里？柏林？")];
    chat.ask(&request("echo", &history)).await;
    assert!(!chat.block().contains("用户：我住在柏林"), "{}", chat.block());
}

#[tokio::test]
async fn deleted_or_edited_memories_leave_a_continued_exchange() {
    for (text, question) in [("我住在柏林", "之前说过我住在哪里？柏林？"), ("我养了一只猫", "还记得我养了一只什么猫吗")]
    {
        let chat = Chat::new().await;
        chat.remember(text).await;
        let question = user(question);
        let first = chat.ask(&request("tools", std::slice::from_ref(&question))).await;
        assert!(chat.block().contains(text), "{}", chat.block());
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
            let next = chat.ask(&request("tools", &[question.clone(), call.clone(), tool.clone()])).await;
            assert_eq!((next.header("x-memory-rule"), next.header("x-memory-ids")), ("continued", ""));
            assert!(!chat.served.received.last().to_string().contains(text), "{}", chat.served.received.last());
        }
    }
}

#[tokio::test]
async fn m1_users_never_get_memories_of_others() {
    let chat = Chat::new().await;
    chat.remember("我的银行卡密码是四个七").await;
    let body = request("echo", &[user("还记得我的银行卡密码吗")]);
    for headers in [&[("x-user-id", "mei")][..], &[]] {
        let answer = chat.get("v1/chat/completions", &body, headers).await;
        assert_eq!(answer.status.as_u16(), 200);
        assert!(!chat.served.received.last().to_string().contains("四个七"));
    }
    let mut named_in_body = body.clone();
    named_in_body["user"] = json!("  ");
    for (path, body, headers) in [
        ("v1/chat/completions", &body, &[("x-user-id", "")][..]),
        ("v1/chat/completions", &body, &[("x-user-id", "%20 ")]),
        ("u/ /v1/chat/completions", &body, &[]),
        ("v1/chat/completions", &named_in_body, &[]),
    ] {
        let answer = chat.get(path, body, headers).await;
        assert_eq!(answer.status.as_u16(), 400, "{path} {headers:?}");
    }
    let answer = chat.get("u/lin/s/x/v1/chat/completions", &body, &[]).await;
    assert_eq!(answer.header("x-memory-session"), "x");
    assert!(chat.served.received.last().to_string().contains("四个七"));
}

#[tokio::test]
async fn x_memory_switches_recall_and_storing_off() {
    let chat = Chat::new().await;
    chat.remember("我对海鲜过敏").await;
    let body = request("echo", &[user("还记得海鲜过敏吗")]);
    let off = chat.get("v1/chat/completions", &body, &[("x-user-id", "lin"), ("x-memory", "off")]).await;
    assert_eq!((off.header("x-memory-rule"), off.status.as_u16()), ("", 200));
    assert_eq!(chat.served.received.last(), body);
    let read = chat.get("u/lin/s/monday/v1/chat/completions", &body, &[("x-memory", "read")]).await;
    assert_ne!(read.header("x-memory-ids"), "");
    assert!(chat.turns("monday").await.is_empty());
}

/// An embedder that never answers, or panics.
#[derive(Debug)]
struct BrokenEmbedder {
    space: EmbeddingSpace,
    panics: bool,
}

#[async_trait::async_trait]
impl Embedder for BrokenEmbedder {
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
        assert!(!self.panics, "the embedder panics");
        std::future::pending().await
    }
}

#[tokio::test]
async fn k12_a_broken_embedder_delays_at_most_the_deadline() {
    for panics in [false, true] {
        let embedder = Arc::new(BrokenEmbedder { space: EmbeddingSpace::cosine("broken", 8), panics });
        let engine = MemoryEngine::builder().in_memory().embedder(embedder).background(false).build().await.unwrap();
        let options = GatewayOptions::default().with_deadlines(Duration::from_millis(600), TIME_LIMIT);
        let chat = Chat::with_engine(engine, options).await;
        chat.remember("我对海鲜过敏").await;
        // Without the deadline there would be no answer: the embedder never ends.
        let answer = chat.ask(&request("echo", &[user("还记得海鲜过敏吗")])).await;
        assert_eq!(answer.status.as_u16(), 200);
        assert_ne!(answer.header("x-memory-degraded"), "");
        assert_eq!(answer.json()["choices"][0]["message"]["content"], "好的: 还记得海鲜过敏吗");
    }
}
