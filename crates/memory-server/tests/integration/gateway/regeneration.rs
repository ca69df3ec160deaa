//! Replies that are requested again, and histories that are edited: what they replace is not injected.

use memory_engine::{Filter, State};
use serde_json::json;

use super::fixtures::{Chat, assistant, request, user};

#[tokio::test]
async fn a_rejected_first_reply_is_not_injected() {
    let chat = Chat::new().await;
    let hello = [user("hello Nora, nice evening")];
    chat.ask(&request("echo", &hello)).await;
    for _ in 0..2 {
        chat.ask(&request("echo", &hello)).await;
        assert!(!chat.block().contains("好的"), "{}", chat.block());
    }
    // Turns that follow the rejected reply have been taken back with it.
    let history = [hello[0].clone(), assistant("好的: hello Nora, nice evening"), user("My sister lives in Turku")];
    chat.ask(&request("echo", &history)).await;
    for _ in 0..2 {
        chat.ask(&request("thinker", &hello)).await;
        let prompt = chat.block();
        assert!(!prompt.contains("Turku") && !prompt.contains("好的"), "{prompt}");
    }
    // In another session they are memories.
    let other = [("x-user-id", "lin"), ("x-session-id", "tuesday")];
    chat.get("v1/chat/completions", &request("echo", &[user("Where does my sister live?")]), &other).await;
    assert!(chat.block().contains("Turku"), "{}", chat.block());
}

#[tokio::test]
async fn turns_of_an_edited_history_are_not_injected() {
    let chat = Chat::new().await;
    let opening = [user("早"), assistant("好的: 早")];
    let mut history = [&opening[..], &[user("我妹妹住在柏林")]].concat();
    chat.ask(&request("echo", &opening[..1])).await;
    chat.ask(&request("echo", &history)).await;
    history.extend([assistant("好的: 我妹妹住在柏林"), user("柏林的房子很贵")]);
    chat.ask(&request("echo", &history)).await;
    let edited = [&opening[..], &[user("还记得我妹妹住在柏林哪里吗")]].concat();
    chat.ask(&request("echo", &edited)).await;
    assert_eq!(chat.served.received.last()["messages"], json!(edited), "nothing is injected");
    // They are retracted when the reply ends, so that the next prompt does not contain them either.
    assert_eq!(chat.texts().await.iter().filter(|text| text.contains("很贵")).count(), 0);
}

#[tokio::test]
async fn a_regenerated_turn_takes_back_the_turns_after_it() {
    let chat = Chat::new().await;
    let opening = [user("早"), assistant("好的: 早"), user("我养了一只猫")];
    chat.ask(&request("echo", &opening[..1])).await;
    chat.ask(&request("echo", &opening)).await;
    let later = [&opening[..], &[assistant("好的: 我养了一只猫"), user("它叫芝麻")]].concat();
    chat.ask(&request("echo", &later)).await;
    chat.ask(&request("thinker", &opening)).await;
    assert_eq!(chat.texts().await, ["早", "好的: 早", "我养了一只猫", "早点休息"]);
    let revoked = Filter::eq(memory_engine::Field::State, State::Revoked.as_str());
    let query = memory_engine::ScanQuery::oldest(10).with_filter(revoked);
    let records = chat.served.engine.scan(&super::fixtures::lin(), &query).await.unwrap().records;
    assert_eq!(records.iter().map(|record| record.text.as_str()).collect::<Vec<_>>(), ["它叫芝麻", "好的: 它叫芝麻"]);
}

#[tokio::test]
async fn the_frame_follows_the_language_of_the_conversation() {
    let chat = Chat::new().await;
    chat.remember("我对海鲜过敏，尤其是虾").await;
    let ask = async |history: &[serde_json::Value]| {
        chat.ask(&request("echo", history)).await;
        chat.block()
    };
    let english = [
        user("I had such a long day at work"),
        assistant("That sounds hard. Do you want to talk about it?"),
        user("我对海鲜过敏吗"),
    ];
    assert!(ask(&english).await.contains("Memory reference"));
    let system = json!({ "role": "system", "content": "你是助手" });
    assert!(ask(&[system, user("虾可以吃吗")]).await.contains("记忆参考"));
}
