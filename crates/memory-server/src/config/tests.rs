#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn listening_on(address: &str) -> Config {
    Config { listen: address.parse().unwrap(), ..Config::default() }
}

fn with_token(token: Option<&str>) -> TokenVariables<'_> {
    TokenVariables { token, metrics_token: None }
}

#[test]
fn a_public_address_requires_a_key_or_open() {
    assert!(listening_on("127.0.0.1:1").guard(TokenVariables::default()).unwrap().is_open());
    assert!(listening_on("[::1]:1").guard(TokenVariables::default()).unwrap().is_open());
    let error = listening_on("0.0.0.0:1").guard(TokenVariables::default()).unwrap_err().to_string();
    assert!(error.contains("MEMORY_TOKEN") && error.contains("open = true"), "{error}");
    assert!(Config { open: true, ..listening_on("0.0.0.0:1") }.guard(TokenVariables::default()).unwrap().is_open());
    assert!(!listening_on("0.0.0.0:1").guard(with_token(Some("0123456789abcdef"))).unwrap().is_open());
}

#[test]
fn an_invalid_key_or_hash_is_refused() {
    let key = KeyConfig {
        name: "app".into(),
        hash: "xyz".into(),
        tenant: default_tenant(),
        users: Vec::new(),
        metrics_only: false,
        operator: false,
    };
    assert!(Config { keys: vec![key], ..Config::default() }.guard(TokenVariables::default()).is_err());
    let error = Config::default().guard(with_token(Some("hunter2"))).unwrap_err();
    assert!(!error.to_string().contains("hunter2"));
}

#[test]
fn the_key_for_metrics_is_required_and_not_that_for_memories() {
    let guard = |token, metrics_token| Config::default().guard(TokenVariables { token, metrics_token });
    assert!(!guard(None, Some("0123456789abcdef")).unwrap().is_open());
    assert!(!guard(Some("0123456789abcdef"), Some("fedcba9876543210")).unwrap().is_open());
    let error = guard(Some("0123456789abcdef"), Some("0123456789abcdef")).unwrap_err().to_string();
    assert!(error.contains("MEMORY_METRICS_TOKEN") && !error.contains("0123456789abcdef"), "{error}");
    assert!(guard(None, Some("short")).is_err());
}
