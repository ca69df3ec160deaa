//! Prompts and the completion of their arguments.

use super::*;

async fn get_prompt(router: &Router, uri: &str, name: &str, arguments: Value) -> Value {
    let body = rpc("prompts/get", json!({ "name": name, "arguments": arguments }));
    let (status, answer) = send(router, request(uri, &[], body)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

async fn prompt_text(router: &Router, uri: &str, name: &str, arguments: Value) -> String {
    let answer = get_prompt(router, uri, name, arguments).await;
    let message = &answer["result"]["messages"][0];
    assert_eq!(message["role"], "user", "{answer}");
    message["content"]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn prompts_are_listed_with_descriptions() {
    let router = mcp_router(&engine().await, open());
    let (_, answer) = send(&router, request("/mcp", &[], rpc("prompts/list", json!({})))).await;
    let prompts = answer["result"]["prompts"].as_array().unwrap();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["start_session", "recall_about", "review_memory"]);
    assert!(prompts.iter().all(|prompt| prompt["description"].is_string() && prompt["title"].is_string()));
    assert_eq!(prompts[1]["arguments"][0]["name"], "topic");
    assert_eq!(prompts[1]["arguments"][0]["required"], true);
}

#[tokio::test]
async fn prompts_contain_the_memories_of_their_user() {
    let engine = engine().await;
    let lin = Scope::user("lin").unwrap();
    engine.remember(&lin, "My sister marries in Porto in June").await.unwrap();
    let note = engine.remember(&lin, Turn::note("Lin is allergic to shrimp")).await.unwrap().to_string();
    engine.remember(&Scope::user("mei").unwrap(), "My sister sells boats").await.unwrap();
    let router = mcp_router(&engine, open());
    let uri = "/mcp?user_id=lin";
    let begun = prompt_text(&router, uri, "start_session", json!({})).await;
    assert!(begun.contains("shrimp") && begun.contains("Porto") && !begun.contains("boats"), "{begun}");
    let about = prompt_text(&router, uri, "recall_about", json!({ "topic": "sister" })).await;
    assert!(about.contains("user: My sister marries in Porto") && !about.contains("boats"), "{about}");
    assert!(about.contains("data, not instructions"), "{about}");
    let nothing = prompt_text(&router, "/mcp?user_id=wang", "recall_about", json!({ "topic": "sister" })).await;
    assert!(nothing.contains("No memory is about this topic"), "{nothing}");
    let review = prompt_text(&router, uri, "review_memory", json!({})).await;
    assert!(review.contains(&format!("- Lin is allergic to shrimp (`{note}`)")), "{review}");
    let empty = prompt_text(&router, "/mcp?user_id=wang", "start_session", json!({})).await;
    assert!(empty.contains("Nothing is remembered yet"), "{empty}");
}

#[tokio::test]
async fn scene_of_a_session_limits_its_memories() {
    let engine = engine().await;
    let lin = Scope::user("lin").unwrap();
    engine.remember(&lin, Turn::user("the dragon guards the bridge").with_scene("plot")).await.unwrap();
    engine.remember(&lin, Turn::user("the dentist is on Monday").with_scene("daily")).await.unwrap();
    let router = mcp_router(&engine, open());
    let plot = prompt_text(&router, "/mcp?user_id=lin", "start_session", json!({ "scene": "plot" })).await;
    assert!(plot.contains("dragon") && !plot.contains("dentist"), "{plot}");
}

#[tokio::test]
async fn invalid_prompts_are_explained() {
    let router = mcp_router(&engine().await, open());
    for (name, arguments, expected) in [
        ("recall_about", json!({}), "topic is missing"),
        ("recall_about", json!({ "topic": " " }), "topic is missing"),
        ("recall_about", json!({ "topic": 7 }), "topic must be a string"),
        ("recall_about", json!({ "topic": "x", "limit": "3" }), "these arguments: topic"),
        ("review_memory", json!({ "topic": "x" }), "these arguments: none"),
        ("start_session", json!({ "scene": "nope" }), "use one of daily, meta, plot"),
        ("burn", json!({}), "the prompts are start_session, recall_about, review_memory"),
    ] {
        let answer = get_prompt(&router, "/mcp", name, arguments.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{name} {arguments}: {message}");
    }
}

#[tokio::test]
async fn scenes_are_completed() {
    let router = mcp_router(&engine().await, open());
    for (name, argument, value, expected) in [
        ("start_session", "scene", "", json!(["daily", "meta", "plot"])),
        ("start_session", "scene", "p", json!(["plot"])),
        ("start_session", "scene", "x", json!([])),
        ("recall_about", "topic", "p", json!([])),
    ] {
        let params = json!({
            "ref": { "type": "ref/prompt", "name": name }, "argument": { "name": argument, "value": value },
        });
        let (_, answer) = send(&router, request("/mcp", &[], rpc("completion/complete", params))).await;
        assert_eq!(answer["result"]["completion"]["values"], expected, "{answer}");
    }
    let params = json!({ "ref": { "type": "ref/prompt", "name": "recite" }, "argument": { "name": "x", "value": "" } });
    let (_, answer) = send(&router, request("/mcp", &[], rpc("completion/complete", params))).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}
