#![allow(clippy::unwrap_used, reason = "a test may panic")]

use memory_engine::Forget;

use super::*;

fn turn(key: &str) -> TurnKey {
    TurnKey { key: key.into(), follows: None, parent: None, history: Vec::new(), edited: None }
}

fn exchange(key: &str, scene: &str) -> OpenExchange {
    OpenExchange::new(&turn(key), &Prompt { scene: Some(scene.into()), ..Prompt::default() })
}

async fn engine() -> (MemoryEngine, Scope) {
    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    (engine, Scope::user("lin").unwrap().with_session("s").unwrap())
}

#[tokio::test]
async fn each_open_exchange_of_a_session_has_its_prompt() {
    let (engine, address) = engine().await;
    let scene = async |key: &str| {
        let state = read_state(&engine, &address).await.unwrap();
        state.open_exchange(key).and_then(|open| open.scene.clone())
    };
    assert_eq!(scene("a").await, None);
    exchange("a", "first").store(&engine, &address, None).await.unwrap();
    exchange("t", "of a task").store(&engine, &address, None).await.unwrap();
    assert_eq!((scene("a").await, scene("t").await), (Some("first".into()), Some("of a task".into())));
    // The exchange before it has ended.
    exchange("b", "second").store(&engine, &address, Some(&"a".to_owned())).await.unwrap();
    assert_eq!((scene("a").await, scene("b").await), (None, Some("second".into())));
    exchange("b", "again").store(&engine, &address, None).await.unwrap();
    assert_eq!((scene("t").await, scene("b").await), (Some("of a task".into()), Some("again".into())));
    for number in 0..MAX_OPEN_EXCHANGES {
        exchange(&number.to_string(), "of another task").store(&engine, &address, None).await.unwrap();
    }
    assert_eq!(scene("b").await, None);
    assert_eq!(read_state(&engine, &address).await.unwrap().open.len(), MAX_OPEN_EXCHANGES);
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_kept() {
    let (engine, address) = engine().await;
    let keys = ["a", "b", "c", "d"];
    let exchanges = keys.map(|key| exchange(key, key));
    let stored = futures::future::join_all(exchanges.iter().map(|open| open.store(&engine, &address, None))).await;
    assert!(stored.iter().all(Result::is_ok), "{stored:?}");
    let state = read_state(&engine, &address).await.unwrap();
    assert!(keys.iter().all(|key| state.open_exchange(key).is_some()), "{state:?}");
    assert_eq!(engine.stats(&address).await.unwrap().records, 1);
}

#[tokio::test]
async fn a_forgotten_session_begins_with_a_new_state() {
    let (engine, address) = engine().await;
    for number in 0..3 {
        let key = number.to_string();
        exchange(&key, "daily").store(&engine, &address, None).await.unwrap();
        update_state(&engine, &address, |state| state.request_after = Some("r".into())).await.unwrap();
        let state = read_state(&engine, &address).await.unwrap();
        assert_eq!((state.open.len(), state.request_after.as_deref()), (1, Some("r")));
        assert!(state.open_exchange(&key).is_some());
        engine.forget(&address, Forget::Everything).await.unwrap();
        assert_eq!(read_state(&engine, &address).await.unwrap(), SessionState::default());
    }
}

#[tokio::test]
async fn the_state_has_neither_topics_nor_samples() {
    let (engine, address) = engine().await;
    let samples = vec!["My heron is called Pim.".to_owned()];
    let notice = RequestNotice::AsksToForget { topic: "heron".into(), count: 14, samples };
    let prompt = Prompt { notice: Some(notice), ..Prompt::default() };
    OpenExchange::new(&turn("a"), &prompt).store(&engine, &address, None).await.unwrap();
    let id = memory_engine::RecordId::named(&address, "gateway/session/0");
    let entry = engine.get(&address, id).await.unwrap().unwrap();
    let stored = serde_json::to_string(&entry).unwrap();
    assert!(!stored.contains("heron") && stored.contains("14"), "{stored}");
    let state = read_state(&engine, &address).await.unwrap();
    let notice = state.open_exchange("a").unwrap().notice.clone().unwrap().with_topic("heron");
    let expected = RequestNotice::AsksToForget { topic: "heron".into(), count: 14, samples: Vec::new() };
    assert_eq!(notice, expected);
}
