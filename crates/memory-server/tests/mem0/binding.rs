//! A key reaches what it is bound to, and nothing else by any route.

use memory_engine_server::Access;
use serde_json::{Value, json};

use super::given::{Api, engine, texts};

const SECRET: &str = "The secret is hunter.";

/// A memory with a secret of Eve, one without a user, and one in another tenant; and the part of it that Lin, who has
/// a note, can see.
struct Shop {
    lin: Api,
    both: Api,
    all: Api,
    secrets: Vec<String>,
    own: String,
}

async fn shop() -> Shop {
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
        all.note(json!({"user_id": "eve", "agent_id": "kai", "run_id": "monday"}), SECRET).await,
        all.note(json!({"agent_id": "kai", "run_id": "monday"}), SECRET).await,
        other.note(json!({"user_id": "lin", "agent_id": "kai", "run_id": "monday"}), SECRET).await,
    ];
    all.post("/v1/memories/", json!({"messages": "secret app", "app_id": "app", "user_id": "eve", "infer": false}))
        .await;
    let own = lin.note(json!({"agent_id": "kai", "run_id": "monday"}), "Lin's own tea").await;
    both.note(json!({"user_id": "mei"}), "Mei's own tea").await;
    Shop { lin, both, all, secrets, own }
}

#[tokio::test]
async fn who_is_bound_to_one_user_writes_and_reads_as_that_user() {
    let shop = shop().await;
    let row = shop.lin.get(&format!("/memories/{}", shop.own)).await;
    assert_eq!(row["user_id"], "lin");
    assert_eq!(texts(&shop.lin.get("/memories").await), ["Lin's own tea"]);
    assert_eq!(texts(&shop.lin.post("/search", json!({"query": "tea"})).await), ["Lin's own tea"]);
    assert_eq!(texts(&shop.lin.post("/v3/memories/", json!({"filters": {}})).await), ["Lin's own tea"]);
    let mut of_both = texts(&shop.both.get("/memories").await);
    of_both.sort();
    assert_eq!(of_both, ["Lin's own tea", "Mei's own tea"]);
    assert_eq!(shop.both.ask("POST", "/memories", Some(json!({"messages": [], "agent_id": "kai"}))).await.status, 403);
}

#[tokio::test]
async fn no_body_names_another_user() {
    let shop = shop().await;
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
        let answer = shop.lin.ask(method, path, Some(body.clone())).await;
        assert_eq!(answer.status, 403, "{path} {body}: {}", answer.body);
        assert!(!answer.body.to_string().contains("hunter"));
    }
    for path in ["/memories?user_id=eve", "/memories?userId=eve", "/v1/memories/?user_id=eve"] {
        assert_eq!(shop.lin.ask("GET", path, None).await.status, 403, "{path}");
        assert_eq!(shop.lin.ask("DELETE", path, None).await.status, 403, "{path}");
    }
    let of_eve = texts(&shop.all.get("/memories?user_id=eve").await);
    assert_eq!(of_eve.len(), 2, "nothing was planted, nothing deleted: {of_eve:?}");
}

#[tokio::test]
async fn m1_no_filter_reaches_another_user_whatever_its_form() {
    let shop = shop().await;
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
        json!({"memory_ids": shop.secrets}),
        json!({"OR": [{"memory_ids": shop.secrets}, {"keywords": {"icontains": "hunter"}}]}),
        json!({"metadata": {"x": {"ne": 1}}}),
        json!({"metadata": {"user_id": "eve"}}),
        json!({"user_id": "lin", "OR": [{"user_id": "eve"}, {"text": "secret"}]}),
    ];
    for api in [&shop.lin, &shop.both] {
        for filter in &filters {
            for path in ["/v3/memories/", "/v3/memories/search/", "/v2/memories/", "/v2/memories/search/", "/search"] {
                let query = json!({"query": "secret hunter", "filters": filter, "threshold": 0, "top_k": 1000, "include_turns": true});
                let answer = api.ask("POST", path, Some(query)).await;
                assert!(matches!(answer.status, 200 | 400 | 403), "{path} {filter}: {}", answer.body);
                let told = answer.body.to_string();
                assert!(!told.contains("secret is") && !told.contains("secret app"), "{path} {filter}: {told}");
            }
        }
    }
    // The same filters do find it with a key that reaches it.
    let body = json!({"filters": {"OR": [{"user_id": "lin"}, {"user_id": "eve"}]}});
    assert!(texts(&shop.all.post("/v3/memories/", body).await).contains(&SECRET.to_owned()));
    // What is refused says nothing about whether there is such a user.
    let refused = |user: &'static str| {
        let lin = &shop.lin;
        async move { lin.ask("POST", "/search", Some(json!({"query": "x", "filters": {"user_id": user}}))).await }
    };
    assert_eq!(refused("eve").await, refused("nobody").await);
}

#[tokio::test]
async fn no_id_reaches_what_is_anothers() {
    let shop = shop().await;
    for id in &shop.secrets {
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
            ("DELETE", "/v1/batch/".into(), Some(json!({"memories": [{"memory_id": shop.own}, {"memory_id": id}]}))),
        ] {
            let answer = shop.lin.ask(method, &path, body).await;
            assert_eq!(answer.status, 404, "{method} {path}: {}", answer.body);
        }
        for path in [format!("/memories/{id}/history"), format!("/v1/memories/{id}/history/")] {
            assert_eq!(shop.lin.get(&path).await, json!([]), "{path}");
        }
    }
    assert_eq!(texts(&shop.all.get("/memories").await).iter().filter(|text| *text == SECRET).count(), 2);
    assert_eq!(shop.lin.get(&format!("/memories/{}", shop.own)).await["memory"], "Lin's own tea");
    // Nor does the history of what was deleted.
    shop.all.delete(&format!("/memories/{}", shop.secrets[0])).await;
    assert_eq!(shop.lin.get(&format!("/memories/{}/history", shop.secrets[0])).await, json!([]));
    assert_eq!(shop.all.get(&format!("/memories/{}/history", shop.secrets[0])).await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn no_list_of_entities_names_others_and_no_deletion_reaches_them() {
    let shop = shop().await;
    let names = |answer: Value| -> Vec<String> {
        let rows = answer.get("results").unwrap_or(&answer).as_array().unwrap().clone();
        rows.iter().map(|row| format!("{} {}", row["type"].as_str().unwrap(), row["id"].as_str().unwrap())).collect()
    };
    let own = ["user lin", "agent kai", "run monday"];
    assert_eq!(names(shop.lin.get("/entities").await), own);
    assert_eq!(names(shop.lin.get("/v1/entities/").await), own);
    let before = texts(&shop.all.get("/memories").await).len();
    for path in ["/entities/user/eve", "/v2/entities/user/eve/", "/v2/entities/user/nobody/"] {
        assert_eq!(shop.lin.ask("DELETE", path, None).await.status, 403, "{path}");
    }
    assert_eq!(shop.lin.ask("DELETE", "/v2/entities/app/app/", None).await.status, 404);
    assert_eq!(shop.lin.ask("POST", "/reset", Some(json!({}))).await.status, 403);
    // An agent is one's own agent, and not that of others.
    shop.lin.delete("/entities/agent/kai").await;
    shop.lin.delete("/memories?run_id=monday").await;
    shop.lin.delete("/v1/memories/?app_id=app").await;
    assert_eq!(texts(&shop.all.get("/memories").await).len(), before - 1);
}

#[tokio::test]
async fn no_page_reaches_behind_what_is_ones_own() {
    let shop = shop().await;
    for page in 1..5 {
        let body = json!({"filters": {"agent_id": "*"}, "page_size": 1, "page": page});
        let answer = shop.lin.post("/v3/memories/", body).await;
        assert_eq!((&answer["count"], answer.to_string().contains("hunter")), (&json!(1), false));
    }
}

#[tokio::test]
async fn who_shows_no_key_gets_nothing() {
    let shop = shop().await;
    let stranger = shop.lin.without_key();
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
        let answer = stranger.ask(method, path, Some(json!({}))).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.body["detail"].is_string() && answer.headers["www-authenticate"] == "Bearer");
    }
}
