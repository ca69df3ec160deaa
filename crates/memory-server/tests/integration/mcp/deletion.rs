//! Deleted facts, and the messages that state them.

use memory_engine::{EnrichmentOptions, MemoryEngine, Scope};
use serde_json::{Value, json};

use super::{call, mcp_router, memories, open};

/// Returns the listed memories with their ids.
async fn listed(router: &axum::Router, uri: &str) -> Vec<(Value, String)> {
    let list = call(router, uri, "list_memories", json!({})).await;
    let memories = list["structuredContent"]["results"].as_array().unwrap().clone();
    memories.into_iter().map(|memory| (memory["id"].clone(), memory["memory"].as_str().unwrap().to_owned())).collect()
}

#[tokio::test]
async fn a_deleted_fact_that_was_said_twice_is_gone() {
    for (user, said, value) in [
        ("lin", ["I live in Faro.", "As you know, I live in Faro."], "Faro"),
        ("mei", ["我住在苏州。", "对了，我住在苏州。"], "苏州"),
    ] {
        let builder = MemoryEngine::builder().in_memory().background(false);
        let engine = builder.enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
        let router = mcp_router(&engine, open());
        let uri = format!("/mcp?user_id={user}");
        for text in said {
            call(&router, &uri, "add_memory", json!({ "text": text, "role": "user" })).await;
            let scope = Scope::user(user).unwrap();
            engine.drain(&scope, |_| ()).await.unwrap();
        }
        let (id, _) = listed(&router, &uri).await.into_iter().find(|(_, text)| !said.contains(&text.as_str())).unwrap();
        let deleted = call(&router, &uri, "delete_memory", json!({ "id": id })).await;
        assert_eq!(deleted["structuredContent"]["retracted"], 2, "both messages: {deleted}");
        let left = listed(&router, &uri).await;
        assert!(left.iter().all(|(_, text)| !text.contains(value)), "{left:?}");
        let answer = call(&router, &uri, "search_memory", json!({ "query": value })).await;
        let found = memories(&answer);
        assert!(found.is_empty(), "{found:?}");
    }
}
