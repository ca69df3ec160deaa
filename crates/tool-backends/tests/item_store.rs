//! LangGraph's store over an engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use memory_engine::{MemoryEngine, Scope};
use memory_engine_tool_backends::{ItemQuery, ItemStore, NamespaceQuery};
use serde_json::{Map, Value, json};

fn labels(namespace: &str) -> Vec<String> {
    namespace.split('/').map(str::to_owned).collect()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

async fn store() -> (MemoryEngine, ItemStore) {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let store = ItemStore::new(engine.clone(), Scope::user("lin").unwrap());
    for (namespace, key, value) in [
        ("people", "mei", json!({ "text": "Mei sells boats in Porto", "age": 31 })),
        ("people/family", "sister", json!({ "text": "妹妹在柏林学小提琴", "age": 24 })),
        ("places", "porto", json!({ "text": "Porto has a long beach", "visits": 2 })),
    ] {
        store.put(&labels(namespace), key, &object(value), None).await.unwrap();
    }
    (engine, store)
}

async fn keys(store: &ItemStore, query: Value) -> Vec<String> {
    let query: ItemQuery = serde_json::from_value(query).unwrap();
    store.search(&query).await.unwrap().into_iter().map(|item| item.key).collect()
}

#[tokio::test]
async fn items_are_written_read_replaced_and_deleted() {
    let (engine, store) = store().await;
    let people = labels("people");
    let item = store.get(&people, "mei").await.unwrap().unwrap();
    assert_eq!((item.namespace, item.value["age"].clone(), item.score), (people.clone(), json!(31), None));
    store.put(&people, "mei", &object(json!({ "text": "Mei moved to Faro" })), None).await.unwrap();
    let changed = store.get(&people, "mei").await.unwrap().unwrap();
    assert_eq!(changed.value, object(json!({ "text": "Mei moved to Faro" })));
    assert_eq!(changed.created_at, item.created_at);
    assert!(changed.updated_at >= item.updated_at);
    for _ in 0..2 {
        assert!(store.delete(&people, "mei").await.unwrap());
        assert!(!store.delete(&people, "mei").await.unwrap());
        assert_eq!(store.get(&people, "mei").await.unwrap(), None);
        store.put(&people, "mei", &object(json!({ "text": "back" })), None).await.unwrap();
    }
    // Another key, another namespace and another user are other items.
    assert_eq!(store.get(&people, "sister").await.unwrap(), None);
    let mei = ItemStore::new(engine, Scope::user("mei").unwrap());
    assert_eq!(mei.get(&people, "mei").await.unwrap(), None);
}

#[tokio::test]
async fn items_are_searched() {
    let (engine, store) = store().await;
    assert_eq!(keys(&store, json!({})).await, ["porto", "sister", "mei"]);
    assert_eq!(keys(&store, json!({ "namespace_prefix": ["people"] })).await, ["sister", "mei"]);
    assert_eq!(keys(&store, json!({ "namespace_prefix": ["people", "family"] })).await, ["sister"]);
    assert_eq!(keys(&store, json!({ "namespace_prefix": ["peo"] })).await, [""; 0]);
    assert_eq!(keys(&store, json!({ "filter": { "age": { "$gt": 30 } } })).await, ["mei"]);
    assert_eq!(keys(&store, json!({ "limit": 1, "offset": 1 })).await, ["sister"]);
    assert_eq!(keys(&store, json!({ "query": "小提琴", "limit": 1 })).await, ["sister"]);
    assert_eq!(keys(&store, json!({ "query": "boats", "namespace_prefix": ["places"] })).await, [""; 0]);
    let found = store.search(&ItemQuery { query: Some("boats".into()), ..ItemQuery::default() }).await.unwrap();
    assert!(found[0].key == "mei" && found[0].score.is_some());
    // Recall finds them, too.
    let recall = engine.recall(&Scope::user("lin").unwrap(), "beach").await.unwrap();
    assert!(recall.hits[0].record.text.contains("Porto has a long beach"));
}

#[tokio::test]
async fn only_indexed_fields_are_searched() {
    let (_, store) = store().await;
    let value = object(json!({ "title": "recipe", "secret": "saffron", "more": { "note": "cinnamon" } }));
    let names = labels("notes");
    store.put(&names, "a", &value, Some(&["title".into(), "more.note".into()])).await.unwrap();
    for (query, expected) in [("saffron", false), ("cinnamon", true), ("recipe", true)] {
        let found = keys(&store, json!({ "query": query, "namespace_prefix": ["notes"] })).await;
        assert_eq!(!found.is_empty(), expected, "{query}");
    }
    store.put(&names, "a", &value, Some(&[])).await.unwrap();
    assert!(keys(&store, json!({ "query": "recipe", "namespace_prefix": ["notes"] })).await.is_empty());
    assert_eq!(store.get(&names, "a").await.unwrap().unwrap().value, value);
}

#[tokio::test]
async fn namespaces_are_listed() {
    let (_, store) = store().await;
    let list = async |query: Value| {
        let query: NamespaceQuery = serde_json::from_value(query).unwrap();
        let namespaces = store.namespaces(&query).await.unwrap();
        namespaces.into_iter().map(|namespace| namespace.join("/")).collect::<Vec<_>>()
    };
    assert_eq!(list(json!({})).await, ["people", "people/family", "places"]);
    assert_eq!(list(json!({ "max_depth": 1 })).await, ["people", "places"]);
    assert_eq!(list(json!({ "prefix": ["people"] })).await, ["people", "people/family"]);
    assert_eq!(list(json!({ "suffix": ["family"] })).await, ["people/family"]);
    assert_eq!(list(json!({ "prefix": ["*", "family"] })).await, ["people/family"]);
    assert_eq!(list(json!({ "limit": 1, "offset": 1 })).await, ["people/family"]);
}

#[tokio::test]
async fn invalid_items_are_explained() {
    let (_, store) = store().await;
    let value = object(json!({ "a": 1 }));
    for (namespace, key, expected) in [
        (vec![], "k", "has 0 labels"),
        (vec!["a.b".to_owned()], "k", "full stop"),
        (vec![String::new()], "k", "is empty"),
        (labels("a"), "", "the key is empty"),
    ] {
        let error = store.put(&namespace, key, &value, None).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let large = object(json!({ "a": "x".repeat(200_000) }));
    assert!(store.put(&labels("a"), "k", &large, None).await.unwrap_err().to_string().contains("at most 200000"));
    let query = ItemQuery { limit: 1001, ..ItemQuery::default() };
    assert!(store.search(&query).await.unwrap_err().to_string().contains("at most 1000"));
}
