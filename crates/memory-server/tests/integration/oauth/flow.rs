//! The flow of a client, from the refusal of MCP to the end of its tokens.

use super::*;

#[tokio::test]
async fn a_client_finds_the_way_from_the_refusal_to_the_memory() {
    let served = Served::new().await;
    let refused = served.post_json("/mcp", &json!({})).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let metadata_url = format!("{ISSUER}/.well-known/oauth-protected-resource/mcp");
    assert_eq!(refused.header("www-authenticate"), format!("Bearer resource_metadata=\"{metadata_url}\""));

    let resource = served.get(metadata_url.strip_prefix(ISSUER).unwrap(), &[]).await.json();
    assert_eq!(resource["resource"], RESOURCE);
    assert_eq!(resource["authorization_servers"], json!([ISSUER]));
    assert_eq!(served.get("/.well-known/oauth-protected-resource", &[]).await.json(), resource);
    let server = served.get("/.well-known/oauth-authorization-server", &[]).await.json();
    assert_eq!(server["issuer"], ISSUER);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["authorization_response_iss_parameter_supported"], true);
    for name in ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"] {
        assert!(server[name].as_str().unwrap().starts_with("https://memory.example/oauth/"), "{server}");
    }

    let registered = served.post_json("/oauth/register", &app()).await;
    assert_eq!(registered.json()["token_endpoint_auth_method"], "none");
    assert_eq!(registered.json()["redirect_uris"], app()["redirect_uris"]);
    let client = registered.json()["client_id"].as_str().unwrap().to_owned();
    let answer = served.enter_key(&client, served.key.reveal()).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(answer.header("location").starts_with("https://app.example/callback?code="));
    assert_eq!(answer.parameter("state").unwrap(), "st%26te");
    assert_eq!(answer.parameter("iss").unwrap(), "https%3A%2F%2Fmemory.example");
    let answer = served.exchange(&client, &answer.parameter("code").unwrap(), &[]).await;
    assert_eq!((&answer.json()["token_type"], &answer.json()["expires_in"]), (&json!("Bearer"), &json!(3600)));
    assert_eq!(answer.header("cache-control"), "no-store");
    let (access, _) = tokens(&answer);

    let added = served.call_tool(&access, "/mcp?user_id=lin", "add_memory", json!({ "text": "Lin drinks tea." })).await;
    assert_eq!((added.status, &added.json()["result"]["isError"]), (StatusCode::OK, &json!(false)), "{}", added.text);
    let listed = served.call_tool(served.key.reveal(), "/mcp/?user_id=lin", "list_memories", json!({})).await;
    assert!(listed.text.contains("Lin drinks tea."), "with the key itself: {}", listed.text);
}

#[tokio::test]
async fn a_token_has_exactly_the_access_of_the_key() {
    let served = Served::new().await;
    let (_, access, _) = served.connect(&served.key_of_lin).await;
    let own = served.call_tool(&access, "/mcp", "add_memory", json!({ "text": "tea" })).await;
    assert_eq!(own.json()["result"]["structuredContent"]["user_id"], "lin", "{}", own.text);
    let other = served.call_tool(&access, "/mcp", "list_memories", json!({ "user_id": "mei" })).await;
    assert!(other.text.contains("no access to that user"), "{}", other.text);
}

#[tokio::test]
async fn a_token_is_valid_for_mcp_only() {
    let served = Served::new().await;
    let (client, access, refresh) = served.connect(&served.key).await;
    for (name, value) in [("authorization", format!("Bearer {access}")), ("x-api-key", access.clone())] {
        let answer = served.get("/memories?user_id=lin", &[(name, &value)]).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{name}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let code = served.code(&client, &served.key).await;
    for other in [refresh.as_str(), &client, &code, "", "a.b", &served.key.hash()] {
        assert_eq!(served.status(other).await, StatusCode::UNAUTHORIZED, "{other}");
    }
}

#[tokio::test]
async fn an_access_token_ends_after_an_hour_and_is_refreshed() {
    let served = Served::new().await;
    let (client, access, refresh) = served.connect(&served.key).await;
    served.advance(3599);
    assert_eq!(served.status(&access).await, StatusCode::OK);
    served.advance(1);
    let expired = served.call_tool(&access, "/mcp", "list_memories", json!({})).await;
    assert_eq!(expired.status, StatusCode::UNAUTHORIZED);
    assert!(expired.header("www-authenticate").ends_with("error=\"invalid_token\""));
    let (access, refresh) = tokens(&served.refresh(&client, &refresh).await);
    assert_eq!(served.status(&access).await, StatusCode::OK);
    served.advance(30 * 24 * 3600 - 1);
    let (_, refresh) = tokens(&served.refresh(&client, &refresh).await);
    served.advance(30 * 24 * 3600);
    assert_error(&served.refresh(&client, &refresh).await, "invalid_grant");
}

#[tokio::test]
async fn repeated_use_of_a_refresh_token_ends_all_tokens() {
    let served = Served::new().await;
    let (client, _, first) = served.connect(&served.key).await;
    let (_, _, other_grant) = served.connect(&served.key).await;
    let (access, second) = tokens(&served.refresh(&client, &first).await);
    assert_error(&served.refresh(&client, &first).await, "invalid_grant");
    assert_eq!(served.status(&access).await, StatusCode::OK, "a client may repeat a request within seconds");
    served.advance(10);
    assert_error(&served.refresh(&client, &first).await, "invalid_grant");
    assert_eq!(served.status(&access).await, StatusCode::UNAUTHORIZED);
    assert_error(&served.refresh(&client, &second).await, "invalid_grant");
    tokens(&served.refresh(&client, &other_grant).await);
}

#[tokio::test]
async fn a_revoked_token_ends_with_all_tokens_of_its_grant() {
    let served = Served::new().await;
    for is_access in [true, false] {
        let (client, access, refresh) = served.connect(&served.key).await;
        let token = if is_access { &access } else { &refresh };
        let other = served.register(json!({ "redirect_uris": [CALLBACK] })).await;
        let fields = |client| [("token", token.as_str()), ("client_id", client)];
        assert_error(&served.post_form("/oauth/revoke", &fields(&other), &[]).await, "invalid_grant");
        assert_eq!(served.status(&access).await, StatusCode::OK);
        assert_eq!(served.post_form("/oauth/revoke", &fields(&client), &[]).await.status, StatusCode::OK);
        assert_eq!(served.status(&access).await, StatusCode::UNAUTHORIZED);
        assert_error(&served.refresh(&client, &refresh).await, "invalid_grant");
    }
    let unknown = served.post_form("/oauth/revoke", &[("token", "nonsense")], &[]).await;
    assert_eq!(unknown.status, StatusCode::OK);
    assert_error(&served.post_form("/oauth/revoke", &[], &[]).await, "invalid_request");
}

#[tokio::test]
async fn tokens_survive_a_restart_and_end_with_the_key() {
    let mut served = Served::new().await;
    let (client, access, refresh) = served.connect(&served.key).await;
    let (key, key_of_lin) = (served.key.clone(), served.key_of_lin.clone());
    served.restart(&[&key, &key_of_lin], SECRET);
    assert_eq!(served.status(&access).await, StatusCode::OK);
    let (access, refresh) = tokens(&served.refresh(&client, &refresh).await);
    served.restart(&[&key_of_lin], SECRET);
    assert_eq!(served.status(&access).await, StatusCode::UNAUTHORIZED);
    assert_error(&served.refresh(&client, &refresh).await, "invalid_grant");
    served.restart(&[&key, &key_of_lin], "another secret of 32 characters …");
    assert_eq!(served.status(&access).await, StatusCode::UNAUTHORIZED);
    assert_error(&served.refresh(&client, &refresh).await, "invalid_client");
}
