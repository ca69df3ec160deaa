#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::keys::ApiKey;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn a_key_is_read_from_any_supported_header() {
    let key = ApiKey::generate();
    let guard = Guard::keys(KeyRing::default().with_key(&key, Access::tenant("one", "acme").unwrap()));
    let k = key.reveal();
    let sent = [
        headers(&[("x-memory-key", k)]),
        headers(&[("x-api-key", k)]),
        headers(&[("authorization", &format!("Bearer {k}"))]),
        headers(&[("authorization", &format!("Token {k}"))]),
        headers(&[("authorization", &format!("bearer  {k}"))]),
        headers(&[("x-memory-key", k), ("authorization", "Bearer sk-of-the-upstream")]),
    ];
    for headers in sent {
        assert_eq!(guard.authenticate(&headers, None).unwrap().name(), "one");
    }
}

#[test]
fn own_keys_are_removed_and_others_kept() {
    let key = ApiKey::generate();
    let guard = Guard::keys(KeyRing::default().with_key(&key, Access::tenant("one", "acme").unwrap()));
    let k = key.reveal();
    let without_keys = |pairs: &[(&'static str, &str)]| {
        let mut headers = headers(pairs);
        guard.remove_keys(&mut headers);
        headers
    };
    let ours = format!("Bearer {k}");
    assert!(without_keys(&[("x-memory-key", k), ("x-api-key", k), ("authorization", &ours)]).is_empty());
    let theirs = [("authorization", "Bearer sk-of-the-upstream")];
    assert_eq!(without_keys(&[("x-memory-key", k), theirs[0]]), headers(&theirs));
}

#[test]
fn a_missing_or_wrong_key_is_refused() {
    let key = ApiKey::generate();
    let guard = Guard::keys(KeyRing::default().with_key(&key, Access::tenant("one", "acme").unwrap()));
    let refused = [
        headers(&[]),
        headers(&[("authorization", "Bearer ")]),
        headers(&[("authorization", key.reveal())]),
        headers(&[("authorization", &format!("Basic {}", key.reveal()))]),
        headers(&[("x-memory-key", "wrong"), ("x-api-key", key.reveal())]),
    ];
    for headers in refused {
        assert_eq!(guard.authenticate(&headers, None).unwrap_err().status(), StatusCode::UNAUTHORIZED);
    }
}
