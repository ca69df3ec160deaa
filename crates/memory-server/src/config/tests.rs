#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn listening_on(address: &str) -> Config {
    Config { listen: address.parse().unwrap(), ..Config::default() }
}

#[test]
fn a_public_address_requires_a_key_or_open() {
    assert!(listening_on("127.0.0.1:1").guard(None).unwrap().is_open());
    assert!(listening_on("[::1]:1").guard(None).unwrap().is_open());
    let error = listening_on("0.0.0.0:1").guard(None).unwrap_err().to_string();
    assert!(error.contains("MEMORY_TOKEN") && error.contains("open = true"), "{error}");
    assert!(Config { open: true, ..listening_on("0.0.0.0:1") }.guard(None).unwrap().is_open());
    assert!(!listening_on("0.0.0.0:1").guard(Some("0123456789abcdef")).unwrap().is_open());
}

#[test]
fn an_invalid_key_or_hash_is_refused() {
    let key = KeyConfig { name: "app".into(), hash: "xyz".into(), tenant: default_tenant(), users: Vec::new() };
    assert!(Config { keys: vec![key], ..Config::default() }.guard(None).is_err());
    let error = Config::default().guard(Some("hunter2")).unwrap_err();
    assert!(!error.to_string().contains("hunter2"));
}
