//! Kills `memory digest` (SIGKILL) in the middle: in the end every fact and summary is stored once. `postgres.rs`
//! has the same test on Postgres.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod cli_fixture;
mod interrupted_digest;

#[test]
fn killed_digest_can_be_completed() {
    interrupted_digest::can_be_completed(&[]);
}
