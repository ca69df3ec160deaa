//! Kills a change of embedder (SIGKILL) in the middle: the old vectors serve until the repeated command has finished.
//! `postgres.rs` has the same test on Postgres.

#[tokio::test(flavor = "multi_thread")]
async fn killed_reindex_can_be_completed() {
    crate::interrupted_reindex::can_be_completed(&[]).await;
}
