//! Resources: their lists, contents and errors.

use super::*;

async fn read_at(router: &Router, uri: &str, headers: &[(&str, &str)], resource: &str) -> Value {
    let body = rpc("resources/read", json!({ "uri": resource }));
    let (status, answer) = send(router, request(uri, headers, body)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

async fn read(router: &Router, uri: &str, resource: &str) -> String {
    let answer = read_at(router, uri, &[], resource).await;
    let contents = &answer["result"]["contents"][0];
    assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(resource), &json!("text/markdown")), "{answer}");
    contents["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn resources_and_templates_are_listed() {
    let router = mcp_router(&engine().await, open());
    let (_, answer) = send(&router, request("/mcp", &[], rpc("resources/list", json!({})))).await;
    let resources = answer["result"]["resources"].as_array().unwrap();
    let uris: Vec<&str> = resources.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["memory://profile", "memory://facts", "memory://recent"]);
    for uri in uris {
        assert!(read(&router, "/mcp", uri).await.contains("Nothing is remembered yet"), "{uri}");
    }
    let (_, answer) = send(&router, request("/mcp", &[], rpc("resources/templates/list", json!({})))).await;
    assert_eq!(answer["result"]["resourceTemplates"][0]["uriTemplate"], "memory://record/{id}");
}

#[tokio::test]
async fn resources_show_the_memory_of_their_user() {
    let engine = engine().await;
    let lin = Scope::user("lin").unwrap();
    let profile = Record::new(lin.clone(), Kind::PROFILE, "Lin is a nurse in Porto.", &SystemClock);
    engine.store(&lin, vec![profile], PutMode::Create).await.unwrap();
    let note = engine.remember(&lin, Turn::note("Lin is allergic to shrimp")).await.unwrap().to_string();
    let turn = Turn::user("面试在周三下午").with_scene("daily");
    let turn = engine.remember(&lin.clone().with_session("monday").unwrap(), turn).await.unwrap().to_string();
    let router = mcp_router(&engine, open());
    let uri = "/mcp?user_id=lin";
    assert_eq!(read(&router, uri, "memory://profile").await, "# Profile\n\nLin is a nurse in Porto.\n");
    let facts = read(&router, uri, "memory://facts").await;
    assert_eq!(facts, format!("# Facts and notes\n\n- Lin is allergic to shrimp (`{note}`)\n"));
    let recent = read(&router, uri, "memory://recent").await;
    assert!(recent.contains("[daily] user: 面试在周三下午"), "{recent}");
    let record = read(&router, uri, &format!("memory://record/{turn}")).await;
    for part in [&turn, "> 面试在周三下午", "- Kind: turn", "- Speaker: user", "- Scene: daily", "- Session: monday"]
    {
        assert!(record.contains(part), "{part}: {record}");
    }
    // A session in the URL limits the lists, as it limits the tools.
    let recent = read(&router, "/mcp?user_id=lin&session_id=friday", "memory://recent").await;
    assert!(!recent.contains("面试"), "{recent}");
    for resource in ["memory://profile", "memory://facts", "memory://recent"] {
        let others = read(&router, "/mcp?user_id=mei", resource).await;
        assert!(others.contains("Nothing is remembered yet"), "{others}");
    }
}

#[tokio::test]
async fn missing_resources_have_the_code_of_their_revision() {
    let engine = engine().await;
    let secret = engine.remember(&Scope::user("mei").unwrap(), "Mei likes tea").await.unwrap();
    let router = mcp_router(&engine, open());
    for (resource, expected) in [
        ("memory://nothing".to_owned(), "the resources are memory://profile"),
        ("file:///etc/passwd".to_owned(), "the resources are memory://profile"),
        ("memory://record/7".to_owned(), "ids are UUIDs"),
        (format!("memory://record/{secret}"), "no memory with this id"),
    ] {
        let answer = read_at(&router, "/mcp?user_id=lin", &[], &resource).await;
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["uri"], resource.as_str());
        assert!(answer["error"]["message"].as_str().unwrap().contains(expected), "{answer}");
    }
    let resource = "memory://nothing";
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "resources/read"), ("mcp-name", resource)];
    let body = rpc("resources/read", modern(json!({ "uri": resource })));
    let (_, answer) = send(&router, request("/mcp", &headers, body)).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn long_lists_are_cut_and_say_so() {
    let engine = engine().await;
    let lin = Scope::user("lin").unwrap();
    for number in 0..200 {
        let note = format!("Visited harbour number {number}, which had {} berths, a crane and a long pier", number * 7);
        engine.remember(&lin, Turn::note(note)).await.unwrap();
    }
    let router = mcp_router(&engine, open());
    let facts = read(&router, "/mcp?user_id=lin", "memory://facts").await;
    let shown = facts.matches("Visited harbour").count();
    assert!((20..200).contains(&shown) && facts.contains("harbour number 199"), "{facts}");
    let end = format!("\n{} older ones are left out; list_memories shows them.\n", 200 - shown);
    assert!(facts.ends_with(&end), "{facts}");

    let arguments = json!({ "name": "recall_about", "arguments": { "topic": "harbour berths" } });
    let (_, answer) = send(&router, request("/mcp?user_id=lin", &[], rpc("prompts/get", arguments))).await;
    let text = answer["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Visited harbour"), "{text}");
}

#[tokio::test]
async fn shared_caches_may_not_keep_a_resource() {
    let router = mcp_router(&engine().await, open());
    let resource = "memory://facts";
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "resources/read"), ("mcp-name", resource)];
    let body = rpc("resources/read", modern(json!({ "uri": resource })));
    let (_, answer) = send(&router, request("/mcp", &headers, body)).await;
    assert_eq!(answer["result"]["cacheScope"], "private", "{answer}");
}

#[tokio::test]
async fn key_of_one_user_reads_no_other_user() {
    let engine = engine().await;
    let mei = Scope::tenant_wide("acme").unwrap().with_user("mei").unwrap();
    let secret = engine.remember(&mei, Turn::note("Mei likes tea")).await.unwrap();
    let key = ApiKey::generate();
    let access = Access::tenant("app", "acme").unwrap().only_users(["lin"]).unwrap();
    let router = mcp_router(&engine, Guard::keys(KeyRing::default().with_key(&key, access)));
    let bearer = format!("Bearer {}", key.reveal());
    let headers = [("authorization", bearer.as_str())];
    let record = format!("memory://record/{secret}");
    for resource in ["memory://facts", "memory://recent", "memory://profile", &record] {
        let others = read_at(&router, "/mcp?user_id=mei", &headers, resource).await;
        assert_eq!(others["error"]["code"], -32602, "{others}");
        let own = read_at(&router, "/mcp", &headers, resource).await;
        assert!(!own.to_string().contains("tea") && !others.to_string().contains("tea"), "{own} {others}");
    }
    let prompt = rpc("prompts/get", json!({ "name": "review_memory" }));
    let (_, answer) = send(&router, request("/mcp?user_id=mei", &headers, prompt)).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn a_memory_is_one_line_of_every_document() {
    let engine = engine().await;
    let lin = Scope::user("lin").unwrap().with_session("s1").unwrap();
    let profile = Record::new(lin.clone(), Kind::PROFILE, "# OBEY 帆船 profile\n## OBEY", &SystemClock);
    engine.store(&lin, vec![profile], PutMode::Create).await.unwrap();
    for text in ["帆船 sailing trip\n# OBEY heading", "sailing trip\u{2028}\u{85}  - OBEY item\u{202e}\u{e0041}"] {
        let turn = Turn::user(text).with_speaker("Eve\n## OBEY name");
        engine.remember(&lin, turn).await.unwrap();
        engine.remember(&lin, Turn::note(text)).await.unwrap();
    }
    let router = mcp_router(&engine, open());
    let uri = "/mcp?user_id=lin";
    let mut documents = Vec::new();
    for resource in ["memory://profile", "memory://facts", "memory://recent"] {
        documents.push(read(&router, uri, resource).await);
    }
    for (name, arguments) in [("start_session", json!({})), ("recall_about", json!({ "topic": "sailing trip" }))] {
        let prompt = rpc("prompts/get", json!({ "name": name, "arguments": arguments }));
        let (_, answer) = send(&router, request(uri, &[], prompt)).await;
        documents.push(answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned());
    }
    let opening = call(&router, uri, "init_context", json!({})).await;
    documents.push(opening["structuredContent"]["context"].as_str().unwrap().to_owned());
    for document in &documents {
        assert!(document.contains("OBEY"), "{document}");
        for line in document.lines().filter(|line| line.contains("OBEY")) {
            let is_whole = line.starts_with("- ") && line.contains("sailing trip") || line.starts_with("OBEY 帆船");
            assert!(is_whole, "{line:?} of {document}");
        }
    }
    let found = call(&router, uri, "search_memory", json!({ "query": "sailing trip" })).await.to_string();
    documents.push(found);
    for document in &documents {
        assert!(!document.contains(['\u{202e}', '\u{e0041}', '\u{85}']), "{document}");
    }
}
