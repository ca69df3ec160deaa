//! Requests that are refused.

use super::*;

#[tokio::test]
async fn a_code_is_valid_once_for_its_client_verifier_and_redirect_uri() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    let other = served.register(json!({ "client_name": "Other", "redirect_uris": [CALLBACK] })).await;
    for (name, value, error) in [
        ("code_verifier", "a-wrong-verifier-of-43-characters-0123456789", "invalid_grant"),
        ("redirect_uri", "https://app.example/other", "invalid_grant"),
        ("client_id", other.as_str(), "invalid_grant"),
        ("client_id", "nonsense", "invalid_client"),
        ("client_id", "", "invalid_request"),
        ("code_verifier", "", "invalid_request"),
        ("code", "nonsense", "invalid_grant"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("grant_type", "", "invalid_request"),
        ("resource", "https://memory.example/v1", "invalid_target"),
        ("resource", "https://other.example/mcp", "invalid_target"),
    ] {
        let code = served.code(&client, &served.key).await;
        let answer = served.exchange(&client, &code, &[(name, value)]).await;
        assert_error(&answer, error);
        assert!(answer.header("cache-control").contains("no-store"), "{name}");
    }
    let wrong = served.code(&client, &served.key).await;
    served.exchange(&client, &wrong, &[("code_verifier", "wrong")]).await;
    assert_error(&served.exchange(&client, &wrong, &[]).await, "invalid_grant");
    let late = served.code(&client, &served.key).await;
    served.advance(60);
    assert_error(&served.exchange(&client, &late, &[]).await, "invalid_grant");
    // Without the optional fields.
    let code = served.code(&client, &served.key).await;
    tokens(&served.exchange(&client, &code, &[("redirect_uri", ""), ("resource", "")]).await);
}

#[tokio::test]
async fn a_repeated_code_ends_the_tokens_of_the_first_use() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    let code = served.code(&client, &served.key).await;
    let (access, refresh) = tokens(&served.exchange(&client, &code, &[]).await);
    assert_error(&served.exchange(&client, &code, &[]).await, "invalid_grant");
    assert_eq!(served.status(&access).await, StatusCode::UNAUTHORIZED);
    assert_error(&served.refresh(&client, &refresh).await, "invalid_grant");
}

#[tokio::test]
async fn a_refresh_token_is_of_one_client_and_one_kind() {
    let served = Served::new().await;
    let (client, access, refresh) = served.connect(&served.key).await;
    let other = served.register(json!({ "redirect_uris": [CALLBACK] })).await;
    assert_error(&served.refresh(&other, &refresh).await, "invalid_grant");
    assert_error(&served.refresh(&client, &access).await, "invalid_grant");
    let (payload, signature) = refresh.split_once('.').unwrap();
    for changed in [format!("{payload}.{}", signature.replace(|_| true, "A")), payload.to_owned()] {
        assert_error(&served.refresh(&client, &changed).await, "invalid_grant");
    }
    tokens(&served.refresh(&client, &refresh).await);
}

#[tokio::test]
async fn no_request_is_redirected_before_the_person_acts() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    for (changes, expected, has_link) in [
        (&[("client_id", "nonsense")][..], "not registered", false),
        (&[("client_id", "")], "not registered", false),
        (&[("redirect_uri", "")], "did not register", false),
        (&[("redirect_uri", "https://evil.example/")], "did not register", false),
        (&[("redirect_uri", "https://app.example/callback/../evil")], "did not register", false),
        (&[("redirect_uri", "https://app.example/callback?x=1")], "did not register", false),
        (&[("redirect_uri", "http://127.0.0.1:33418/")], "did not register", false),
        (&[("redirect_uri", "javascript:alert(1)")], "did not register", false),
        (&[("response_type", "token")], "unsupported_response_type", true),
        (&[("response_mode", "fragment")], "response_mode must be query", true),
        (&[("code_challenge", "")], "code_challenge is missing", true),
        (&[("code_challenge", "short")], "43 characters", true),
        (&[("code_challenge_method", "plain")], "must be S256", true),
        (&[("code_challenge_method", "")], "must be S256", true),
        (&[("resource", "https://memory.example/")], "invalid_target", true),
        (&[("state", "one"), ("state", "two")], "occurs twice", false),
    ] {
        let answer = served.open(&client, changes).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{changes:?}");
        assert!(!answer.headers.contains_key("location"), "{changes:?}");
        assert!(answer.text.contains(expected), "{changes:?}: {}", answer.text);
        assert_eq!(answer.text.contains("href=\"https://app.example/callback?error="), has_link, "{}", answer.text);
        assert!(!answer.text.contains("<form"), "{changes:?}");
    }
}

#[tokio::test]
async fn the_port_of_a_local_program_may_differ() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    let page = served.open(&client, &[("redirect_uri", "http://localhost:50123/")]).await;
    assert_eq!(page.status, StatusCode::OK);
    let fields = [("request", page.signed_request()), ("key", format!(" {} ", served.key.reveal()))];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let answer = served.post_form("/oauth/authorize", &fields, &[]).await;
    assert!(answer.header("location").starts_with("http://localhost:50123/?code="), "{:?}", answer.headers);
}

#[tokio::test]
async fn a_form_is_valid_for_ten_minutes_and_from_this_site() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    let request = served.open(&client, &[]).await.signed_request();
    let key = served.key.reveal();
    let post = async |request: &str, headers: &[(&str, &str)]| {
        served.post_form("/oauth/authorize", &[("request", request), ("key", key)], headers).await
    };
    assert_eq!(post(&request, &[("sec-fetch-site", "same-origin")]).await.status, StatusCode::SEE_OTHER);
    assert!(post(&request, &[("sec-fetch-site", "cross-site")]).await.text.contains("another site"));
    let (payload, signature) = request.split_once('.').unwrap();
    let other = served.open(&client, &[("state", "other")]).await.signed_request();
    let (other_payload, _) = other.split_once('.').unwrap();
    for changed in [format!("{other_payload}.{signature}"), payload.to_owned(), client.clone(), String::new()] {
        let answer = post(&changed, &[]).await;
        assert!(answer.status == StatusCode::BAD_REQUEST && answer.text.contains("too old"), "{}", answer.text);
    }
    served.advance(600);
    assert!(post(&request, &[]).await.text.contains("too old"));
}

#[tokio::test]
async fn a_registration_without_an_allowed_address_is_refused() {
    let served = Served::new().await;
    for (body, error) in [
        (json!({ "redirect_uris": ["http://app.example/"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": [] }), "invalid_redirect_uri"),
        (json!({}), "invalid_redirect_uri"),
        (json!({ "redirect_uris": "https://app.example/" }), "invalid_client_metadata"),
        (json!([]), "invalid_client_metadata"),
    ] {
        let answer = served.post_json("/oauth/register", &body).await;
        assert_error(&answer, error);
    }
    let large = json!({ "redirect_uris": [CALLBACK], "client_name": "x".repeat(70_000) });
    let answer = served.post_json("/oauth/register", &large).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_error(&answer, "invalid_request");
    let json_body = served.post_json("/oauth/token", &json!({ "grant_type": "refresh_token" })).await;
    assert_error(&json_body, "invalid_request");
    assert!(json_body.text.contains("application/x-www-form-urlencoded"), "{}", json_body.text);
}
