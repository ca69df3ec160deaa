//! Facts extracted from messages, in English and in Chinese.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use memory_engine::{
    EnrichmentOptions, MemoryEngine, Record,
    enrichment::{FactExtractor, Facts, Locale, RuleFacts},
};
use memory_engine_server::Mem0;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{TIME_LIMIT, wait_until};

use super::fixtures::{Api, events, texts};

fn lin() -> Value {
    json!({"user_id": "lin", "agent_id": "kai"})
}

#[tokio::test]
async fn m10_extracts_preferences_facts_and_states() {
    let api = Api::open().await;
    let results = api.add_message(lin(), "I'm allergic to walnuts. I live in Porto.").await;
    let mut both = events(&results);
    both.sort_unstable();
    assert_eq!(both, [("ADD", "The user is allergic to walnuts."), ("ADD", "The user lives in Porto.")]);
    let results = api.add_message(lin(), "我海鲜过敏，别推荐海鲜").await;
    assert_eq!(events(&results)[0], ("ADD", "用户对海鲜过敏。"));
    let rows = api.post("/v3/memories/", json!({"filters": {"user_id": "lin"}})).await;
    assert_eq!(rows["count"], 3 + results.len() - 1);
    let row =
        &rows["results"].as_array().unwrap().iter().find(|row| row["memory"] == "The user lives in Porto.").unwrap();
    assert_eq!(
        (&row["agent_id"], &row["metadata"], &row["attributed_to"]),
        (&json!("kai"), &Value::Null, &json!("user"))
    );
    assert!(["fact", "preference", "state"].contains(&row["categories"][0].as_str().unwrap()));
    assert_eq!(api.search_texts("海鲜", json!({"user_id": "lin"})).await[0], "用户对海鲜过敏。");
    // The message is stored as evidence and is not a memory itself.
    let body = json!({"query": "别推荐海鲜", "filters": {"user_id": "lin"}, "include_turns": true});
    assert!(texts(&api.post("/search", body).await).contains(&"我海鲜过敏，别推荐海鲜".to_owned()));
    assert!(
        !api.search_texts("别推荐海鲜", json!({"user_id": "lin"})).await.contains(&"我海鲜过敏，别推荐海鲜".to_owned())
    );
}

#[tokio::test]
async fn m10_contradicting_fact_supersedes_the_former_one() {
    let api = Api::open().await;
    for (first, second, old, new) in [
        ("I live in Porto.", "I live in Lisbon now.", "The user lives in Porto.", "The user lives in Lisbon."),
        ("我住在北京。", "我搬到上海了。", "用户住在北京。", "用户住在上海。"),
    ] {
        let owner = json!({"user_id": first.len().to_string()});
        let before = api.add_message(owner.clone(), first).await;
        let after = api.add_message(owner.clone(), second).await;
        assert_eq!(events(&before), [("ADD", old)]);
        assert_eq!(events(&after), [("UPDATE", new)]);
        assert_eq!((&after[0]["previous_memory"], &after[0]["previous_id"]), (&json!(old), &before[0]["id"]));
        assert_eq!(api.list_texts(owner.clone()).await, [new]);

        let history = |row: &Value| {
            let path = format!("/memories/{}/history", row["id"].as_str().unwrap());
            let api = &api;
            async move {
                let results = api.get(&path).await;
                let results = results
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|e| (e["event"].clone(), e["old_memory"].clone(), e["new_memory"].clone()));
                results.collect::<Vec<_>>()
            }
        };
        let update = (json!("UPDATE"), json!(old), json!(new));
        assert_eq!(history(&before[0]).await, [(json!("ADD"), Value::Null, json!(old)), update.clone()]);
        assert_eq!(history(&after[0]).await, [update]);
        let former = api.get(&format!("/memories/{}", before[0]["id"].as_str().unwrap())).await;
        assert_eq!(former["superseded_by"], after[0]["id"]);
    }
}

#[tokio::test]
async fn repetition_adds_nothing_and_negation_deletes() {
    let api = Api::open().await;
    let added = api.add_message(lin(), "I like coffee.").await;
    assert_eq!(events(&added), [("ADD", "The user likes coffee.")]);
    let again = api.add_message(lin(), "I like coffee.").await;
    assert_eq!((events(&again), &again[0]["id"]), (vec![("NONE", "The user likes coffee.")], &added[0]["id"]));
    let denied = api.add_message(lin(), "I don't like coffee anymore.").await;
    assert!(events(&denied).contains(&("DELETE", "The user likes coffee.")), "{denied:?}");
    assert!(!api.list_texts(json!({"user_id": "lin"})).await.contains(&"The user likes coffee.".to_owned()));
    let history = api.get(&format!("/memories/{}/history", added[0]["id"].as_str().unwrap())).await;
    assert_eq!((history[1]["event"].as_str(), &history[1]["is_deleted"]), (Some("DELETE"), &json!(true)));
}

#[tokio::test]
async fn facts_inherit_the_metadata_of_their_message() {
    let api = Api::open().await;
    let body = json!({
        "messages": [{"role": "user", "content": "I live in Porto."}],
        "user_id": "lin", "app_id": "tavern", "immutable": true, "expiration_date": "2999-12-31",
        "metadata": {"chatfile": "a.jsonl", "type": "chat", "value": 7},
    });
    let added = api.post("/v3/memories/add/", body).await;
    let id = added["results"][0]["id"].as_str().unwrap();
    let row = api.get(&format!("/v1/memories/{id}/")).await;
    assert_eq!(row["metadata"], json!({"chatfile": "a.jsonl", "type": "chat", "value": 7}));
    assert_eq!(
        (&row["app_id"], &row["expiration_date"], &row["immutable"]),
        (&json!("tavern"), &json!("2999-12-31"), &json!(true))
    );
    for filter in [
        json!({"user_id": "lin", "metadata": {"chatfile": "a.jsonl"}}),
        json!({"user_id": "lin", "metadata": {"type": "chat"}}),
        json!({"app_id": "tavern"}),
        json!({"user_id": "lin", "expiration_date": {"gt": "2999-01-01"}}),
        json!({"user_id": "lin", "categories": {"in": row["categories"]}}),
    ] {
        assert_eq!(api.list_texts(filter.clone()).await, ["The user lives in Porto."], "{filter}");
    }
    assert_eq!(api.list_texts(json!({"user_id": "lin", "metadata": {"type": "fact"}})).await, Vec::<String>::new());
    let refused = api.request("PUT", &format!("/v1/memories/{id}/"), Some(json!({"text": "x"}))).await;
    assert_eq!(refused.status, 400);
    // The engine's own metadata is intact: a newer fact still supersedes this one.
    let later = api.add_message(json!({"user_id": "lin"}), "I live in Lisbon now.").await;
    assert_eq!(events(&later), [("UPDATE", "The user lives in Lisbon.")]);
}

#[tokio::test]
async fn deleted_fact_returns_only_when_it_is_stated_again() {
    let api = Api::open().await;
    let added = api.add_message(lin(), "I like coffee.").await;
    api.add_message(lin(), "I like coffee.").await;
    api.delete(&format!("/memories/{}", added[0]["id"].as_str().unwrap())).await;
    assert_eq!(
        api.list_texts(json!({"user_id": "lin"})).await,
        Vec::<String>::new(),
        "both statements of the fact must be deleted"
    );
    api.add_message(lin(), "I live in Porto.").await;
    assert_eq!(api.list_texts(json!({"user_id": "lin"})).await, ["The user lives in Porto."]);
    assert_eq!(events(&api.add_message(lin(), "I like coffee.").await), [("ADD", "The user likes coffee.")]);
}

#[tokio::test]
async fn deleting_evidence_deletes_its_facts() {
    let api = Api::open().await;
    let added = api.add_message(lin(), "I like coffee. I live in Porto.").await;
    let id = added[0]["id"].as_str().unwrap();
    api.delete(&format!("/v1/memories/{id}/?delete_linked=true")).await;
    assert_eq!(api.list_texts(json!({"user_id": "lin"})).await, Vec::<String>::new());
}

#[tokio::test]
async fn edited_fact_keeps_its_slot() {
    let api = Api::open().await;
    let first = api.add_message(lin(), "I live in Porto.").await;
    let added = api.add_message(lin(), "I live in Lisbon now.").await;
    let path = format!("/memories/{}", added[0]["id"].as_str().unwrap());
    api.put(&path, json!({"text": "The user lives in Lisbon, in Alfama."})).await;
    api.add_message(lin(), "I like coffee.").await;
    let now = api.list_texts(json!({"user_id": "lin"})).await;
    assert_eq!(
        now,
        ["The user likes coffee.", "The user lives in Lisbon, in Alfama."],
        "a superseded fact became active again"
    );
    let later = api.add_message(lin(), "I live in Madrid now.").await;
    assert_eq!(events(&later), [("UPDATE", "The user lives in Madrid.")]);
    let former = api.get(&format!("/memories/{}", first[0]["id"].as_str().unwrap())).await;
    assert!(former["superseded_by"].is_string());
}

#[tokio::test]
async fn m1_facts_of_agents_are_independent() {
    let api = Api::open().await;
    api.add_message(json!({"user_id": "lin", "agent_id": "kai"}), "I live in Porto.").await;
    let results = api.add_message(json!({"user_id": "lin", "agent_id": "zoe"}), "I live in Lisbon.").await;
    assert_eq!(events(&results), [("ADD", "The user lives in Lisbon.")]);
    assert_eq!(api.list_texts(json!({"user_id": "lin"})).await.len(), 2);
    assert_eq!(api.list_texts(json!({"agent_id": "kai"})).await, ["The user lives in Porto."]);
}

/// The built-in rules, as slow as a model: each call waits for a permit, and then longer than the platform's routes do.
#[derive(Debug)]
struct SlowFacts(RuleFacts, Arc<Semaphore>);

#[async_trait]
impl FactExtractor for SlowFacts {
    async fn extract(&self, turns: &[Record], locale: &Locale) -> memory_engine::Result<Facts> {
        self.1.acquire().await.unwrap().forget();
        tokio::time::sleep(2 * PLATFORM_TIMEOUT).await;
        self.0.extract(turns, locale).await
    }
}

const PLATFORM_TIMEOUT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn slow_extraction_continues_in_the_background() {
    let permits = Arc::new(Semaphore::new(0));
    let slow = SlowFacts(RuleFacts::built_in().unwrap(), permits.clone());
    let enrichment = EnrichmentOptions::default().with_facts(Arc::new(slow));
    let engine = MemoryEngine::builder().in_memory().enrichment(enrichment).build().await.unwrap();
    let mem0 = Mem0::new(engine.clone()).with_platform_add_timeout(PLATFORM_TIMEOUT).with_add_timeout(TIME_LIMIT);
    let api = Api::over(mem0, engine);
    let body =
        json!({"messages": [{"role": "user", "content": "I live in Porto."}], "user_id": "lin", "metadata": {"a": 1}});
    let added = api.post("/v3/memories/add/", body).await;
    assert_eq!((&added["status"], &added["results"]), (&json!("PENDING"), &json!([])));
    let path = format!("/v1/event/{}/", added["event_id"].as_str().unwrap());
    assert_eq!(api.get(&path).await["status"], "PENDING");
    permits.add_permits(9);
    let mut event = Value::Null;
    wait_until("the facts are extracted", async || {
        event = api.get(&path).await;
        event["status"] != "PENDING"
    })
    .await;
    assert_eq!(
        (&event["status"], &event["results"][0]["data"]["memory"]),
        (&json!("SUCCEEDED"), &json!("The user lives in Porto."))
    );
    let row = api.get(&format!("/v1/memories/{}/", event["results"][0]["id"].as_str().unwrap())).await;
    assert_eq!(row["metadata"], json!({"a": 1}));
    // The open-source routes wait longer.
    assert_eq!(api.add_message(json!({"user_id": "mei"}), "I like coffee.").await.len(), 1);
}

#[tokio::test]
async fn event_reports_the_same_results_as_the_response() {
    let api = Api::open().await;
    let body = json!({"messages": "I live in Porto.", "user_id": "lin"});
    let added = api.post("/v3/memories/add/", body).await;
    assert_eq!((&added["status"], &added["results"][0]["event"]), (&json!("SUCCEEDED"), &json!("ADD")));
    let event = api.get(&format!("/v1/event/{}/", added["event_id"].as_str().unwrap())).await;
    assert_eq!((&event["status"], &event["results"]), (&json!("SUCCEEDED"), &added["results"]));
    assert_eq!(event["event_type"], "ADD");
    let verbatim = json!({"messages": "just so", "user_id": "lin", "infer": false});
    let added = api.post("/v3/memories/add/", verbatim).await;
    let event = api.get(&format!("/v1/event/{}/", added["event_id"].as_str().unwrap())).await;
    assert_eq!(event["results"][0]["memory"], "just so");
    let unknown = api.request("GET", "/v1/event/0198c5a2-7b1e-7c3a-9f00-2f6d1e9b7a10/", None).await;
    assert_eq!((unknown.status, api.request("GET", "/v1/event/x/", None).await.status), (404, 400));
}

#[tokio::test]
async fn default_engine_extracts_facts_by_rules() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine);
    assert_eq!(events(&api.add_message(lin(), "我住在北京。").await), [("ADD", "用户住在北京。")]);
}

#[tokio::test]
async fn concurrent_adds_are_neither_lost_nor_duplicated() {
    let api = Api::open().await;
    let cities = ["Porto", "Lisbon", "Madrid", "Paris", "Rome", "Vienna", "Prague", "Oslo"];
    let tasks = cities.map(|city| {
        let api = api.clone();
        tokio::spawn(async move { api.add_message(json!({"user_id": "lin"}), &format!("I live in {city} now.")).await })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(api.list_texts(json!({"user_id": "lin"})).await.len(), 1, "one place at a time");
    let turns =
        json!({"query": "live", "filters": {"user_id": "lin"}, "threshold": 0, "top_k": 100, "include_turns": true});
    let messages = texts(&api.post("/search", turns).await);
    assert_eq!(messages.iter().filter(|text| text.starts_with("I live in")).count(), cities.len());
}
