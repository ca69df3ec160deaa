//! Facts extracted from messages, in English and in Chinese.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use memory_engine::{
    EnrichmentOptions, MemoryEngine, Record,
    enrichment::{FactExtractor, Facts, Locale, RuleFacts},
};
use memory_engine_server::Mem0;
use serde_json::{Value, json};

use super::given::{Api, events, texts};

fn lin() -> Value {
    json!({"user_id": "lin", "agent_id": "kai"})
}

#[tokio::test]
async fn m10_preferences_facts_and_states_are_found_and_told() {
    let api = Api::open().await;
    let told = api.tell(lin(), "I'm allergic to walnuts. I live in Porto.").await;
    let mut both = events(&told);
    both.sort_unstable();
    assert_eq!(both, [("ADD", "The user is allergic to walnuts."), ("ADD", "The user lives in Porto.")]);
    let told = api.tell(lin(), "我海鲜过敏，别推荐海鲜").await;
    assert_eq!(events(&told)[0], ("ADD", "用户对海鲜过敏。"));
    let rows = api.post("/v3/memories/", json!({"filters": {"user_id": "lin"}})).await;
    assert_eq!(rows["count"], 3 + told.len() - 1);
    let row =
        &rows["results"].as_array().unwrap().iter().find(|row| row["memory"] == "The user lives in Porto.").unwrap();
    assert_eq!(
        (&row["agent_id"], &row["metadata"], &row["attributed_to"]),
        (&json!("kai"), &Value::Null, &json!("user"))
    );
    assert!(["fact", "preference", "state"].contains(&row["categories"][0].as_str().unwrap()));
    assert_eq!(api.found("海鲜", json!({"user_id": "lin"})).await[0], "用户对海鲜过敏。");
    // What was said is kept as evidence, and is no memory by itself.
    let body = json!({"query": "别推荐海鲜", "filters": {"user_id": "lin"}, "include_turns": true});
    assert!(texts(&api.post("/search", body).await).contains(&"我海鲜过敏，别推荐海鲜".to_owned()));
    assert!(!api.found("别推荐海鲜", json!({"user_id": "lin"})).await.contains(&"我海鲜过敏，别推荐海鲜".to_owned()));
}

#[tokio::test]
async fn m10_what_contradicts_takes_the_place_of_what_was_known_and_the_history_tells() {
    let api = Api::open().await;
    for (first, second, old, new) in [
        ("I live in Porto.", "I live in Lisbon now.", "The user lives in Porto.", "The user lives in Lisbon."),
        ("我住在北京。", "我搬到上海了。", "用户住在北京。", "用户住在上海。"),
    ] {
        let owner = json!({"user_id": first.len().to_string()});
        let before = api.tell(owner.clone(), first).await;
        let after = api.tell(owner.clone(), second).await;
        assert_eq!(events(&before), [("ADD", old)]);
        assert_eq!(events(&after), [("UPDATE", new)]);
        assert_eq!((&after[0]["previous_memory"], &after[0]["previous_id"]), (&json!(old), &before[0]["id"]));
        assert_eq!(api.listed(owner.clone()).await, [new]);

        let history = |row: &Value| {
            let path = format!("/memories/{}/history", row["id"].as_str().unwrap());
            let api = &api;
            async move {
                let told = api.get(&path).await;
                let told = told
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|e| (e["event"].clone(), e["old_memory"].clone(), e["new_memory"].clone()));
                told.collect::<Vec<_>>()
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
async fn what_is_said_twice_changes_nothing_and_what_is_denied_is_gone() {
    let api = Api::open().await;
    let added = api.tell(lin(), "I like coffee.").await;
    assert_eq!(events(&added), [("ADD", "The user likes coffee.")]);
    let again = api.tell(lin(), "I like coffee.").await;
    assert_eq!((events(&again), &again[0]["id"]), (vec![("NONE", "The user likes coffee.")], &added[0]["id"]));
    let denied = api.tell(lin(), "I don't like coffee anymore.").await;
    assert!(events(&denied).contains(&("DELETE", "The user likes coffee.")), "{denied:?}");
    assert!(!api.listed(json!({"user_id": "lin"})).await.contains(&"The user likes coffee.".to_owned()));
    let history = api.get(&format!("/memories/{}/history", added[0]["id"].as_str().unwrap())).await;
    assert_eq!((history[1]["event"].as_str(), &history[1]["is_deleted"]), (Some("DELETE"), &json!(true)));
}

#[tokio::test]
async fn what_is_noted_with_a_message_is_noted_with_what_is_made_of_it() {
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
        assert_eq!(api.listed(filter.clone()).await, ["The user lives in Porto."], "{filter}");
    }
    assert_eq!(api.listed(json!({"user_id": "lin", "metadata": {"type": "fact"}})).await, Vec::<String>::new());
    let refused = api.ask("PUT", &format!("/v1/memories/{id}/"), Some(json!({"text": "x"}))).await;
    assert_eq!(refused.status, 400);
    // The notes about the fact itself are as they were: what is newer takes its place.
    let later = api.tell(json!({"user_id": "lin"}), "I live in Lisbon now.").await;
    assert_eq!(events(&later), [("UPDATE", "The user lives in Lisbon.")]);
}

#[tokio::test]
async fn a_deleted_fact_does_not_come_back_by_itself_and_does_when_it_is_said_again() {
    let api = Api::open().await;
    let added = api.tell(lin(), "I like coffee.").await;
    api.tell(lin(), "I like coffee.").await;
    api.delete(&format!("/memories/{}", added[0]["id"].as_str().unwrap())).await;
    assert_eq!(api.listed(json!({"user_id": "lin"})).await, Vec::<String>::new(), "it was said twice");
    api.tell(lin(), "I live in Porto.").await;
    assert_eq!(api.listed(json!({"user_id": "lin"})).await, ["The user lives in Porto."]);
    assert_eq!(events(&api.tell(lin(), "I like coffee.").await), [("ADD", "The user likes coffee.")]);
}

#[tokio::test]
async fn with_the_evidence_goes_what_is_known_from_it() {
    let api = Api::open().await;
    let added = api.tell(lin(), "I like coffee. I live in Porto.").await;
    let id = added[0]["id"].as_str().unwrap();
    api.delete(&format!("/v1/memories/{id}/?delete_linked=true")).await;
    assert_eq!(api.listed(json!({"user_id": "lin"})).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_edited_fact_keeps_its_place_among_the_facts() {
    let api = Api::open().await;
    let first = api.tell(lin(), "I live in Porto.").await;
    let added = api.tell(lin(), "I live in Lisbon now.").await;
    let path = format!("/memories/{}", added[0]["id"].as_str().unwrap());
    api.put(&path, json!({"text": "The user lives in Lisbon, in Alfama."})).await;
    api.tell(lin(), "I like coffee.").await;
    let now = api.listed(json!({"user_id": "lin"})).await;
    assert_eq!(
        now,
        ["The user likes coffee.", "The user lives in Lisbon, in Alfama."],
        "what it had replaced stays replaced"
    );
    let later = api.tell(lin(), "I live in Madrid now.").await;
    assert_eq!(events(&later), [("UPDATE", "The user lives in Madrid.")]);
    let former = api.get(&format!("/memories/{}", first[0]["id"].as_str().unwrap())).await;
    assert!(former["superseded_by"].is_string());
}

#[tokio::test]
async fn m1_facts_of_one_agent_do_not_end_those_of_another() {
    let api = Api::open().await;
    api.tell(json!({"user_id": "lin", "agent_id": "kai"}), "I live in Porto.").await;
    let told = api.tell(json!({"user_id": "lin", "agent_id": "zoe"}), "I live in Lisbon.").await;
    assert_eq!(events(&told), [("ADD", "The user lives in Lisbon.")]);
    assert_eq!(api.listed(json!({"user_id": "lin"})).await.len(), 2);
    assert_eq!(api.listed(json!({"agent_id": "kai"})).await, ["The user lives in Porto."]);
}

/// The rules, as slow as a model.
#[derive(Debug)]
struct SlowFacts(RuleFacts, Duration);

#[async_trait]
impl FactExtractor for SlowFacts {
    async fn extract(&self, turns: &[Record], locale: &Locale) -> memory_engine::Result<Facts> {
        tokio::time::sleep(self.1).await;
        self.0.extract(turns, locale).await
    }
}

#[tokio::test]
async fn what_takes_long_goes_on_in_the_background_and_its_event_tells() {
    let slow = SlowFacts(RuleFacts::built_in().unwrap(), Duration::from_millis(400));
    let digest = EnrichmentOptions::default().with_facts(Arc::new(slow));
    let engine = MemoryEngine::builder().in_memory().enrichment(digest).build().await.unwrap();
    let mem0 = Mem0::new(engine.clone())
        .with_platform_add_timeout(Duration::from_millis(50))
        .with_add_timeout(Duration::from_secs(5));
    let api = Api::over(mem0, engine);
    let body =
        json!({"messages": [{"role": "user", "content": "I live in Porto."}], "user_id": "lin", "metadata": {"a": 1}});
    let added = api.post("/v3/memories/add/", body).await;
    assert_eq!((&added["status"], &added["results"]), (&json!("PENDING"), &json!([])));
    let path = format!("/v1/event/{}/", added["event_id"].as_str().unwrap());
    assert_eq!(api.get(&path).await["status"], "PENDING");
    let event = loop {
        let event = api.get(&path).await;
        if event["status"] != "PENDING" {
            break event;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(
        (&event["status"], &event["results"][0]["data"]["memory"]),
        (&json!("SUCCEEDED"), &json!("The user lives in Porto."))
    );
    let row = api.get(&format!("/v1/memories/{}/", event["results"][0]["id"].as_str().unwrap())).await;
    assert_eq!(row["metadata"], json!({"a": 1}));
    // The open-source routes wait longer.
    assert_eq!(api.tell(json!({"user_id": "mei"}), "I like coffee.").await.len(), 1);
}

#[tokio::test]
async fn the_rules_answer_at_once_and_the_event_says_the_same() {
    let api = Api::open().await;
    let body = json!({"messages": "I live in Porto.", "user_id": "lin"});
    let added = api.post("/v3/memories/add/", body).await;
    assert_eq!((&added["status"], &added["results"][0]["event"]), (&json!("SUCCEEDED"), &json!("ADD")));
    let event = api.get(&format!("/v1/event/{}/", added["event_id"].as_str().unwrap())).await;
    assert_eq!((&event["status"], &event["results"]), (&json!("SUCCEEDED"), &added["results"]));
    assert_eq!(event["event_type"], "ADD");
    let as_it_is = json!({"messages": "just so", "user_id": "lin", "infer": false});
    let added = api.post("/v3/memories/add/", as_it_is).await;
    let event = api.get(&format!("/v1/event/{}/", added["event_id"].as_str().unwrap())).await;
    assert_eq!(event["results"][0]["memory"], "just so");
    let unknown = api.ask("GET", "/v1/event/0198c5a2-7b1e-7c3a-9f00-2f6d1e9b7a10/", None).await;
    assert_eq!((unknown.status, api.ask("GET", "/v1/event/x/", None).await.status), (404, 400));
}

#[tokio::test]
async fn an_engine_without_a_digest_finds_facts_by_rules() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine);
    assert_eq!(events(&api.tell(lin(), "我住在北京。").await), [("ADD", "用户住在北京。")]);
}

#[tokio::test]
async fn many_at_once_lose_nothing_and_say_nothing_twice() {
    let api = Api::open().await;
    let cities = ["Porto", "Lisbon", "Madrid", "Paris", "Rome", "Vienna", "Prague", "Oslo"];
    let told = cities.map(|city| {
        let api = api.clone();
        tokio::spawn(async move { api.tell(json!({"user_id": "lin"}), &format!("I live in {city} now.")).await })
    });
    for one in told {
        one.await.unwrap();
    }
    assert_eq!(api.listed(json!({"user_id": "lin"})).await.len(), 1, "one place at a time");
    let turns =
        json!({"query": "live", "filters": {"user_id": "lin"}, "threshold": 0, "top_k": 100, "include_turns": true});
    let said = texts(&api.post("/search", turns).await);
    assert_eq!(said.iter().filter(|text| text.starts_with("I live in")).count(), cities.len());
}
