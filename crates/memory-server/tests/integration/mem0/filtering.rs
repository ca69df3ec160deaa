//! Both grammars of filters.

use serde_json::{Value, json};

use super::fixtures::Api;

/// Returns the routes over notes of Lin and Mei, of two agents, with metadata.
async fn api_with_notes() -> Api {
    let api = Api::open().await;
    api.add_note_with(
        json!({"user_id": "lin", "agent_id": "kai", "run_id": "monday"}),
        "Green tea",
        json!({"n": 1, "tag": "drink", "list": ["a", "b"]}),
    )
    .await;
    api.add_note_with(
        json!({"user_id": "lin", "agent_id": "zoe"}),
        "Black tea",
        json!({"n": 2, "tag": "Drinks", "hot": true, "type": "leaf"}),
    )
    .await;
    api.add_note_with(json!({"user_id": "lin"}), "White tea", json!({"n": 3})).await;
    api.add_note_with(json!({"user_id": "mei", "agent_id": "kai"}), "Herbal tea", json!({"n": 1})).await;
    api
}

async fn search_sorted(api: &Api, filters: Value) -> Vec<String> {
    let mut texts: Vec<String> =
        api.search_texts("tea", filters).await.iter().map(|text| text.replace(" tea", "")).collect();
    texts.sort();
    texts
}

async fn list_sorted(api: &Api, filters: Value) -> Vec<String> {
    api.list_texts(filters).await.iter().map(|text| text.replace(" tea", "")).collect()
}

#[tokio::test]
async fn m9_open_source_grammar() {
    let api = api_with_notes().await;
    let lin = |more: Value| {
        let mut filter = json!({"user_id": "lin"});
        filter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        filter
    };
    let rows: [(Value, &[&str]); 29] = [
        (lin(json!({})), &["Black", "Green", "White"]),
        (json!({"userId": "lin"}), &["Black", "Green", "White"]),
        (json!({"agent_id": "kai"}), &["Green", "Herbal"]),
        (lin(json!({"agent_id": "kai"})), &["Green"]),
        (json!({"run_id": "monday"}), &["Green"]),
        (lin(json!({"agent_id": "*"})), &["Black", "Green"]),
        (json!({"user_id": "*"}), &["Black", "Green", "Herbal", "White"]),
        (json!({"user_id": {"in": ["lin", "mei"]}, "n": 1}), &["Green", "Herbal"]),
        (json!({"user_id": {"ne": "lin"}}), &["Herbal"]),
        (json!({"user_id": {"nin": ["mei"]}}), &["Black", "Green", "White"]),
        (lin(json!({"n": 1})), &["Green"]),
        (lin(json!({"n": {"gte": 2}})), &["Black", "White"]),
        (lin(json!({"n": {"gt": 1, "lt": 3}})), &["Black"]),
        (lin(json!({"n": {"lte": 1}})), &["Green"]),
        (lin(json!({"n": {"ne": 1}})), &["Black", "White"]),
        (lin(json!({"n": {"in": [1, 3]}})), &["Green", "White"]),
        (lin(json!({"n": {"nin": [1, 3]}})), &["Black"]),
        (lin(json!({"hot": true})), &["Black"]),
        (lin(json!({"tag": "*"})), &["Black", "Green"]),
        (lin(json!({"tag": {"contains": "drink"}})), &["Green"]),
        (lin(json!({"tag": {"icontains": "DRINK"}})), &["Black", "Green"]),
        (lin(json!({"list": {"contains": "a"}})), &["Green"]),
        (lin(json!({"list": "b"})), &["Green"]),
        (lin(json!({"type": "leaf"})), &["Black"]),
        (lin(json!({"OR": [{"n": 1}, {"n": 2}]})), &["Black", "Green"]),
        (lin(json!({"AND": [{"n": {"gt": 1}}, {"tag": "*"}]})), &["Black"]),
        (lin(json!({"NOT": [{"n": 1}, {"n": 2}]})), &["White"]),
        (lin(json!({"NOT": [{"tag": {"icontains": "drink"}}]})), &["White"]),
        (lin(json!({"OR": [{"NOT": [{"tag": {"contains": "drink"}}]}, {"n": 3}]})), &["Black", "White"]),
    ];
    for (filter, expected) in rows {
        assert_eq!(search_sorted(&api, filter.clone()).await, expected, "{filter}");
    }
}

#[tokio::test]
async fn m9_platform_grammar() {
    let api = api_with_notes().await;
    let rows: [(Value, &[&str]); 27] = [
        (json!({"user_id": "lin"}), &["Black", "Green", "White"]),
        (json!({"AND": [{"user_id": "lin"}]}), &["Black", "Green", "White"]),
        (json!({"AND": [{"user_id": "lin"}, {"agent_id": "kai"}]}), &["Green"]),
        (json!({"OR": [{"user_id": "mei"}, {"agent_id": "zoe"}]}), &["Black", "Herbal"]),
        (json!({"OR": [{"user_id": "mei"}, {"user_id": "lin", "run_id": "monday"}]}), &["Green", "Herbal"]),
        (json!({"NOT": {"user_id": "lin"}}), &["Herbal"]),
        (json!({"NOT": [{"user_id": "mei"}, {"agent_id": "zoe"}]}), &["Green", "White"]),
        (json!({"user_id": "*", "agent_id": "kai"}), &["Green", "Herbal"]),
        (json!({"agentId": "kai"}), &["Green", "Herbal"]),
        (json!({"user_id": {"in": ["mei"]}}), &["Herbal"]),
        (json!({"agent_id": {"ne": "kai"}}), &["Black", "White"]),
        (
            json!({"user_id": "lin", "created_at": {"gte": "2020-01-01", "lt": "2999-01-01"}}),
            &["Black", "Green", "White"],
        ),
        (json!({"user_id": "lin", "created_at": {"lt": "2020-01-01T00:00:00Z"}}), &[]),
        (json!({"user_id": "lin", "updated_at": {"gt": 1_500_000_000}}), &["Black", "Green", "White"]),
        (json!({"user_id": "lin", "timestamp": "2020-01-01"}), &[]),
        (json!({"user_id": "lin", "metadata": {"n": 1}}), &["Green"]),
        (json!({"user_id": "lin", "metadata": {"n": {"ne": 1}}}), &["Black", "White"]),
        (json!({"user_id": "lin", "metadata": {"tag": {"contains": "rink"}}}), &["Black", "Green"]),
        (json!({"user_id": "lin", "metadata": {"type": "leaf"}}), &["Black"]),
        (json!({"user_id": "lin", "keywords": {"icontains": "green"}}), &["Green"]),
        (json!({"user_id": "lin", "keywords": {"contains": "green"}}), &[]),
        (json!({"user_id": "lin", "keywords_search": "white"}), &["White"]),
        (json!({"user_id": "lin", "text": {"contains": "Black"}}), &["Black"]),
        (json!({"user_id": "lin", "NOT": {"keywords": {"icontains": "GREEN"}}}), &["Black", "White"]),
        (json!({"user_id": "lin", "categories": {"in": ["tea"]}}), &[]),
        (json!({"user_id": "lin", "expiration_date": "*"}), &[]),
        (json!({"user_id": "lin", "memory_ids": ["0198c5a2-7b1e-7c3a-9f00-2f6d1e9b7a10"]}), &[]),
    ];
    for (filter, expected) in rows {
        assert_eq!(list_sorted(&api, filter.clone()).await, expected, "{filter}");
        let body = json!({"query": "tea", "filters": filter, "threshold": 0.0, "top_k": 100});
        let mut searched = super::fixtures::texts(&api.post("/v3/memories/search/", body).await);
        searched.sort();
        assert_eq!(searched, expected.iter().map(|text| format!("{text} tea")).collect::<Vec<_>>(), "{filter}");
    }
}

#[tokio::test]
async fn memories_are_listed_by_their_ids() {
    let api = api_with_notes().await;
    let id = api.add_note(json!({"user_id": "lin"}), "Rooibos tea").await;
    for filter in [json!({"memory_ids": [id]}), json!({"user_id": "lin", "memory_ids": {"in": [id]}})] {
        assert_eq!(list_sorted(&api, filter).await, ["Rooibos"]);
    }
}

#[tokio::test]
async fn an_invalid_filter_is_refused_and_never_ignored() {
    let api = api_with_notes().await;
    let platform = [
        json!({"user_id": "lin", "colour": "green"}),
        json!({"user_id": "lin", "user": "mei"}),
        json!({"user_id": null}),
        json!({"user_id": ""}),
        json!({"user_id": {}}),
        json!({"user_id": {"gt": "a"}}),
        json!({"user_id": {"nin": ["mei"]}}),
        json!({"user_id": {"like": "l"}}),
        json!({"user_id": {"in": "lin"}}),
        json!({"user_id": ["lin", null]}),
        json!({"AND": {"user_id": "lin"}}),
        json!({"AND": []}),
        json!({"OR": ["lin"]}),
        json!({"and": [{"user_id": "lin"}]}),
        json!({"user_id": "lin", "metadata": "x"}),
        json!({"user_id": "lin", "metadata": {"a": {"b": 1}}}),
        json!({"user_id": "lin", "metadata": {"a b": 1}}),
        json!({"user_id": "lin", "created_at": "yesterday"}),
        json!({"user_id": "lin", "memory_ids": ["x"]}),
        json!({"user_id": "lin", "expiration_date": {"lt": "soon"}}),
        json!({}),
        json!("user_id"),
    ];
    for filter in platform {
        for path in ["/v3/memories/", "/v3/memories/search/", "/v2/memories/", "/v2/memories/search/"] {
            let answer = api.request("POST", path, Some(json!({"query": "tea", "filters": filter}))).await;
            assert_eq!(answer.status, 400, "{path} {filter}: {}", answer.body);
            assert_eq!(answer.body["detail"], answer.body["error"]);
        }
    }
    let mut deep = json!({"user_id": "lin"});
    for _ in 0..40 {
        deep = json!({"NOT": deep});
    }
    assert_eq!(api.request("POST", "/v3/memories/", Some(json!({"filters": deep}))).await.status, 400);
    let many: Vec<Value> = (0..2000).map(|n| json!({"metadata": {"n": n}})).collect();
    let filter = json!({"user_id": "lin", "OR": many});
    assert_eq!(api.request("POST", "/v3/memories/", Some(json!({"filters": filter}))).await.status, 400);
    for filter in [
        json!({"user_id": "lin", "OR": [{"user_id": null}]}),
        json!({"user_id": "lin", "a": {"b": {"c": 1}}}),
        json!({"user_id": "lin", "or": [{"a": 1}]}),
    ] {
        let answer = api.request("POST", "/search", Some(json!({"query": "tea", "filters": filter}))).await;
        assert_eq!(answer.status, 400, "{filter}: {}", answer.body);
    }
}
