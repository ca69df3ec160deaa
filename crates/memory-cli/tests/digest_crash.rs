//! Kill -9 in the middle of a digest: every fact and summary is there in the end, and none twice. On Postgres the same
//! is tried in `postgres.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;
mod digesting;

#[test]
fn a_digest_that_is_killed_again_and_again_ends_complete() {
    digesting::ends_complete(&[]);
}
