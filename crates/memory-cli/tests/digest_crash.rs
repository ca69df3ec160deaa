//! Kills `memory digest` (SIGKILL) in the middle: in the end every fact and summary is stored once. `postgres.rs`
//! has the same test on Postgres.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;
mod digesting;

#[test]
fn killed_digest_can_be_completed() {
    digesting::ends_complete(&[]);
}
