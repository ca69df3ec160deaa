//! The configuration.

use memory_engine_server::{Config, OAuthConfig, PartConfig};

use super::*;

fn config() -> Config {
    let mut oauth = OAuthConfig::default();
    oauth.enabled = true;
    oauth.issuer = Some("https://memory.example/".into());
    let mut config = Config::default();
    config.oauth = oauth;
    // The metrics recorder can be installed only once per process.
    config.metrics = PartConfig { enabled: false };
    config
}

fn variable(name: &str) -> Option<String> {
    match name {
        "MEMORY_TOKEN" => Some("hunter2-hunter2-hunter2".into()),
        "MEMORY_OAUTH_SECRET" => Some(SECRET.into()),
        _ => None,
    }
}

#[tokio::test]
async fn errors_say_what_oauth_needs() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let error = |config: &Config, missing: &str| {
        let variable = |name: &str| variable(name).filter(|_| name != missing);
        config.server(&engine, variable).unwrap_err().to_string()
    };
    assert!(error(&config(), "MEMORY_TOKEN").contains("needs a key"));
    assert!(error(&config(), "MEMORY_OAUTH_SECRET").contains("openssl rand -hex 32"));
    let with_issuer = |issuer: Option<&str>| {
        let mut config = config();
        config.oauth.issuer = issuer.map(str::to_owned);
        error(&config, "")
    };
    assert!(with_issuer(None).contains("oauth.issuer"));
    assert!(with_issuer(Some("http://memory.example")).contains("https"));
    assert!(with_issuer(Some("https://memory.example/path")).contains("path"));
    let mut without_mcp = config();
    without_mcp.mcp.enabled = false;
    assert!(error(&without_mcp, "").contains("mcp.enabled"));
    let short = |name: &str| if name == "MEMORY_OAUTH_SECRET" { Some("short".into()) } else { variable(name) };
    assert!(config().server(&engine, short).unwrap_err().to_string().contains("at least 32"));
}

#[tokio::test]
async fn the_public_host_is_allowed_and_nothing_is_served_by_default() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let list = |host: &str| {
        Request::post("/mcp")
            .header("host", host)
            .header("content-type", "application/json")
            .header("authorization", "Bearer hunter2-hunter2-hunter2")
            .body(Body::from(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string()))
            .unwrap()
    };
    let router = config().server(&engine, variable).unwrap().router();
    for (host, status) in
        [("memory.example", StatusCode::OK), ("localhost", StatusCode::OK), ("evil.example", StatusCode::FORBIDDEN)]
    {
        assert_eq!(router.clone().oneshot(list(host)).await.unwrap().status(), status, "{host}");
    }
    let mut without_oauth = config();
    without_oauth.oauth.enabled = false;
    let router = without_oauth.server(&engine, variable).unwrap().router();
    for path in ["/.well-known/oauth-authorization-server", "/oauth/authorize"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(router.clone().oneshot(request).await.unwrap().status(), StatusCode::NOT_FOUND, "{path}");
    }
    let refused = router.oneshot(Request::post("/mcp").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
}
