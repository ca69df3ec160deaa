#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::keys::ApiKey;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn a_key_is_taken_from_any_of_the_headers_that_clients_send() {
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
        assert_eq!(guard.admits(&headers).unwrap().name(), "one");
    }
}

#[test]
fn no_key_of_ours_goes_further_than_the_guard_and_one_of_another_service_does() {
    let key = ApiKey::generate();
    let guard = Guard::keys(KeyRing::default().with_key(&key, Access::tenant("one", "acme").unwrap()));
    let k = key.reveal();
    let taken = |pairs: &[(&'static str, &str)]| {
        let mut headers = headers(pairs);
        guard.take_key(&mut headers);
        headers
    };
    let ours = format!("Bearer {k}");
    assert!(taken(&[("x-memory-key", k), ("x-api-key", k), ("authorization", &ours)]).is_empty());
    let theirs = [("authorization", "Bearer sk-of-the-upstream")];
    assert_eq!(taken(&[("x-memory-key", k), theirs[0]]), headers(&theirs));
}

#[test]
fn who_shows_no_key_or_a_wrong_one_stays_outside() {
    let key = ApiKey::generate();
    let guard = Guard::keys(KeyRing::default().with_key(&key, Access::tenant("one", "acme").unwrap()));
    let wrong = [
        headers(&[]),
        headers(&[("authorization", "Bearer ")]),
        headers(&[("authorization", key.reveal())]),
        headers(&[("authorization", &format!("Basic {}", key.reveal()))]),
        headers(&[("x-memory-key", "wrong"), ("x-api-key", key.reveal())]),
    ];
    for headers in wrong {
        assert_eq!(guard.admits(&headers).unwrap_err().status(), StatusCode::UNAUTHORIZED);
    }
}
