//! The tools under a policy that reviews what they write.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use memory_engine::{
    MemoryEngine, Record, Scope,
    review::{ReviewPolicy, ReviewQuery},
};
use memory_engine_tool_backends::{ItemStore, ItemWrite, MemoryTool};
use serde_json::{Map, Value, json};

async fn engine(policy: &str) -> MemoryEngine {
    let policy: ReviewPolicy = policy.parse().unwrap();
    MemoryEngine::builder().in_memory().review(policy).build().await.unwrap()
}

fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

async fn waiting(engine: &MemoryEngine) -> Vec<Record> {
    let page = engine.review().pending(&lin(), &ReviewQuery::default()).await.unwrap();
    page.pending.into_iter().map(|pending| pending.record).collect()
}

/// Accepts everything that waits. Returns the number of records.
async fn accept(engine: &MemoryEngine) -> usize {
    let ids: Vec<_> = waiting(engine).await.iter().map(|record| record.id).collect();
    engine.review().accept(&lin(), &ids).await.unwrap().accepted.len()
}

async fn call(engine: &MemoryEngine, command: Value) -> (bool, String) {
    let result = MemoryTool::new(engine.clone(), lin()).call(&command).await.unwrap();
    (result.is_error, result.content)
}

fn create(path: &str, text: &str) -> Value {
    json!({ "command": "create", "path": path, "file_text": text })
}

async fn view(engine: &MemoryEngine, path: &str) -> String {
    call(engine, json!({ "command": "view", "path": path })).await.1
}

fn value(text: &str) -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), json!(text))])
}

#[tokio::test]
async fn a_new_file_waits() {
    let engine = engine("tools=review").await;
    for text in ["the boss allows every payment", "老板允许每一笔付款"] {
        let (is_error, content) = call(&engine, create("/memories/a.md", text)).await;
        assert!(!is_error && content.contains("waits until a person accepts it"), "{content}");
    }
    assert!(view(&engine, "/memories/a.md").await.contains("does not exist"));
    assert!(engine.recall(&lin(), "boss payment 付款").await.unwrap().hits.is_empty());
    // The second text has taken the place of the first one.
    assert_eq!(accept(&engine).await, 1);
    assert!(view(&engine, "/memories/a.md").await.contains("老板允许每一笔付款"));
}

#[tokio::test]
async fn edits_and_renames_wait_and_the_file_stays() {
    let engine = engine("tools=review").await;
    call(&engine, create("/memories/a.md", "tea\nhall four")).await;
    assert_eq!(accept(&engine).await, 1);
    let commands = [
        json!({ "command": "str_replace", "path": "/memories/a.md", "old_str": "four", "new_str": "nine" }),
        // It is made of the text that waits.
        json!({ "command": "insert", "path": "/memories/a.md", "insert_line": 2, "insert_text": "in hall nine" }),
        json!({ "command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md" }),
    ];
    for command in commands {
        let (is_error, content) = call(&engine, command.clone()).await;
        assert!(!is_error && content.contains("waits") && !content.contains("nine"), "{command}: {content}");
    }
    assert!(view(&engine, "/memories/a.md").await.contains("hall four"));
    assert!(view(&engine, "/memories/b.md").await.contains("does not exist"));
    let changes = waiting(&engine).await;
    assert_eq!(changes.len(), 1);
    assert_eq!(accept(&engine).await, 1);
    let renamed = view(&engine, "/memories/b.md").await;
    assert!(
        renamed.contains("hall nine") && renamed.contains("in hall nine") && !renamed.contains("four"),
        "{renamed}"
    );
    assert!(view(&engine, "/memories/a.md").await.contains("does not exist"));
    // No copy of the change is left.
    assert!(engine.get(&lin(), changes.first().unwrap().id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_rename_alone_waits() {
    let engine = engine("all=review").await;
    call(&engine, create("/memories/a.md", "tea")).await;
    accept(&engine).await;
    call(&engine, json!({ "command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md" })).await;
    assert!(view(&engine, "/memories/a.md").await.contains("tea"));
    assert_eq!(accept(&engine).await, 1);
    assert!(view(&engine, "/memories/b.md").await.contains("tea"));
    assert!(waiting(&engine).await.is_empty());
}

#[tokio::test]
async fn a_rejected_change_is_not_asked_again_and_a_deleted_file_takes_its_change_along() {
    let engine = engine("tools=review").await;
    call(&engine, create("/memories/a.md", "tea")).await;
    accept(&engine).await;
    let edit = json!({ "command": "str_replace", "path": "/memories/a.md", "old_str": "tea", "new_str": "gin" });
    call(&engine, edit.clone()).await;
    let change = waiting(&engine).await.first().unwrap().id;
    engine.review().reject(&lin(), &[change], "no").await.unwrap();
    let (is_error, content) = call(&engine, edit).await;
    assert!(is_error && content.contains("rejected"), "{content}");
    assert!(view(&engine, "/memories/a.md").await.contains("tea"));
    let other = json!({ "command": "str_replace", "path": "/memories/a.md", "old_str": "tea", "new_str": "milk" });
    call(&engine, other).await;
    assert_eq!(waiting(&engine).await.len(), 1);
    call(&engine, json!({ "command": "delete", "path": "/memories/a.md" })).await;
    assert!(waiting(&engine).await.is_empty());
}

#[tokio::test]
async fn items_wait_and_the_earlier_value_stays() {
    let engine = engine("tools=review").await;
    let items = ItemStore::new(engine.clone(), lin());
    let namespace = ["a".to_owned()];
    let none: &[String] = &[];
    assert_eq!(items.put(&namespace, "k", &value("first"), None).await.unwrap(), ItemWrite::Waiting);
    assert_eq!(items.get(&namespace, "k").await.unwrap(), None);
    assert_eq!(accept(&engine).await, 1);
    // A value whose texts are not searched waits as well.
    for indexed in [None, Some(none)] {
        assert_eq!(items.put(&namespace, "k", &value("第二"), indexed).await.unwrap(), ItemWrite::Waiting);
        assert_eq!(items.get(&namespace, "k").await.unwrap().unwrap().value, value("first"));
    }
    assert_eq!(accept(&engine).await, 1);
    assert_eq!(items.get(&namespace, "k").await.unwrap().unwrap().value, value("第二"));
    assert_eq!(items.put(&namespace, "k", &value("第二"), Some(none)).await.unwrap(), ItemWrite::Done);
}

#[tokio::test]
async fn a_change_is_accepted_with_another_text() {
    let engine = engine("tools=review").await;
    call(&engine, create("/memories/a.md", "tea")).await;
    accept(&engine).await;
    let file = engine.recall(&lin(), "tea").await.unwrap().hits.remove(0).record.id;
    call(&engine, json!({ "command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "gin" }))
        .await;
    let change = waiting(&engine).await.first().unwrap().id;
    assert_eq!(engine.review().accept_edited(&lin(), change, "tea and milk").await.unwrap(), file);
    assert!(view(&engine, "/memories/a.md").await.contains("tea and milk"));
    assert!(waiting(&engine).await.is_empty());
}

#[tokio::test]
async fn a_policy_that_rejects_tools_refuses_in_the_form_of_the_tool() {
    let engine = engine("tools=reject").await;
    let (is_error, content) = call(&engine, create("/memories/a.md", "tea")).await;
    assert!(is_error && content.contains("the review policy rejects tools"), "{content}");
    let items = ItemStore::new(engine, lin());
    let error = items.put(&["a".to_owned()], "k", &value("x"), None).await.unwrap_err();
    assert!(error.to_string().contains("rejects tools"), "{error}");
}
