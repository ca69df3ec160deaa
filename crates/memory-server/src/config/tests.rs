#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn listening(at: &str) -> Config {
    Config { listen: at.parse().unwrap(), ..Config::default() }
}

#[test]
fn without_a_key_only_this_machine_may_come_in() {
    assert!(listening("127.0.0.1:1").guard(None).unwrap().is_open());
    assert!(listening("[::1]:1").guard(None).unwrap().is_open());
    let error = listening("0.0.0.0:1").guard(None).unwrap_err().to_string();
    assert!(error.contains("memory keys new") && error.contains("open = true"), "{error}");
    assert!(Config { open: true, ..listening("0.0.0.0:1") }.guard(None).unwrap().is_open());
    assert!(!listening("0.0.0.0:1").guard(Some("0123456789abcdef")).unwrap().is_open());
}

#[test]
fn a_key_that_cannot_be_one_is_refused() {
    let key = KeyConfig { name: "app".into(), hash: "xyz".into(), tenant: default_tenant(), users: Vec::new() };
    assert!(Config { keys: vec![key], ..Config::default() }.guard(None).is_err());
    let error = Config::default().guard(Some("hunter2")).unwrap_err();
    assert!(!error.to_string().contains("hunter2"));
}
