#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn access(name: &str) -> Access {
    Access::tenant(name, "acme").unwrap()
}

#[test]
fn a_ring_finds_keys_added_directly_or_by_hash() {
    let (one, two) = (ApiKey::generate(), ApiKey::generate());
    let ring = KeyRing::default().with_key(&one, access("one")).with_hash(&two.hash(), access("two")).unwrap();
    let name = |key: &str| ring.find(key).map(|access| access.name().to_owned());
    assert_eq!((name(one.reveal()), name(two.reveal())), (Some("one".into()), Some("two".into())));
    assert_eq!((name("mk-"), name(""), name(&two.hash())), (None, None, None));
}

#[test]
fn debug_output_does_not_show_a_key() {
    let key = ApiKey::new("hunter2-hunter2-hunter2").unwrap();
    let ring = KeyRing::default().with_key(&key, access("one"));
    assert!(!format!("{key:?} {ring:?}").contains("hunter2"));
}

#[test]
fn a_short_key_and_a_malformed_hash_are_refused() {
    assert!(ApiKey::new("hunter2").is_err());
    assert!(KeyRing::default().with_hash("abc", access("one")).is_err());
}

#[cfg(feature = "oauth")]
#[test]
fn keys_for_metrics_cannot_sign_in() {
    let (memories, metrics) = (ApiKey::generate(), ApiKey::generate());
    let ring = KeyRing::default().with_key(&memories, access("app")).with_key(&metrics, access("m").only_metrics());
    let ring = ring.for_memories();
    assert!(ring.find(memories.reveal()).is_some() && ring.find(metrics.reveal()).is_none());
    assert_eq!(ring.entries().count(), 1);
}
