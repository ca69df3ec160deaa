//! The scenes of a conversation, and the facts that a play leaves behind.

use memory_engine::{EnrichmentOptions, Field, Filter, Kind, MemoryEngine, ScanQuery};

use super::fixtures::{Chat, assistant, lin, patient_options, request, user};

/// Sends messages of one conversation, and checks the scene of each.
async fn play(chat: &Chat, messages: &[(&str, &str)]) {
    let mut history = Vec::new();
    for (text, scene) in messages {
        history.push(user(text));
        let answer = chat.ask(&request("echo", &history)).await;
        assert_eq!(answer.header("x-memory-scene"), *scene, "{text}");
        history.push(assistant(&format!("好的: {text}")));
    }
}

/// Returns the texts of the facts about lin, sorted.
async fn facts(engine: &MemoryEngine) -> Vec<String> {
    engine.drain(&lin(), |_| ()).await.unwrap();
    let query = ScanQuery::oldest(100).with_filter(Filter::eq(Field::Kind, Kind::FACT.as_str()));
    let facts = engine.scan(&lin(), &query).await.unwrap().records;
    let mut texts: Vec<String> = facts.into_iter().map(|fact| fact.text).collect();
    texts.sort();
    texts
}

async fn chat_with_facts() -> Chat {
    let rules = EnrichmentOptions::rules().unwrap();
    let engine = MemoryEngine::builder().in_memory().enrichment(rules).build().await.unwrap();
    Chat::with_engine(engine, patient_options()).await
}

#[tokio::test]
async fn k1_nothing_said_in_a_play_becomes_a_fact() {
    let chat = chat_with_facts().await;
    play(
        &chat,
        &[
            ("来玩剧本吧！", "plot"),
            ("（她放下绷带）你终于从前线回来了", "plot"),
            ("我叫艾琳。我对银器过敏。", "plot"),
            ("“我不玩了！”我住在城堡里。", "plot"),
            ("好了，我们不演了", "daily"),
            ("我对花生过敏。", "daily"),
        ],
    )
    .await;
    assert_eq!(chat.await_turns(12).await.len(), 12);
    assert_eq!(facts(&chat.served.engine).await, ["用户对花生过敏。"]);
}

#[tokio::test]
async fn k1_nothing_said_in_an_english_play_becomes_a_fact() {
    let chat = chat_with_facts().await;
    play(
        &chat,
        &[
            ("Let's role play: you are a nurse and I'm a soldier", "plot"),
            ("I'm back from the front. My name is Captain Reed.", "plot"),
            ("\"Stop!\" I am allergic to silver. I live in Mordor.", "plot"),
            ("(ooc: let's end it here)", "daily"),
            ("I am allergic to peanuts.", "daily"),
        ],
    )
    .await;
    assert_eq!(chat.await_turns(10).await.len(), 10);
    let facts = facts(&chat.served.engine).await;
    assert!(facts.len() == 1 && facts[0].contains("peanuts"), "{facts:?}");
}

#[tokio::test]
async fn a_play_survives_a_restart_after_a_labelled_message() {
    let chat = chat_with_facts().await;
    play(&chat, &[("来玩剧本吧！", "plot"), ("测试一下这个MCP工具", "meta")]).await;
    assert_eq!(chat.await_turns(4).await.len(), 4);
    let restarted = Chat::with_engine(chat.served.engine.clone(), patient_options()).await;
    play(&restarted, &[("城堡里很黑", "plot")]).await;
}
