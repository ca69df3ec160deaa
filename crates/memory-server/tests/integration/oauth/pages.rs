//! The pages that a person sees.

use tokio::time::Instant;

use super::*;

#[tokio::test]
async fn the_page_names_the_client_in_the_language_of_the_browser() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    let path = format!("/oauth/authorize?{}", encode(&authorization(&client, &[])));
    for (language, expected) in [("en-GB", "asks for access"), ("zh-CN,zh;q=0.9,en;q=0.5", "请求访问")] {
        let page = served.get(&path, &[("accept-language", language)]).await;
        assert_eq!((page.status, page.header("content-type")), (StatusCode::OK, "text/html; charset=utf-8"));
        for text in [expected, "Test app", "app.example", "https://app.example/callback?error=access_denied&amp;state="]
        {
            assert!(page.text.contains(text), "{text}: {}", page.text);
        }
        assert!(!page.text.contains("<script") && !page.text.contains("{{"), "{}", page.text);
        for (name, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(page.header(name), value);
        }
        let policy = page.header("content-security-policy");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(policy.contains("form-action 'self' https: http:;"), "{policy}");
    }
}

#[tokio::test]
async fn the_text_of_a_client_is_no_html() {
    let served = Served::new().await;
    let name = "\"><script>alert(1)</script><form action='//evil.example'>{{&style}}";
    let client = served.register(json!({ "client_name": name, "redirect_uris": [CALLBACK] })).await;
    let page = served.open(&client, &[("state", "\"><img src=x>")]).await;
    assert_eq!(page.text.matches("<form").count(), 1, "{}", page.text);
    assert!(page.text.contains("&lt;script&gt;alert(1)"), "{}", page.text);
    assert!(!page.text.contains("<script") && !page.text.contains("<img"), "{}", page.text);
    assert_eq!(page.text.matches(":root").count(), 1, "a name is no template");
    let problem = served.open(&client, &[("response_type", "\"><img src=x>"), ("state", "\"><img src=x>")]).await;
    assert!(!problem.text.contains("<img"), "{}", problem.text);
    let repeated = served.get("/oauth/authorize?%3Cimg%3E=1&%3Cimg%3E=2", &[]).await;
    assert!(repeated.text.contains("&lt;img&gt; occurs twice"), "{}", repeated.text);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_is_asked_for_again_after_a_delay() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    let started = Instant::now();
    let refused = served.enter_key(&client, "mk-wrong-but-long-enough").await;
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.text.contains("not a key of this server") && !refused.text.contains("mk-wrong"));
    let fields = [("request", refused.signed_request()), ("key", served.key.reveal().to_owned())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let accepted = served.post_form("/oauth/authorize", &fields, &[]).await;
    assert_eq!(accepted.status, StatusCode::SEE_OTHER);
    assert!(!accepted.header("location").contains(served.key.reveal()));
}

#[tokio::test(start_paused = true)]
async fn only_some_keys_are_tried_at_the_same_time() {
    let served = Served::new().await;
    let client = served.register(app()).await;
    let attempts = (0..20).map(|_| served.enter_key(&client, "mk-wrong-but-long-enough"));
    let answers = futures::future::join_all(attempts).await;
    let count = |status| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(StatusCode::FORBIDDEN), count(StatusCode::TOO_MANY_REQUESTS)), (16, 4));
    assert_eq!(served.enter_key(&client, served.key.reveal()).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn pages_of_allowed_origins_may_call() {
    let served = Served::new().await;
    for (origin, is_allowed) in [("http://localhost:6274", true), ("https://evil.example", false)] {
        for path in ["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"] {
            let answer = served.get(path, &[("origin", origin)]).await;
            assert_eq!(answer.headers.contains_key("access-control-allow-origin"), is_allowed, "{origin} {path}");
        }
        for path in ["/oauth/token", "/oauth/register", "/mcp"] {
            let request = Request::options(path)
                .header("origin", origin)
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "content-type,authorization");
            let answer = served.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.headers.contains_key("access-control-allow-origin"), is_allowed, "{origin} {path}");
        }
    }
}
