//! The routes of the open-source server, row by row.

use std::{sync::Arc, time::Duration};

use memory_engine::{Timestamp, testing::ManualClock};
use memory_engine_server::Mem0;
use serde_json::{Value, json};

use super::fixtures::{Api, engine_at, texts};

fn lin() -> Value {
    json!({"user_id": "lin"})
}

#[tokio::test]
async fn without_infer_each_message_is_a_memory() {
    let api = Api::open().await;
    let added = api
        .post(
            "/memories",
            json!({
                "messages": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "user", "name": "Mei", "content": "I like oolong."},
                    {"role": "assistant", "content": [
                        {"type": "text", "text": "Noted: "}, {"type": "text", "text": "oolong."},
                    ]},
                ],
                "user_id": "lin", "agent_id": "kai", "run_id": "monday",
                "metadata": {"source": "chat", "user_id": "eve", "type": "ours"},
                "infer": false,
            }),
        )
        .await;
    let rows = added["results"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (&rows[0]["actor_id"], &rows[0]["role"], &rows[0]["event"]),
        (&json!("Mei"), &json!("user"), &json!("ADD"))
    );
    assert_eq!((&rows[1]["role"], &rows[1]["memory"]), (&json!("assistant"), &json!("Noted: \noolong.")));

    let id = rows[0]["id"].as_str().unwrap();
    let row = api.get(&format!("/memories/{id}")).await;
    assert_eq!(row["memory"], "I like oolong.");
    assert_eq!(row["metadata"], json!({"source": "chat", "type": "ours"}));
    assert_eq!((&row["user_id"], &row["agent_id"], &row["run_id"]), (&json!("lin"), &json!("kai"), &json!("monday")));
    assert_eq!((&row["actor_id"], &row["role"], &row["score"]), (&json!("Mei"), &json!("user"), &Value::Null));
    assert!(
        row.as_object().unwrap().contains_key("score") && !row.as_object().unwrap().contains_key("expiration_date")
    );
    let made: Timestamp = row["created_at"].as_str().unwrap().parse().unwrap();
    assert!(row["created_at"].as_str().unwrap().ends_with("+00:00") && made.as_micros() > 0);
    assert_eq!(row["created_at"], row["updated_at"]);

    let bare = api.add_note(lin(), "hello").await;
    let row = api.get(&format!("/memories/{bare}")).await;
    assert_eq!((&row["hash"], &row["metadata"]), (&json!("5d41402abc4b2a76b9719d911017c592"), &Value::Null));
    assert!(!row.as_object().unwrap().contains_key("agent_id"));
}

#[tokio::test]
async fn invalid_add_requests_are_refused() {
    let api = Api::open().await;
    let hello = json!([{"role": "user", "content": "hello"}]);
    let bad = [
        (400, json!({"messages": hello})),
        (400, json!({"messages": hello, "user_id": ""})),
        (400, json!({"messages": hello, "user_id": "lin", "userId": "mei"})),
        (400, json!({"messages": hello, "user_id": "lin", "memory_type": "semantic"})),
        (400, json!({"messages": hello, "user_id": "lin", "memory_type": "procedural_memory"})),
        (400, json!({"messages": hello, "user_id": "lin", "expiration_date": "tomorrow"})),
        (422, json!({"user_id": "lin"})),
        (422, json!({"messages": 7, "user_id": "lin"})),
        (422, json!({"messages": "hello", "user_id": "lin"})),
        (422, json!({"messages": hello, "user_id": 7})),
        (422, json!({"messages": hello, "user_id": "lin", "metadata": "x"})),
        (422, json!({"messages": hello, "user_id": "lin", "infer": "perhaps"})),
        (422, json!({"messages": [{"content": "no role"}], "user_id": "lin"})),
        (422, json!({"messages": [{"role": "user", "content": 7}], "user_id": "lin"})),
        (422, json!([1, 2])),
    ];
    for (status, body) in bad {
        let answer = api.request("POST", "/memories", Some(body.clone())).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        assert!(answer.body["error"].is_string(), "{}", answer.body);
        assert_eq!(answer.body["detail"].is_array(), status == 422, "{}", answer.body);
    }
    for body in ["{\"messages\": [", ""] {
        let answer = api.request_raw("POST", "/memories", Some(body.to_owned())).await;
        assert_eq!((answer.status, answer.body["detail"].is_array()), (422, true), "{}", answer.body);
    }
    let missing = api.request("POST", "/memories", Some(json!({"user_id": "lin"}))).await;
    assert_eq!(missing.body["detail"][0]["loc"], json!(["body", "messages"]));
    assert_eq!(missing.body["detail"][0]["type"], "missing");
    assert_eq!(api.get("/memories").await, json!({"results": []}), "a refused request stored something");
}

#[tokio::test]
async fn empty_messages_are_not_stored() {
    let api = Api::open().await;
    for messages in
        [json!([]), json!([{"role": "user", "content": "  "}]), json!([{"role": "assistant", "content": null}])]
    {
        for infer in [true, false] {
            let body = json!({"messages": messages, "user_id": "lin", "infer": infer});
            assert_eq!(api.post("/memories", body).await, json!({"results": []}));
        }
    }
    assert_eq!(api.add_message(lin(), "What a day!").await, Vec::<Value>::new());
}

#[tokio::test]
async fn procedure_is_one_memory() {
    let api = Api::open().await;
    let messages = json!([{"role": "user", "content": "Open the page."}, {"role": "assistant", "content": "Opened."}]);
    let body = json!({"messages": messages, "user_id": "lin", "agent_id": "kai", "memory_type": "procedural_memory"});
    let added = api.post("/memories", body).await;
    assert_eq!(texts(&added), ["user: Open the page.\nassistant: Opened."]);
    let id = added["results"][0]["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/memories/{id}")).await["memory_type"], "procedural_memory");
}

#[tokio::test]
async fn lists_memories_of_an_owner_newest_first() {
    let api = Api::open().await;
    for n in 0..25 {
        api.add_note(lin(), &format!("note {n}")).await;
    }
    api.add_note(json!({"user_id": "lin", "agent_id": "kai"}), "of kai").await;
    api.add_note(json!({"user_id": "mei", "run_id": "monday"}), "of mei").await;
    let list = |path: &'static str| async { texts(&api.get(path).await) };
    let of_lin = list("/memories?user_id=lin").await;
    assert_eq!((of_lin.len(), of_lin[0].as_str(), of_lin[1].as_str()), (20, "of kai", "note 24"));
    assert_eq!(list("/memories?user_id=lin&top_k=1000").await.len(), 26);
    assert_eq!(list("/memories?user_id=lin&top_k=3").await, ["of kai", "note 24", "note 23"]);
    assert_eq!(list("/memories?user_id=lin&agent_id=kai").await, ["of kai"]);
    assert_eq!(list("/memories?agent_id=kai").await, ["of kai"]);
    assert_eq!(list("/memories?run_id=monday").await, ["of mei"]);
    assert_eq!(list("/memories?user_id=nobody").await, Vec::<String>::new());
    assert_eq!(list("/memories").await.len(), 27);
    for (path, status) in [
        ("/memories?user_id=lin&top_k=1001", 422),
        ("/memories?user_id=lin&top_k=-1", 422),
        ("/memories?user_id=lin&top_k=many", 422),
        ("/memories?usr_id=lin", 400),
        ("/memories?user_id=lin&user_id=mei", 400),
    ] {
        assert_eq!(api.request("GET", path, None).await.status, status, "{path}");
    }
    assert_eq!(api.request("GET", "/memories/", None).await.status, 404, "these routes end in no slash");
}

#[tokio::test]
async fn unknown_memory_is_not_found() {
    let api = Api::open().await;
    let id = "0198c5a2-7b1e-7c3a-9f00-2f6d1e9b7a10";
    for id in [id, "not-an-id"] {
        let path = format!("/memories/{id}");
        for (method, body) in [("GET", None), ("DELETE", None), ("PUT", Some(json!({"text": "x"})))] {
            let answer = api.request(method, &path, body).await;
            assert_eq!(answer.status, 404, "{method} {}", answer.body);
            assert!(answer.body["detail"].is_string() && answer.body["error"].is_string());
        }
        assert_eq!(api.get(&format!("{path}/history")).await, json!([]));
    }
}

#[tokio::test]
async fn edit_changes_text_and_adds_history() {
    let api = Api::open().await;
    let id = api.add_note_with(lin(), "I like oolong.", json!({"a": 1})).await;
    let path = format!("/memories/{id}");
    let done = api.put(&path, json!({"text": "I like puerh.", "metadata": {"b": 2, "user_id": "eve"}})).await;
    assert_eq!(done, json!({"message": "Memory updated successfully!"}));
    let row = api.get(&path).await;
    assert_eq!((&row["memory"], &row["metadata"]), (&json!("I like puerh."), &json!({"a": 1, "b": 2})));
    assert_eq!(row["user_id"], "lin");
    assert!(row["updated_at"].as_str() > row["created_at"].as_str());
    assert_eq!(api.search_texts("puerh", lin()).await, ["I like puerh."]);
    assert!(!api.search_texts("oolong", lin()).await.contains(&"I like oolong.".to_owned()));

    api.put(&path, json!({"expiration_date": "2999-01-01"})).await;
    assert_eq!(api.get(&path).await["expiration_date"], "2999-01-01");
    api.put(&path, json!({"expiration_date": null})).await;
    assert!(!api.get(&path).await.as_object().unwrap().contains_key("expiration_date"));
    for bad in [json!({}), json!({"text": " "}), json!({"expiration_date": "soon"})] {
        assert_eq!(api.request("PUT", &path, Some(bad.clone())).await.status, 400, "{bad}");
    }

    let history = api.get(&format!("{path}/history")).await;
    let rows: Vec<_> =
        history.as_array().unwrap().iter().map(|e| (&e["event"], &e["old_memory"], &e["new_memory"])).collect();
    let (oolong, puerh) = (json!("I like oolong."), json!("I like puerh."));
    assert_eq!(rows, [(&json!("ADD"), &Value::Null, &oolong), (&json!("UPDATE"), &oolong, &puerh)]);
    assert!(history.as_array().unwrap().iter().all(|e| e["memory_id"] == json!(id) && e["role"] == "user"));
}

#[tokio::test]
async fn long_history_drops_the_oldest_texts() {
    let api = Api::open().await;
    let long = |n: usize| format!("{n} {}", "很长的笔记".repeat(4000));
    let texts: [Box<dyn Fn(usize) -> String>; 2] = [Box::new(long), Box::new(|n| format!("short {n}"))];
    for (text, expected) in texts.iter().zip([2, 49]) {
        let id = api.add_note_with(lin(), &text(0), json!({"a": 1})).await;
        let path = format!("/memories/{id}");
        for n in 1..60 {
            api.put(&path, json!({ "text": text(n) })).await;
        }
        assert_eq!(api.get(&path).await["memory"], text(59));
        let history = api.get(&format!("{path}/history")).await;
        let events = history.as_array().unwrap();
        assert_eq!((events.len(), &events[0]["event"], &events[0]["new_memory"]), (51, &json!("ADD"), &Value::Null));
        let last = events.last().unwrap();
        assert_eq!((&last["old_memory"], &last["new_memory"]), (&json!(text(58)), &json!(text(59))));
        let has_text: Vec<bool> = events[1..].iter().map(|event| event["old_memory"].is_string()).collect();
        assert_eq!(has_text.iter().filter(|has_text| **has_text).count(), expected);
        assert!(has_text.is_sorted(), "only the latest texts are kept");
    }
}

#[tokio::test]
async fn history_of_deleted_memory_has_no_text() {
    let api = Api::open().await;
    let id = api.add_note(lin(), "The code is hunter two.").await;
    let path = format!("/memories/{id}");
    api.put(&path, json!({"text": "The code is hunter three."})).await;
    let before = api.get(&format!("{path}/history")).await;
    assert_eq!(api.delete(&path).await, json!({"message": "Memory deleted successfully"}));
    assert_eq!(api.request("GET", &path, None).await.status, 404);
    assert_eq!(api.search_texts("code", lin()).await, Vec::<String>::new());
    let history = api.get(&format!("{path}/history")).await;
    let events: Vec<_> = history.as_array().unwrap().iter().map(|e| e["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["ADD", "UPDATE", "DELETE"]);
    assert_eq!((&history[0]["id"], &history[0]["created_at"]), (&before[0]["id"], &before[0]["created_at"]));
    assert_eq!((&history[2]["is_deleted"], &history[0]["is_deleted"]), (&json!(true), &json!(false)));
    assert!(!history.to_string().contains("hunter"), "{history}");
    assert_eq!(api.request("DELETE", &path, None).await.status, 404);
}

#[tokio::test]
async fn memory_deleted_by_the_engine_has_a_history() {
    let engine = super::fixtures::engine().await;
    let api = Api::over(Mem0::new(engine.clone()), engine.clone());
    let id = api.add_note(lin(), "gone").await;
    let scope = memory_engine::Scope::user("lin").unwrap();
    engine.forget(&scope, id.parse::<memory_engine::RecordId>().unwrap()).await.unwrap();
    let history = api.get(&format!("/memories/{id}/history")).await;
    assert_eq!((history.as_array().unwrap().len(), &history[0]["event"]), (1, &json!("DELETE")));
}

#[tokio::test]
async fn deletes_all_memories_of_one_owner() {
    let api = Api::open().await;
    let id = api.add_note(json!({"user_id": "lin", "agent_id": "kai"}), "of lin and kai").await;
    api.add_note(json!({"user_id": "lin", "agent_id": "zoe"}), "of lin and zoe").await;
    api.add_note(json!({"user_id": "mei", "agent_id": "kai"}), "of mei and kai").await;
    assert_eq!(api.request("DELETE", "/memories", None).await.status, 400);
    assert_eq!(api.request("DELETE", "/memories?usr_id=lin", None).await.status, 400);
    let done = json!({"message": "All relevant memories deleted"});
    assert_eq!(api.delete("/memories?user_id=nobody").await, done);
    assert_eq!(texts(&api.get("/memories").await).len(), 3);
    assert_eq!(api.delete("/memories?user_id=lin&agent_id=kai").await, done);
    assert_eq!(texts(&api.get("/memories").await), ["of mei and kai", "of lin and zoe"]);
    let history = api.get(&format!("/memories/{id}/history")).await;
    assert_eq!(history.as_array().unwrap().len(), 2, "the history remains after the deletion");
    assert_eq!(api.delete("/memories?agent_id=kai").await, done);
    assert_eq!(texts(&api.get("/memories").await), ["of lin and zoe"]);
    assert_eq!(api.post("/reset", json!({})).await, json!({"message": "All memories reset"}));
    assert_eq!(texts(&api.get("/memories").await), Vec::<String>::new());
    assert_eq!(
        api.get(&format!("/memories/{id}/history")).await.as_array().unwrap().len(),
        1,
        "the deletion remains in the history"
    );
}

#[tokio::test]
async fn deleting_an_owner_deletes_turns_and_facts() {
    let api = Api::open().await;
    api.add_message(lin(), "I'm allergic to walnuts.").await;
    api.delete("/memories?user_id=lin").await;
    assert_eq!(texts(&api.get("/memories").await), Vec::<String>::new());
    let body = json!({"query": "walnuts", "filters": {"user_id": "lin"}, "threshold": 0, "include_turns": true});
    assert_eq!(texts(&api.post("/search", body).await), Vec::<String>::new());
    // The same statement is stored again.
    assert_eq!(api.add_message(lin(), "I'm allergic to walnuts.").await.len(), 1);
}

#[tokio::test]
async fn search_ranks_with_scores_from_0_to_1() {
    let api = Api::open().await;
    api.add_note(lin(), "My sister plays the cello in an orchestra.").await;
    api.add_note(lin(), "The orchestra rehearses on Mondays.").await;
    api.add_note(lin(), "I had soup for lunch.").await;
    let ask = |more: Value| {
        let mut body = json!({"query": "Who plays the cello in the orchestra?", "filters": {"user_id": "lin"}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let api = &api;
        async move { api.post("/search", body).await }
    };
    let found = ask(json!({})).await;
    assert_eq!(texts(&found)[0], "My sister plays the cello in an orchestra.");
    let scores: Vec<f64> =
        found["results"].as_array().unwrap().iter().map(|row| row["score"].as_f64().unwrap()).collect();
    assert!(scores.iter().all(|score| (0.1..=1.0).contains(score)), "{scores:?}");
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(!texts(&found).contains(&"I had soup for lunch.".to_owned()));
    assert!(found["results"][0].get("score_details").is_none());

    assert_eq!(texts(&ask(json!({"top_k": 1})).await).len(), 1);
    assert!(
        texts(&ask(json!({"threshold": 0.0})).await).len() >= texts(&found).len(),
        "a threshold of 0 returns all hits"
    );
    let explained = ask(json!({"explain": true})).await;
    let details = explained["results"][0]["score_details"].as_object().unwrap();
    for part in
        ["semantic_score", "bm25_score", "entity_boost", "raw_score", "max_possible_score", "final_score", "threshold"]
    {
        assert!(details[part].is_number(), "{part}");
    }
    assert_eq!(details["final_score"], explained["results"][0]["score"]);
    // Old clients name the owner next to the query.
    let old = api.post("/search", json!({"query": "cello", "user_id": "lin"})).await;
    assert_eq!(texts(&old)[0], "My sister plays the cello in an orchestra.");
}

#[tokio::test]
async fn unrelated_query_finds_nothing() {
    let api = Api::open().await;
    api.add_note(lin(), "我对海鲜过敏。").await;
    let ask = async |query: &'static str| {
        texts(&api.post("/search", json!({"query": query, "filters": {"user_id": "lin"}})).await)
    };
    assert_eq!(ask("海鲜能吃吗").await, ["我对海鲜过敏。"]);
    assert_eq!(ask("明天开会").await, Vec::<String>::new());
}

#[tokio::test]
async fn owners_may_have_names_with_spaces() {
    let api = Api::open().await;
    for (user, agent) in [("lin chen", "Mary Jane"), ("陈 林", "林 黛玉")] {
        let owner = json!({"user_id": user, "agent_id": agent});
        assert_eq!(api.add_message(owner.clone(), "I'm allergic to walnuts.").await.len(), 1);
        assert_eq!(api.search_texts("walnuts", owner).await, ["The user is allergic to walnuts."]);
        assert!(api.search_texts("walnuts", json!({"user_id": user, "agent_id": "Mary"})).await.is_empty());
    }
}

/// Turns without an extracted fact are found; the assistant's messages and turns that only ask are not.
#[tokio::test]
async fn searches_return_what_the_user_said() {
    let api = Api::open().await;
    let rounds = [
        ("user", "Barely slept again, the neighbours had their party until four"),
        ("assistant", "The neighbours' party until four sounds exhausting."),
        ("user", "is there a neighbours party on Friday?"),
        ("user", "I'm allergic to walnuts."),
    ];
    for (role, text) in rounds {
        let messages = json!([{"role": role, "content": text}]);
        api.post("/memories", json!({"messages": messages, "user_id": "lin"})).await;
    }
    assert_eq!(api.search_texts("the neighbours' party", json!({"user_id": "lin"})).await, [rounds[0].1]);
    let walnuts = api.search_texts("walnuts", json!({"user_id": "lin"})).await;
    assert_eq!(walnuts, ["The user is allergic to walnuts."], "the fact, and not its turn");
    let body = |turns: bool| json!({"query": "neighbours", "filters": {"user_id": "lin"}, "include_turns": turns});
    assert_eq!(texts(&api.post("/search", body(false)).await).len(), 0);
    assert_eq!(texts(&api.post("/search", body(true)).await).len(), 3);
}

#[tokio::test]
async fn earlier_questions_do_not_crowd_out_an_answer() {
    let api = Api::open().await;
    api.add_message(lin(), "Barely slept again, the neighbours had their party until four").await;
    for day in 0..12 {
        api.add_message(lin(), &format!("do the neighbours have a party on day {day}?")).await;
    }
    let body = json!({"query": "the neighbours party", "filters": lin(), "top_k": 1});
    let found = texts(&api.post("/search", body).await);
    assert_eq!(found, ["Barely slept again, the neighbours had their party until four"]);
}

#[tokio::test]
async fn a_query_without_a_topic_is_searched_for_with_its_dialogue() {
    let api = Api::open().await;
    for text in ["我一失眠第二天就头疼，喝点温牛奶会好些", "最近在学吉他"] {
        api.add_message(json!({"user_id": "lin"}), text).await;
    }
    let body = |messages: Value| {
        let filters = json!({"user_id": "lin"});
        json!({"query": "你今天有什么不一样？", "filters": filters, "messages": messages})
    };
    let dialogue = json!([{"role": "user", "content": "昨晚又失眠了"}, {"role": "assistant", "content": "辛苦了"}]);
    let found = texts(&api.post("/search", body(dialogue)).await);
    assert_eq!(found, ["我一失眠第二天就头疼，喝点温牛奶会好些"]);
    let off_topic = json!([{"role": "user", "content": "火车晚点了"}]);
    assert_eq!(texts(&api.post("/search", body(off_topic)).await).len(), 0);
    let invalid = api.request("POST", "/search", Some(body(json!([{"content": "no role"}])))).await;
    assert_eq!(invalid.status, 422, "{}", invalid.body);
}

#[tokio::test]
async fn invalid_searches_are_refused() {
    let api = Api::open().await;
    let of_lin = json!({"user_id": "lin"});
    let bad = [
        (400, json!({"query": "tea"})),
        (400, json!({"query": "tea", "filters": {}})),
        (400, json!({"query": "tea", "filters": {"AND": [{"user_id": "lin"}]}})),
        (400, json!({"query": " ", "filters": of_lin})),
        (400, json!({"query": "tea", "filters": of_lin, "threshold": 1.5})),
        (400, json!({"query": "tea", "filters": of_lin, "threshold": -0.1})),
        (400, json!({"query": "tea", "filters": of_lin, "top_k": -1})),
        (400, json!({"query": "tea", "filters": of_lin, "top_k": 0})),
        (400, json!({"query": "tea", "filters": {"user_id": "lin", "a": {"like": "x"}}})),
        (422, json!({"filters": of_lin})),
        (422, json!({"query": 7, "filters": of_lin})),
        (422, json!({"query": "tea", "filters": "lin"})),
        (422, json!({"query": "tea", "filters": of_lin, "top_k": "many"})),
    ];
    for (status, body) in bad {
        let answer = api.request("POST", "/search", Some(body.clone())).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
    }
    let users: Vec<String> = (0..1001).map(|n| format!("user {n}")).collect();
    let of = |users: &[String]| json!({"query": "tea", "filters": {"user_id": {"in": users}}});
    let answer = api.request("POST", "/search", Some(of(&users))).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(answer.body["detail"].as_str().unwrap().contains("1001 users; the maximum is 1000"), "{}", answer.body);
    assert_eq!(api.request("POST", "/search", Some(of(&users[1..]))).await.status, 200);
    let names: Vec<String> = (0..20_000).map(|n| format!("name {n}")).collect();
    let with_all_users = [&names[..], &["*".to_owned()]].concat();
    let lists = [
        ("user_id", json!({"user_id": {"in": names}}), "20000 users; the maximum is 1000"),
        ("user_id", json!({"user_id": with_all_users}), "20001 values; the maximum is 1000"),
        ("run_id", json!({"user_id": "lin", "run_id": {"in": names}}), "20000 values; the maximum is 1000"),
        ("place", json!({"user_id": "lin", "place": {"nin": names}}), "20000 values; the maximum is 1000"),
    ];
    for (key, filters, reason) in lists {
        let answer = api.request("POST", "/search", Some(json!({"query": "tea", "filters": filters}))).await;
        let detail = answer.body["detail"].as_str().unwrap_or_default();
        assert!(answer.status == 400 && detail.contains(reason) && detail.len() < 200, "{key}: {}", answer.body);
    }
}

#[tokio::test]
async fn expired_memories_are_hidden_by_default() {
    let clock = Arc::new(ManualClock::new("2026-03-02T12:00:00Z".parse().unwrap()));
    let engine = engine_at(clock.clone()).await;
    let api = Api::over(Mem0::new(engine.clone()), engine);
    let body = json!({"messages": [{"role": "user", "content": "The tea is on sale."}], "user_id": "lin",
        "infer": false, "expiration_date": "2026-03-03"});
    api.post("/memories", body).await;
    let list = || async { texts(&api.get("/memories?user_id=lin").await).len() };
    let search = |expired: bool| {
        let body = json!({"query": "tea", "filters": lin(), "show_expired": expired});
        let api = &api;
        async move { texts(&api.post("/search", body).await).len() }
    };
    clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!((list().await, search(false).await), (1, 1), "it is shown on its last day");
    clock.advance(Duration::from_secs(12 * 60 * 60));
    assert_eq!((list().await, search(false).await, search(true).await), (0, 0, 1));
    assert_eq!(texts(&api.get("/memories?user_id=lin&show_expired=true").await).len(), 1);
}

#[tokio::test]
async fn lists_entities_with_memories() {
    let api = Api::open().await;
    api.add_note(json!({"user_id": "lin", "agent_id": "kai", "run_id": "monday"}), "one").await;
    api.add_note(json!({"user_id": "lin"}), "two").await;
    let entities = api.get("/entities").await;
    let rows: Vec<_> = entities
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["type"].as_str().unwrap(), e["id"].as_str().unwrap(), e["total_memories"].as_u64().unwrap()))
        .collect();
    assert_eq!(rows, [("user", "lin", 2), ("agent", "kai", 1), ("run", "monday", 1)]);
    assert!(entities[0]["created_at"].is_string() && entities[0]["updated_at"].is_string());
    assert_eq!(api.delete("/entities/agent/kai").await, json!({"message": "Entity deleted"}));
    assert_eq!(texts(&api.get("/memories").await), ["two"]);
    // Clients delete the entities of a list one by one, and the first deletion may have removed all records of another.
    assert_eq!(api.request("DELETE", "/entities/agent/kai", None).await.status, 200);
    assert_eq!(api.request("DELETE", "/v2/entities/run/monday/", None).await.status, 200);
    assert_eq!(api.request("DELETE", "/entities/planet/mars", None).await.status, 400);
}

#[tokio::test]
async fn dashboard_routes_are_refused_with_a_message() {
    let api = Api::open().await;
    for (method, path) in [
        ("POST", "/configure"),
        ("GET", "/configure/providers"),
        ("POST", "/generate-instructions"),
        ("POST", "/auth/login"),
        ("GET", "/api-keys"),
        ("DELETE", "/api-keys/1"),
        ("GET", "/requests"),
    ] {
        let answer = api.request(method, path, Some(json!({}))).await;
        assert_eq!((answer.status, answer.body["detail"].is_string()), (501, true), "{path}");
    }
    let configuration = api.get("/configure").await;
    assert_eq!(configuration["embedder"]["config"]["api_key"], "[redacted]");
}
