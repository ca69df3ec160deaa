//! The main routes of mem0 on every database. Without the variable `DATABASE_URL` the trial on Postgres is ignored; if
//! `CONFORMANCE_REQUIRE` names `postgres`, it then fails.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

#[path = "integration/mem0/fixtures.rs"]
mod fixtures;

use std::env;

use fixtures::{Api, events, texts};
use libtest_mimic::{Arguments, Failed, Trial};
use memory_engine::{
    Builder, EnrichmentOptions, MemoryEngine, ScanQuery, Scope, Timestamp, Turn,
    jiff::tz::{TimeZone, offset},
    review::ReviewQuery,
};
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
        Runtime::new()?.block_on(async {
            exercise_routes(MemoryEngine::builder().sqlite(&file)).await;
            exercise_review(MemoryEngine::builder().sqlite(&file)).await;
            exercise_numbers_and_deletions(MemoryEngine::builder().sqlite(&file)).await;
        });
        Ok(())
    });
    let memory = Trial::test("memory", || {
        Runtime::new()?.block_on(async {
            exercise_routes(MemoryEngine::builder().in_memory()).await;
            exercise_review(MemoryEngine::builder().in_memory()).await;
            exercise_numbers_and_deletions(MemoryEngine::builder().in_memory()).await;
        });
        Ok(())
    });
    let postgres = Trial::test("postgres", move || on_postgres(url)).with_ignored_flag(ignored);
    libtest_mimic::run(&arguments, vec![memory, sqlite, postgres]).exit();
}

fn on_postgres(url: Option<String>) -> Result<(), Failed> {
    let url = url.ok_or("CONFORMANCE_REQUIRE names postgres, but DATABASE_URL is not set")?;
    let schema = format!("mem0_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(schema);
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        exercise_routes(MemoryEngine::builder().postgres_with(&url, options.clone())).await;
        exercise_review(MemoryEngine::builder().postgres_with(&url, options.clone())).await;
        exercise_numbers_and_deletions(MemoryEngine::builder().postgres_with(&url, options.clone())).await;
        migrate_down(&url, &options, 0).await.unwrap();
    });
    Ok(())
}

/// Adds, searches, edits, lists and deletes memories.
async fn exercise_routes(builder: Builder) {
    let engine = builder.enrichment(EnrichmentOptions::rules().unwrap()).build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine);
    let lin = json!({"user_id": "lin", "agent_id": "kai", "run_id": "monday"});
    let mut owner = lin.clone();
    owner["metadata"] = json!({"chatfile": "a.jsonl", "n": 1});
    let added = api.add_message(owner.clone(), "I live in Porto.").await;
    assert_eq!(events(&added), [("ADD", "The user lives in Porto.")]);
    let moved = api.add_message(owner.clone(), "I live in Lisbon now.").await;
    assert_eq!(events(&moved), [("UPDATE", "The user lives in Lisbon.")]);
    assert_eq!(events(&api.add_message(owner.clone(), "我对海鲜过敏。").await), [("ADD", "用户对海鲜过敏。")]);
    let note = api
        .add_note_with(json!({"user_id": "mei", "agent_id": "kai"}), "Herbal tea", json!({"n": 2, "list": ["a"]}))
        .await;

    assert_eq!(api.list_texts(json!({"user_id": "lin"})).await, ["The user lives in Lisbon.", "用户对海鲜过敏。"]);
    assert_eq!(api.list_texts(json!({"user_id": "lin", "metadata": {"n": 1}})).await.len(), 2);
    assert_eq!(api.list_texts(json!({"metadata": {"list": "a"}})).await, ["Herbal tea"]);
    assert_eq!(api.list_texts(json!({"OR": [{"user_id": "mei"}, {"keywords": {"icontains": "海鲜"}}]})).await.len(), 2);
    assert_eq!(api.list_texts(json!({"NOT": {"user_id": "lin"}})).await, ["Herbal tea"]);
    assert_eq!(api.list_texts(json!({"user_id": "lin", "updated_at": {"gte": "2020-01-01"}})).await.len(), 2);
    assert_eq!(api.search_texts("海鲜", json!({"user_id": "lin", "chatfile": "a.jsonl"})).await, ["用户对海鲜过敏。"]);
    assert_eq!(api.search_texts("tea", json!({"user_id": "lin"})).await, Vec::<String>::new());

    let path = format!("/memories/{note}");
    api.put(&path, json!({"text": "Peppermint tea", "metadata": {"n": 3}, "expiration_date": "2999-01-01"})).await;
    assert_eq!(api.search_texts("peppermint", json!({"user_id": "mei", "n": 3})).await, ["Peppermint tea"]);
    api.delete(&path).await;
    let history = api.get(&format!("{path}/history")).await;
    assert_eq!((history.as_array().unwrap().len(), history.to_string().contains("tea")), (3, false));

    let former = format!("/memories/{}/history", added[0]["id"].as_str().unwrap());
    assert_eq!(api.get(&former).await[1]["new_memory"], "The user lives in Lisbon.");
    let names: Vec<Value> =
        api.get("/entities").await.as_array().unwrap().iter().map(|entity| entity["id"].clone()).collect();
    assert_eq!(names, ["lin", "kai", "monday"]);
    api.delete("/memories?agent_id=kai").await;
    assert_eq!(texts(&api.get("/memories?show_expired=true").await), Vec::<String>::new());
    assert_eq!(events(&api.add_message(owner, "I live in Porto.").await), [("ADD", "The user lives in Porto.")]);
    api.post("/reset", json!({})).await;
    assert_eq!(api.get("/entities").await, json!([]));
}

/// Numbers beyond 2^53 are compared exactly, and a deleted fact is not found by the turn that states it.
async fn exercise_numbers_and_deletions(builder: Builder) {
    let builder = builder.enrichment(EnrichmentOptions::rules().unwrap()).zone(TimeZone::fixed(offset(-8)));
    let engine = builder.build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine.clone());
    let lin = json!({"user_id": "lin"});
    let ids = [653_247_040_368_672_768_i64, 653_247_040_368_672_769, 653_247_040_368_672_770];
    for id in ids {
        api.add_note_with(lin.clone(), &format!("message {id}"), json!({"msg_id": id, "value": id})).await;
    }
    let found = |filter: Value| api.search_texts("message", json!({"user_id": "lin", "msg_id": filter}));
    assert_eq!(found(json!(ids[0])).await, [format!("message {}", ids[0])]);
    assert_eq!(found(json!(ids[1])).await, [format!("message {}", ids[1])]);
    assert_eq!(found(json!({"gt": ids[1]})).await, [format!("message {}", ids[2])]);
    assert_eq!(found(json!({"in": [ids[0], ids[2]]})).await.len(), 2);
    assert_eq!(found(json!({"ne": ids[1]})).await.len(), 2);
    assert_eq!(api.search_texts("message", json!({"user_id": "lin", "value": ids[1]})).await.len(), 1);

    for (text, query, options) in [
        ("I live in Faro.", "Where does the user live?", ""),
        ("我住在里斯本。", "用户住在哪里", ""),
        ("I live in Braga.", "Where does the user live?", "?delete_linked=true"),
    ] {
        let user = json!({"user_id": text});
        let added = api.add_message(user.clone(), text).await;
        api.delete(&format!("/memories/{}{options}", added[0]["id"].as_str().unwrap())).await;
        let body = json!({"query": query, "filters": user, "include_turns": true});
        assert_eq!(texts(&api.post("/search", body).await), Vec::<String>::new(), "{text}");
        let scope = Scope::user(text).unwrap();
        assert_eq!(engine.recall(&scope, query).await.unwrap().hits.len(), 0, "{text}");
        let retracted = engine.history().retractions(&scope, 9).await.unwrap().len();
        assert_eq!(retracted, usize::from(options.is_empty()), "a retraction can be restored, a deletion cannot");
    }
    // Another fact of the same turn stays.
    let mei = json!({"user_id": "mei"});
    let added = api.add_message(mei.clone(), "I'm allergic to walnuts. I live in Porto.").await;
    let home = added.iter().find(|row| row["memory"].as_str().unwrap().contains("Porto")).unwrap();
    api.delete(&format!("/memories/{}", home["id"].as_str().unwrap())).await;
    assert_eq!(api.list_texts(mei.clone()).await, ["The user is allergic to walnuts."]);
    assert_eq!(texts(&api.post("/search", json!({"query": "Porto", "filters": mei})).await), Vec::<String>::new());
    let kept = api.add_message(json!({"user_id": "wang"}), "I live in Evora.").await;
    api.delete(&format!("/memories/{}?delete_linked=false", kept[0]["id"].as_str().unwrap())).await;
    assert_eq!(engine.recall(&Scope::user("wang").unwrap(), "Evora").await.unwrap().hits.len(), 1);

    // A day is a day of the user: 20:00 of 26 November in Los Angeles is the 27th in UTC.
    let ken = Scope::user("ken").unwrap();
    for (text, time) in [("Ate ramen", "2025-11-28T04:00:00Z"), ("Fixed the bike", "2025-11-27T04:00:00Z")] {
        engine.remember(&ken, Turn::user(text).at(time.parse::<Timestamp>().unwrap())).await.unwrap();
    }
    for (question, answer) in
        [("What did I do on November 26, 2025?", "Fixed the bike"), ("2025年11月27日", "Ate ramen")]
    {
        let recall = engine.recall(&ken, question).await.unwrap();
        assert_eq!(recall.hits[0].record.text, answer, "{question}");
    }
    let message = json!({"role": "user", "content": "我昨天种了一棵无花果"});
    let body = json!({"user_id": "pl", "messages": [message], "timestamp": "2025-11-28T07:00:00+09:00"});
    api.post("/v3/memories/add/", body).await;
    let pl = Scope::user("pl").unwrap();
    let stored = engine.scan(&pl, &ScanQuery::newest(1)).await.unwrap().records.remove(0);
    assert_eq!(stored.zone(), Some(TimeZone::fixed(offset(9))));
    assert_eq!(engine.recall(&pl, "2025年11月27日").await.unwrap().hits[0].record.id, stored.id);
    engine.close().await.unwrap();
}

/// Changes a memory under a policy that reviews tools. The change waits, and is applied when it is accepted.
async fn exercise_review(builder: Builder) {
    let engine = builder.background(false).review("tools=review".parse().unwrap()).build().await.unwrap();
    let api = Api::over(Mem0::new(engine.clone()), engine.clone());
    let wang = Scope::user("wang").unwrap();
    let id = engine.remember(&wang, Turn::note("the locker is in hall four")).await.unwrap();
    let path = format!("/memories/{id}");
    for (text, stored) in [("柜子在九号大厅", "the locker is in hall four"), ("hall ten", "柜子在九号大厅")]
    {
        let answer = api.put(&path, json!({"text": text, "metadata": {"n": 3}})).await;
        assert!(answer.to_string().contains("waits"), "{answer}");
        assert_eq!(api.get(&path).await["memory"], stored);
        let waiting = engine.review().pending(&wang, &ReviewQuery::default()).await.unwrap().pending;
        assert_eq!((waiting.len(), waiting[0].evidence[0].text.as_str()), (1, stored));
        assert_eq!(engine.review().accept(&wang, &[waiting[0].record.id]).await.unwrap().accepted.len(), 1);
        let changed = api.get(&path).await;
        assert_eq!((&changed["memory"], &changed["metadata"]), (&json!(text), &json!({"n": 3})));
        assert!(engine.get(&wang, waiting[0].record.id).await.unwrap().is_none(), "no copy of the change is left");
    }
    // The text stays the same, so that the waiting record is not removed with what was derived from it.
    api.put(&path, json!({"metadata": {"n": 4}})).await;
    let waiting = engine.review().pending(&wang, &ReviewQuery::default()).await.unwrap().pending;
    engine.review().accept(&wang, &[waiting[0].record.id]).await.unwrap();
    assert_eq!(api.get(&path).await["metadata"], json!({"n": 4}));
    assert!(engine.review().pending(&wang, &ReviewQuery::default()).await.unwrap().pending.is_empty());
    engine.close().await.unwrap();
}
