//! The main course of mem0's routes on every database. Without the variable `DATABASE_URL` the trials on Postgres are
//! listed as ignored; where `CONFORMANCE_REQUIRE` names `postgres`, they then fail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "mem0/given.rs"]
mod given;

use std::env;

use given::{Api, events, texts};
use libtest_mimic::{Arguments, Failed, Trial};
use memory_engine::{Builder, EnrichmentOptions, MemoryEngine};
use memory_engine_postgres::{PostgresOptions, migrate_down};
use memory_engine_server::Mem0;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

fn main() {
    let arguments = Arguments::from_args();
    let url = env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
    let required =
        env::var("CONFORMANCE_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "postgres"));
    let ignored = url.is_none() && !required;
    let sqlite = Trial::test("sqlite", || {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("memory.db");
        Runtime::new()?.block_on(async { course(MemoryEngine::builder().sqlite(file)).await });
        Ok(())
    });
    let memory = Trial::test("memory", || {
        Runtime::new()?.block_on(async { course(MemoryEngine::builder().in_memory()).await });
        Ok(())
    });
    let postgres = Trial::test("postgres", move || on_postgres(url)).with_ignored_flag(ignored);
    libtest_mimic::run(&arguments, vec![memory, sqlite, postgres]).exit();
}

fn on_postgres(url: Option<String>) -> Result<(), Failed> {
    let url = url.ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?;
    let schema = format!("mem0_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(schema);
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        course(MemoryEngine::builder().postgres_with(&url, options.clone())).await;
        migrate_down(&url, &options, 0).await.unwrap();
    });
    Ok(())
}

/// From the first word to the last trace of it.
async fn course(builder: Builder) {
    let engine = builder.enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine);
    let lin = json!({"user_id": "lin", "agent_id": "kai", "run_id": "monday"});
    let mut owner = lin.clone();
    owner["metadata"] = json!({"chatfile": "a.jsonl", "n": 1});
    let told = api.tell(owner.clone(), "I live in Porto.").await;
    assert_eq!(events(&told), [("ADD", "The user lives in Porto.")]);
    let moved = api.tell(owner.clone(), "I live in Lisbon now.").await;
    assert_eq!(events(&moved), [("UPDATE", "The user lives in Lisbon.")]);
    assert_eq!(events(&api.tell(owner.clone(), "我对海鲜过敏。").await), [("ADD", "用户对海鲜过敏。")]);
    let note =
        api.noted(json!({"user_id": "mei", "agent_id": "kai"}), "Herbal tea", json!({"n": 2, "list": ["a"]})).await;

    assert_eq!(api.listed(json!({"user_id": "lin"})).await, ["The user lives in Lisbon.", "用户对海鲜过敏。"]);
    assert_eq!(api.listed(json!({"user_id": "lin", "metadata": {"n": 1}})).await.len(), 2);
    assert_eq!(api.listed(json!({"metadata": {"list": "a"}})).await, ["Herbal tea"]);
    assert_eq!(api.listed(json!({"OR": [{"user_id": "mei"}, {"keywords": {"icontains": "海鲜"}}]})).await.len(), 2);
    assert_eq!(api.listed(json!({"NOT": {"user_id": "lin"}})).await, ["Herbal tea"]);
    assert_eq!(api.listed(json!({"user_id": "lin", "updated_at": {"gte": "2020-01-01"}})).await.len(), 2);
    assert_eq!(api.found("海鲜", json!({"user_id": "lin", "chatfile": "a.jsonl"})).await, ["用户对海鲜过敏。"]);
    assert_eq!(api.found("tea", json!({"user_id": "lin"})).await, Vec::<String>::new());

    let path = format!("/memories/{note}");
    api.put(&path, json!({"text": "Peppermint tea", "metadata": {"n": 3}, "expiration_date": "2999-01-01"})).await;
    assert_eq!(api.found("peppermint", json!({"user_id": "mei", "n": 3})).await, ["Peppermint tea"]);
    api.delete(&path).await;
    let history = api.get(&format!("{path}/history")).await;
    assert_eq!((history.as_array().unwrap().len(), history.to_string().contains("tea")), (3, false));

    let former = format!("/memories/{}/history", told[0]["id"].as_str().unwrap());
    assert_eq!(api.get(&former).await[1]["new_memory"], "The user lives in Lisbon.");
    let names: Vec<Value> =
        api.get("/entities").await.as_array().unwrap().iter().map(|entity| entity["id"].clone()).collect();
    assert_eq!(names, ["lin", "kai", "monday"]);
    api.delete("/memories?agent_id=kai").await;
    assert_eq!(texts(&api.get("/memories?show_expired=true").await), Vec::<String>::new());
    assert_eq!(events(&api.tell(owner, "I live in Porto.").await), [("ADD", "The user lives in Porto.")]);
    api.post("/reset", json!({})).await;
    assert_eq!(api.get("/entities").await, json!([]));
}
