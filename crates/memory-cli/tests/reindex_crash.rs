//! Kills a change of embedder (SIGKILL) in the middle: the old vectors serve until the repeated command has finished.
//! `postgres.rs` has the same test on Postgres.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod cli_fixture;
mod interrupted_reindex;

#[tokio::test(flavor = "multi_thread")]
async fn killed_reindex_can_be_completed() {
    interrupted_reindex::can_be_completed(&[]).await;
}
