//! A key reaches the records of its users, and no others by any route.

use memory_engine_server::Access;
use serde_json::{Value, json};

use super::fixtures::{Api, engine, texts};

const SECRET: &str = "The secret is hunter.";

/// A memory with three secrets: of Eve, without a user, and in another tenant. Lin has a note and reaches none of them.
struct SharedMemory {
    lin: Api,
    both: Api,
    all: Api,
    secrets: Vec<String>,
    own: String,
}

async fn shared_memory() -> SharedMemory {
    let engine = engine().await;
    let acme = || Access::tenant("key", "acme").unwrap();
    let [lin, both, all, other] = Api::with_keys(
        &engine,
        [
            acme().only_users(["lin"]).unwrap(),
            acme().only_users(["lin", "mei"]).unwrap(),
            acme(),
            Access::tenant("key", "umbrella").unwrap(),
        ],
    );
    let secrets = vec![
        all.add_note(json!({"user_id": "eve", "agent_id": "kai", "run_id": "monday"}), SECRET).await,
        all.add_note(json!({"agent_id": "kai", "run_id": "monday"}), SECRET).await,
        other.add_note(json!({"user_id": "lin", "agent_id": "kai", "run_id": "monday"}), SECRET).await,
    ];
    all.post("/v1/memories/", json!({"messages": "secret app", "app_id": "app", "user_id": "eve", "infer": false}))
        .await;
    let own = lin.add_note(json!({"agent_id": "kai", "run_id": "monday"}), "Lin's own tea").await;
    both.add_note(json!({"user_id": "mei"}), "Mei's own tea").await;
    SharedMemory { lin, both, all, secrets, own }
}

#[tokio::test]
async fn key_of_one_user_reads_and_writes_as_that_user() {
    let memory = shared_memory().await;
    let row = memory.lin.get(&format!("/memories/{}", memory.own)).await;
    assert_eq!(row["user_id"], "lin");
    assert_eq!(texts(&memory.lin.get("/memories").await), ["Lin's own tea"]);
    assert_eq!(texts(&memory.lin.post("/search", json!({"query": "tea"})).await), ["Lin's own tea"]);
    assert_eq!(texts(&memory.lin.post("/v3/memories/", json!({"filters": {}})).await), ["Lin's own tea"]);
    let mut of_both = texts(&memory.both.get("/memories").await);
    of_both.sort();
    assert_eq!(of_both, ["Lin's own tea", "Mei's own tea"]);
    assert_eq!(
        memory.both.request("POST", "/memories", Some(json!({"messages": [], "agent_id": "kai"}))).await.status,
        403
    );
}

#[tokio::test]
async fn request_body_cannot_name_another_user() {
    let memory = shared_memory().await;
    let message = json!([{"role": "user", "content": "planted"}]);
    for (method, path, body) in [
        ("POST", "/memories", json!({"messages": message, "user_id": "eve"})),
        ("POST", "/memories", json!({"messages": message, "userId": "eve", "infer": false})),
        ("POST", "/v3/memories/add/", json!({"messages": message, "user_id": "eve"})),
        ("POST", "/v3/memories/add/", json!({"messages": message, "filters": {"user_id": "eve"}})),
        ("POST", "/v1/memories/", json!({"messages": "planted", "user_id": "eve"})),
        ("POST", "/search", json!({"query": "secret", "user_id": "eve"})),
        ("POST", "/v1/memories/search/", json!({"query": "secret", "user_id": "eve"})),
        ("POST", "/v2/memories/search/", json!({"query": "secret", "user_id": "eve"})),
        ("POST", "/v2/memories/", json!({"user_id": "eve"})),
    ] {
        let answer = memory.lin.request(method, path, Some(body.clone())).await;
        assert_eq!(answer.status, 403, "{path} {body}: {}", answer.body);
        assert!(!answer.body.to_string().contains("hunter"));
    }
    for path in ["/memories?user_id=eve", "/memories?userId=eve", "/v1/memories/?user_id=eve"] {
        assert_eq!(memory.lin.request("GET", path, None).await.status, 403, "{path}");
        assert_eq!(memory.lin.request("DELETE", path, None).await.status, 403, "{path}");
    }
    let of_eve = texts(&memory.all.get("/memories?user_id=eve").await);
    assert_eq!(of_eve.len(), 2, "a record of Eve was added or deleted: {of_eve:?}");
}

#[tokio::test]
async fn m1_filters_do_not_reach_other_users() {
    let memory = shared_memory().await;
    let filters = [
        json!({"user_id": "eve"}),
        json!({"OR": [{"user_id": "lin"}, {"user_id": "eve"}]}),
        json!({"OR": [{"user_id": "lin"}, {"agent_id": "kai"}]}),
        json!({"OR": [{"user_id": "lin"}, {"NOT": {"user_id": "lin"}}]}),
        json!({"OR": [{"user_id": "*"}, {"agent_id": "*"}]}),
        json!({"NOT": {"user_id": "lin"}}),
        json!({"NOT": {"user_id": "*"}}),
        json!({"NOT": {"AND": [{"user_id": "lin"}, {"user_id": "eve"}]}}),
        json!({"user_id": {"ne": "lin"}}),
        json!({"user_id": {"in": ["lin", "eve"]}}),
        json!({"user_id": {"in": []}}),
        json!({"user_id": "*"}),
        json!({"agent_id": "kai"}),
        json!({"run_id": "monday"}),
        json!({"app_id": "app"}),
        json!({"app_id": "*"}),
        json!({"created_at": {"gte": "2000-01-01"}}),
        json!({"keywords": {"icontains": "secret"}}),
        json!({"memory_ids": memory.secrets}),
        json!({"OR": [{"memory_ids": memory.secrets}, {"keywords": {"icontains": "hunter"}}]}),
        json!({"metadata": {"x": {"ne": 1}}}),
        json!({"metadata": {"user_id": "eve"}}),
        json!({"user_id": "lin", "OR": [{"user_id": "eve"}, {"text": "secret"}]}),
    ];
    for api in [&memory.lin, &memory.both] {
        for filter in &filters {
            for path in ["/v3/memories/", "/v3/memories/search/", "/v2/memories/", "/v2/memories/search/", "/search"] {
                let query = json!({
                    "query": "secret hunter", "filters": filter, "threshold": 0, "top_k": 1000, "include_turns": true,
                });
                let answer = api.request("POST", path, Some(query)).await;
                assert!(matches!(answer.status, 200 | 400 | 403), "{path} {filter}: {}", answer.body);
                let body = answer.body.to_string();
                assert!(!body.contains("secret is") && !body.contains("secret app"), "{path} {filter}: {body}");
            }
        }
    }
    // With a key that reaches the record the same filters find it.
    let body = json!({"filters": {"OR": [{"user_id": "lin"}, {"user_id": "eve"}]}});
    assert!(texts(&memory.all.post("/v3/memories/", body).await).contains(&SECRET.to_owned()));
    // The refusal does not reveal if the user exists.
    let refused = |user: &'static str| {
        let lin = &memory.lin;
        async move { lin.request("POST", "/search", Some(json!({"query": "x", "filters": {"user_id": user}}))).await }
    };
    assert_eq!(refused("eve").await, refused("nobody").await);
}

#[tokio::test]
async fn ids_do_not_reach_records_of_others() {
    let memory = shared_memory().await;
    for id in &memory.secrets {
        for (method, path, body) in [
            ("GET", format!("/memories/{id}"), None),
            ("PUT", format!("/memories/{id}"), Some(json!({"text": "mine"}))),
            ("DELETE", format!("/memories/{id}"), None),
            ("GET", format!("/v1/memories/{id}/"), None),
            ("PUT", format!("/v1/memories/{id}/"), Some(json!({"text": "mine"}))),
            ("DELETE", format!("/v1/memories/{id}/?delete_linked=true"), None),
            ("GET", format!("/v1/event/{id}/"), None),
            ("POST", "/v1/feedback/".into(), Some(json!({"memory_id": id, "feedback": "POSITIVE"}))),
            ("PUT", "/v1/batch/".into(), Some(json!({"memories": [{"memory_id": id, "text": "mine"}]}))),
            ("DELETE", "/v1/batch/".into(), Some(json!({"memories": [{"memory_id": memory.own}, {"memory_id": id}]}))),
        ] {
            let answer = memory.lin.request(method, &path, body).await;
            assert_eq!(answer.status, 404, "{method} {path}: {}", answer.body);
        }
        for path in [format!("/memories/{id}/history"), format!("/v1/memories/{id}/history/")] {
            assert_eq!(memory.lin.get(&path).await, json!([]), "{path}");
        }
    }
    assert_eq!(texts(&memory.all.get("/memories").await).iter().filter(|text| *text == SECRET).count(), 2);
    assert_eq!(memory.lin.get(&format!("/memories/{}", memory.own)).await["memory"], "Lin's own tea");
    // The same holds for the history of a deleted memory.
    memory.all.delete(&format!("/memories/{}", memory.secrets[0])).await;
    assert_eq!(memory.lin.get(&format!("/memories/{}/history", memory.secrets[0])).await, json!([]));
    assert_eq!(memory.all.get(&format!("/memories/{}/history", memory.secrets[0])).await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn entities_of_others_are_neither_listed_nor_deleted() {
    let memory = shared_memory().await;
    let names = |answer: Value| -> Vec<String> {
        let rows = answer.get("results").unwrap_or(&answer).as_array().unwrap().clone();
        rows.iter().map(|row| format!("{} {}", row["type"].as_str().unwrap(), row["id"].as_str().unwrap())).collect()
    };
    let own = ["user lin", "agent kai", "run monday"];
    assert_eq!(names(memory.lin.get("/entities").await), own);
    assert_eq!(names(memory.lin.get("/v1/entities/").await), own);
    let before = texts(&memory.all.get("/memories").await).len();
    for path in ["/entities/user/eve", "/v2/entities/user/eve/", "/v2/entities/user/nobody/"] {
        assert_eq!(memory.lin.request("DELETE", path, None).await.status, 403, "{path}");
    }
    // The app has records of eve only.
    assert_eq!(memory.lin.request("DELETE", "/v2/entities/app/app/", None).await.status, 200);
    assert_eq!(texts(&memory.all.get("/memories").await).len(), before);
    assert_eq!(memory.lin.request("POST", "/reset", Some(json!({}))).await.status, 403);
    // The deletion of an agent deletes only its records of this user.
    memory.lin.delete("/entities/agent/kai").await;
    memory.lin.delete("/memories?run_id=monday").await;
    memory.lin.delete("/v1/memories/?app_id=app").await;
    assert_eq!(texts(&memory.all.get("/memories").await).len(), before - 1);
}

#[tokio::test]
async fn pages_contain_only_own_records() {
    let memory = shared_memory().await;
    for page in 1..5 {
        let body = json!({"filters": {"agent_id": "*"}, "page_size": 1, "page": page});
        let answer = memory.lin.post("/v3/memories/", body).await;
        assert_eq!((&answer["count"], answer.to_string().contains("hunter")), (&json!(1), false));
    }
}

#[tokio::test]
async fn requests_without_a_key_are_refused() {
    let memory = shared_memory().await;
    let stranger = memory.lin.without_key();
    for (method, path) in [
        ("GET", "/memories"),
        ("POST", "/memories"),
        ("POST", "/search"),
        ("GET", "/entities"),
        ("POST", "/reset"),
        ("GET", "/v1/ping/"),
        ("POST", "/v3/memories/"),
        ("POST", "/v3/memories/search/"),
        ("GET", "/v1/entities/"),
        ("GET", "/configure"),
        ("DELETE", "/v1/batch/"),
    ] {
        let answer = stranger.request(method, path, Some(json!({}))).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.body["detail"].is_string() && answer.headers["www-authenticate"] == "Bearer");
    }
}
