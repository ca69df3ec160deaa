//! Kill -9 in the middle of a change of embedder: the old vectors serve until the same command has gone on and
//! finished. On Postgres the same is tried in `postgres.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;
mod refilling;

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_embedder_that_is_killed_goes_on_where_it_was() {
    refilling::ends_complete(&[]).await;
}
