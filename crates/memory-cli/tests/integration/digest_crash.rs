//! Kills `memory digest` (SIGKILL) in the middle: in the end every fact and summary is stored once. `postgres.rs`
//! has the same test on Postgres.

#[test]
fn killed_digest_can_be_completed() {
    crate::interrupted_digest::can_be_completed(&[]);
}
