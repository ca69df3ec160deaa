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

fn variable_with_metrics(name: &str) -> Option<String> {
    if name == "MEMORY_METRICS_TOKEN" { Some("metrics-metrics-metrics".into()) } else { variable(name) }
}

#[tokio::test]
async fn errors_say_what_oauth_needs() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let error = |config: &Config, missing: &str| {
        let variable = |name: &str| variable(name).filter(|_| name != missing);
        config.server(&engine, variable).unwrap_err().to_string()
    };
    assert!(error(&config(), "MEMORY_TOKEN").contains("needs a key"));
    let only_metrics = |name: &str| if name == "MEMORY_TOKEN" { None } else { variable_with_metrics(name) };
    assert!(config().server(&engine, only_metrics).unwrap_err().to_string().contains("needs a key"));
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

#[tokio::test(start_paused = true)]
async fn a_key_for_metrics_cannot_sign_in() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let mut served = Served::new().await;
    served.router = config().server(&engine, variable_with_metrics).unwrap().router();
    let client = served.register(app()).await;
    let refused = served.enter_key(&client, "metrics-metrics-metrics").await;
    assert!(refused.status == StatusCode::FORBIDDEN && refused.text.contains("not a key of this server"));
    assert_eq!(served.enter_key(&client, "hunter2-hunter2-hunter2").await.status, StatusCode::SEE_OTHER);
}
