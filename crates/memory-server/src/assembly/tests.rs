#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::config::{Dialect, GatewayConfig, PartConfig, UpstreamConfig};

fn upstream(key_env: Option<&str>) -> UpstreamConfig {
    let key_env = key_env.map(str::to_owned);
    UpstreamConfig {
        name: "near".into(),
        base_url: "http://127.0.0.1:9/v1".into(),
        key_env,
        models: Vec::new(),
        dialects: vec![Dialect::Chat],
    }
}

fn config(gateway: GatewayConfig) -> Config {
    // The metrics recorder can be installed only once per process.
    Config { gateway, metrics: PartConfig { enabled: false }, ..Config::default() }
}

#[tokio::test]
async fn a_server_does_not_show_the_upstream_key() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let gateway = GatewayConfig { upstreams: vec![upstream(Some("NEAR_KEY"))], ..GatewayConfig::default() };
    let server = config(gateway).server(&engine, |name| (name == "NEAR_KEY").then(|| "sk-hunter2".into()));
    assert!(!format!("{:?}", server.unwrap()).contains("hunter2"));
}

#[tokio::test]
async fn errors_name_the_invalid_setting() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let invalid = [
        (GatewayConfig { upstreams: vec![upstream(Some("NEAR_KEY"))], ..GatewayConfig::default() }, "NEAR_KEY"),
        (
            GatewayConfig {
                upstreams: vec![upstream(None)],
                scene_rules: Some("nowhere.toml".into()),
                ..GatewayConfig::default()
            },
            "nowhere.toml",
        ),
    ];
    let on_mars = Config { zone: Some("Mars".into()), ..Config::default() };
    assert!(on_mars.server(&engine, |_| None).unwrap_err().to_string().contains("Mars"));
    for (gateway, name) in invalid {
        let error = config(gateway).server(&engine, |_| None).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
