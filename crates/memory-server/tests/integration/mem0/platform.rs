//! The platform's routes, as new and old clients call them.

use serde_json::{Value, json};

use super::fixtures::{Api, texts};

fn messages(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

#[tokio::test]
async fn ping() {
    let api = Api::open().await;
    let response = api.get("/v1/ping/").await;
    assert_eq!(response["status"], "ok");
    assert!(["org_id", "project_id", "user_email"].iter().all(|key| response[key].is_string()));
    assert_eq!(api.request("GET", "/v1/ping", None).await.status, 404, "these routes end in a slash");
}

#[tokio::test]
async fn m9_version_3_adds_lists_and_searches() {
    let api = Api::open().await;
    let body = json!({
        "messages": messages("I like oolong."), "filters": {"user_id": "lin"}, "infer": false,
        "timestamp": 1_700_000_000,
        "custom_instructions": "x", "includes": "y", "org_id": "o", "project_id": "p",
    });
    let added = api.post("/v3/memories/add/", body).await;
    assert_eq!(
        (&added["status"], &added["results"][0]["data"]["memory"]),
        (&json!("SUCCEEDED"), &json!("I like oolong."))
    );
    assert!(added["event_id"].is_string() && added["message"].is_string());
    let listed = api.post("/v3/memories/", json!({"filters": {"user_id": "lin"}})).await;
    assert_eq!((&listed["count"], &listed["next"], &listed["previous"]), (&json!(1), &Value::Null, &Value::Null));
    let row = &listed["results"][0];
    assert_eq!((&row["created_at"], &row["user_id"]), (&json!("2023-11-14T22:13:20+00:00"), &json!("lin")));
    let body = json!({"query": "oolong", "filters": {"user_id": "lin"}, "output_format": "v1.1", "explain": true});
    let found = api.post("/v3/memories/search/", body).await;
    assert_eq!(texts(&found), ["I like oolong."]);
    let breakdown = &found["results"][0]["score_breakdown"];
    assert!(["semantic", "bm25", "entity"].iter().all(|part| breakdown[part].is_number()));
    let body = json!({"query": "oolong", "filters": {"user_id": "lin"}, "fields": ["memory"]});
    let narrow = api.post("/v3/memories/search/", body).await;
    assert_eq!(narrow["results"][0].as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "memory"]);
    for (path, body) in [
        ("/v3/memories/", json!({})),
        ("/v3/memories/", json!({"user_id": "lin"})),
        ("/v3/memories/search/", json!({"query": "x"})),
        ("/v3/memories/search/", json!({"filters": {"user_id": "lin"}})),
        ("/v3/memories/search/", json!({"query": "x", "filters": {"user_id": "lin"}, "top_k": 1001})),
        ("/v3/memories/add/", json!({"messages": messages("x")})),
        ("/v3/memories/add/", json!({"user_id": "lin"})),
        ("/v3/memories/add/", json!({"messages": messages("x"), "filters": {"user_id": "lin", "colour": "x"}})),
        ("/v3/memories/add/", json!({"messages": messages("x"), "user_id": "mei", "filters": {"user_id": "lin"}})),
        ("/v3/memories/add/", json!({"messages": messages("x"), "user_id": "lin", "timestamp": "soon"})),
    ] {
        let answer = api.request("POST", path, Some(body.clone())).await;
        assert_eq!((answer.status, answer.body["detail"].is_string()), (400, true), "{path} {body}: {}", answer.body);
    }
}

#[tokio::test]
async fn pages_link_to_their_neighbours() {
    let api = Api::open().await;
    for n in 0..5 {
        api.add_note(json!({"user_id": "lin"}), &format!("note {n}")).await;
    }
    let page = |path: &'static str| {
        let api = &api;
        async move { api.post(path, json!({"filters": {"user_id": "lin"}})).await }
    };
    let first = page("/v3/memories/?page=1&page_size=2").await;
    assert_eq!((texts(&first), &first["count"]), (vec!["note 4".into(), "note 3".into()], &json!(5)));
    assert_eq!(
        (&first["next"], &first["previous"]),
        (&json!("http://memory.test:8765/v3/memories/?page=2&page_size=2"), &Value::Null)
    );
    let last = page("/v3/memories/?page=3&page_size=2").await;
    assert_eq!((texts(&last), &last["next"]), (vec!["note 0".into()], &Value::Null));
    assert_eq!(last["previous"], "http://memory.test:8765/v3/memories/?page=2&page_size=2");
    assert_eq!(texts(&page("/v3/memories/?page=9&page_size=2").await), Vec::<String>::new());
    for path in ["/v3/memories/?page=0", "/v3/memories/?page_size=201", "/v3/memories/?page=x"] {
        let answer = api.request("POST", path, Some(json!({"filters": {"user_id": "lin"}}))).await;
        assert_eq!(answer.status, 400, "{path}");
    }
    let old = api.get("/v1/memories/?user_id=lin&page=2&page_size=2").await;
    assert_eq!(texts(&old), ["note 2", "note 1"]);
    assert_eq!(old["next"], "http://memory.test:8765/v1/memories/?user_id=lin&page=3&page_size=2");
}

#[tokio::test]
async fn m9_older_versions_use_bare_lists() {
    let api = Api::open().await;
    let body = json!({"messages": "I like oolong.", "user_id": "lin", "infer": false, "version": "v2",
        "async_mode": true, "enable_graph": false, "org_id": "o", "project_id": "p"});
    let bare = api.post("/v1/memories/", body.clone()).await;
    assert_eq!(bare[0]["data"]["memory"], "I like oolong.");
    let mut body = body;
    body["output_format"] = json!("v1.1");
    assert_eq!(api.post("/v1/memories/", body).await["results"][0]["event"], "ADD");
    assert_eq!(texts(&api.get("/v1/memories/?user_id=lin&org_id=o&project_id=p").await).len(), 2);
    assert!(api.get("/v1/memories/?user_id=lin").await.is_array());
    assert!(api.get("/v1/memories/?user_id=lin&page=1").await["results"].is_array());
    assert_eq!(api.request("GET", "/v1/memories/", None).await.status, 400, "without an owner");
    assert_eq!(api.request("GET", "/v1/memories/?user=lin", None).await.status, 400);
    let found =
        api.post("/v1/memories/search/", json!({"query": "oolong", "user_id": "lin", "top_k": 1, "limit": 1})).await;
    assert_eq!((found.is_array(), texts(&found).len()), (true, 1));
    for body in [
        json!({"query": "oolong", "user_id": "lin"}),
        json!({"query": "oolong", "filters": {"AND": [{"user_id": "lin"}]}}),
    ] {
        let found = api.post("/v2/memories/search/", body).await;
        assert_eq!((found.is_array(), texts(&found).len()), (true, 2));
    }
    let of = json!({"query": "oolong", "user_id": "lin", "metadata": {"a": 1}});
    assert_eq!(api.post("/v1/memories/search/", of).await, json!([]), "metadata next to the query is a condition");
    assert!(api.post("/v2/memories/", json!({"user_id": "lin"})).await.is_array());
    assert!(
        api.post("/v2/memories/?page=1&page_size=5", json!({"filters": {"user_id": "lin"}})).await["results"]
            .is_array()
    );
    assert_eq!(api.request("POST", "/v2/memories/search/", Some(json!({"query": "x"}))).await.status, 400);
    assert_eq!(api.request("POST", "/v1/memories/search/", Some(json!({"query": "x"}))).await.status, 400);
}

#[tokio::test]
async fn single_memory_routes() {
    let api = Api::open().await;
    let id = api.add_note(json!({"user_id": "lin"}), "I like oolong.").await;
    let path = format!("/v1/memories/{id}/");
    assert_eq!(api.get(&path).await["memory"], "I like oolong.");
    let row = api.put(&path, json!({"text": "I like puerh.", "metadata": {"a": 1}, "timestamp": 1_700_000_000})).await;
    assert_eq!(
        (&row["memory"], &row["metadata"], &row["created_at"]),
        (&json!("I like puerh."), &json!({"a": 1}), &json!("2023-11-14T22:13:20+00:00"))
    );
    let response =
        api.post("/v1/feedback/", json!({"memory_id": id, "feedback": "negative", "feedback_reason": "wrong"})).await;
    assert_eq!(response, json!({"id": id, "feedback": "NEGATIVE", "feedback_reason": "wrong"}));
    assert_eq!(api.get(&path).await["feedback"], "NEGATIVE");
    api.post("/v1/feedback/", json!({"memory_id": id, "feedback": null})).await;
    assert!(!api.get(&path).await.as_object().unwrap().contains_key("feedback"));
    let bad = api.request("POST", "/v1/feedback/", Some(json!({"memory_id": id, "feedback": "MEH"}))).await;
    assert_eq!(bad.status, 400);
    let history = api.get(&format!("{path}history/")).await;
    assert_eq!((history.as_array().unwrap().len(), &history[1]["user_id"]), (2, &json!("lin")));
    assert_eq!(history[0]["input"], json!([{"role": "user", "content": "I like puerh."}]));
    assert_eq!(api.delete(&path).await, json!({"message": "Memory deleted successfully!"}));
    for (method, path, status, error) in [
        ("GET", path.as_str(), 404, "Memory not found!"),
        ("DELETE", path.as_str(), 404, "Memory not found!"),
        ("GET", "/v1/memories/x/", 400, "memory_id should be a valid UUID"),
        ("GET", "/v1/memories/x/history/", 400, "memory_id should be a valid UUID"),
    ] {
        let answer = api.request(method, path, None).await;
        assert_eq!((answer.status, &answer.body["error"]), (status, &json!(error)), "{method} {path}");
    }
    let history = api.get(&format!("{path}history/")).await;
    assert!(!history.to_string().contains("oolong") && !history.to_string().contains("puerh"), "{history}");
}

#[tokio::test]
async fn batches_are_checked_before_they_change_anything() {
    let api = Api::open().await;
    let owner = json!({"user_id": "lin"});
    let (one, two) = (api.add_note(owner.clone(), "one").await, api.add_note(owner.clone(), "two").await);
    let changed = json!({"memories": [{"memory_id": one, "text": "uno"}, {"memoryId": two, "metadata": {"n": 2}}]});
    assert_eq!(api.put("/v1/batch/", changed).await, json!({"message": "Successfully updated 2 memories"}));
    assert_eq!(api.list_texts(owner.clone()).await, ["two", "uno"]);
    let unknown = "0198c5a2-7b1e-7c3a-9f00-2f6d1e9b7a10";
    for (status, body) in [
        (404, json!({"memories": [{"memory_id": one}, {"memory_id": unknown}]})),
        (400, json!({"memories": [{"memory_id": one}, {"memory_id": "x"}]})),
        (400, json!({"memories": [{"text": "x"}]})),
        (400, json!({"memories": "all"})),
        (400, json!({"memories": vec![json!({"memory_id": one}); 1001]})),
    ] {
        assert_eq!(api.request("DELETE", "/v1/batch/", Some(body.clone())).await.status, status);
        assert_eq!(api.list_texts(owner.clone()).await.len(), 2, "none was deleted");
    }
    let all = json!({"memories": [{"memory_id": one}, {"memory_id": two}, {"memory_id": two}]});
    assert_eq!(api.request_ok("DELETE", "/v1/batch/", Some(all)).await["message"], "Successfully deleted 3 memories");
    assert_eq!(api.list_texts(owner).await, Vec::<String>::new());
}

#[tokio::test]
async fn lists_and_deletes_entities() {
    let api = Api::open().await;
    api.post(
        "/v3/memories/add/",
        json!({"messages": messages("one"), "user_id": "李 明", "app_id": "tavern", "infer": false}),
    )
    .await;
    api.post("/v3/memories/add/", json!({"messages": messages("What a day!"), "user_id": "mei"})).await;
    let response = api.get("/v1/entities/?page=1&page_size=10&org_id=o").await;
    let names: Vec<_> = response["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["type"].as_str().unwrap(), e["name"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        [("user", "mei"), ("user", "李 明"), ("app", "tavern")],
        "a user with turns but without memories is listed, too"
    );
    assert_eq!(response["count"], 3);
    api.delete("/v2/entities/user/%E6%9D%8E%20%E6%98%8E/").await;
    api.delete("/v2/entities/user/mei/").await;
    assert_eq!(api.get("/v1/entities/").await["count"], 0);
}

#[tokio::test]
async fn deleting_all_requires_an_owner() {
    let api = Api::open().await;
    api.post(
        "/v3/memories/add/",
        json!({"messages": messages("one"), "app_id": "tavern", "user_id": "lin", "infer": false}),
    )
    .await;
    api.add_note(json!({"user_id": "lin"}), "two").await;
    for path in ["/v1/memories/", "/v1/memories/?org_id=o", "/v1/memories/?user=lin", "/v1/memories/?user_id="] {
        assert_eq!(api.request("DELETE", path, None).await.status, 400, "{path}");
    }
    api.delete("/v1/memories/?app_id=tavern").await;
    assert_eq!(api.list_texts(json!({"user_id": "lin"})).await, ["two"]);
    api.delete("/v1/memories/?user_id=lin&org_id=o").await;
    assert_eq!(api.list_texts(json!({"user_id": "lin"})).await, Vec::<String>::new());
}

#[tokio::test]
async fn unsupported_routes_are_refused_with_a_message() {
    let api = Api::open().await;
    for path in [
        "/v1/exports/",
        "/v1/exports/get/",
        "/v1/summary/",
        "/v2/entities/user/lin/profile/",
        "/v2/profiles/jobs/",
        "/v2/profiles/settings/",
        "/api/v1/orgs/organizations/",
        "/api/v1/webhooks/projects/1/",
        "/v1/webhooks/",
        "/webhooks",
        "/webhooks/1",
    ] {
        for method in ["GET", "POST"] {
            let answer = api.request(method, path, Some(json!({}))).await;
            assert_eq!((answer.status, answer.body["detail"].is_string()), (501, true), "{method} {path}");
        }
    }
}
