//! Merges of stores that have diverged, and backups, on each pair of backends.
//!
//! Without the variable `DATABASE_URL` the tests on Postgres are listed as ignored; where `CONFORMANCE_REQUIRE` names
//! `postgres`, they fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "transfers/backups.rs"]
mod backups;
#[path = "transfers/history.rs"]
mod history;
#[path = "transfers/merges.rs"]
mod merges;
#[path = "transfers/stores.rs"]
mod stores;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use stores::{Kind, Stores, address, is_required};

fn main() {
    let mut trials = Vec::new();
    let pairs = [
        (Kind::Memory, Kind::Memory),
        (Kind::Sqlite, Kind::Sqlite),
        (Kind::Sqlite, Kind::Postgres),
        (Kind::Postgres, Kind::Memory),
    ];
    for (one, other) in pairs {
        let uses_server = one == Kind::Postgres || other == Kind::Postgres;
        for seed in 0..merges::seeds(uses_server) {
            let name = format!("merge::{one:?}_{other:?}::random_histories_{seed}");
            trials.push(trial(name, uses_server, move |stores| {
                Box::pin(merges::random_histories(stores, one, other, seed))
            }));
        }
        let name = |test: &str| format!("merge::{one:?}_{other:?}::{test}");
        trials.push(trial(name("conflicts_are_listed"), uses_server, move |stores| {
            Box::pin(merges::conflicts_are_listed(stores, one, other))
        }));
        trials.push(trial(name("retractions_stay_restorable"), uses_server, move |stores| {
            Box::pin(merges::retractions_stay_restorable(stores, one, other))
        }));
        trials.push(trial(name("the_earlier_deletion_wins"), uses_server, move |stores| {
            Box::pin(merges::the_earlier_deletion_wins(stores, one, other))
        }));
        trials.push(trial(name("expiries_are_merged_as_they_are"), uses_server, move |stores| {
            Box::pin(merges::expiries_are_merged_as_they_are(stores, one, other))
        }));
        trials.push(trial(name("edits_after_a_merge_win"), uses_server, move |stores| {
            Box::pin(merges::edits_after_a_merge_win(stores, one, other))
        }));
    }
    for (one, other) in [
        (Kind::Sqlite, Kind::Sqlite),
        (Kind::Sqlite, Kind::Postgres),
        (Kind::Postgres, Kind::Sqlite),
        (Kind::Postgres, Kind::Postgres),
    ] {
        let uses_server = one == Kind::Postgres || other == Kind::Postgres;
        let name = |test: &str| format!("backup::{one:?}_{other:?}::{test}");
        trials.push(trial(name("everything_is_restored"), uses_server, move |stores| {
            Box::pin(backups::everything_is_restored(stores, one, other))
        }));
    }
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let name = |test: &str| format!("backup::{kind:?}::{test}");
        let uses_server = kind == Kind::Postgres;
        trials.push(trial(name("a_backup_during_writes_is_one_state"), uses_server, move |stores| {
            Box::pin(backups::a_backup_during_writes_is_one_state(stores, kind))
        }));
        trials.push(trial(name("damage_and_existing_data_are_refused"), uses_server, move |stores| {
            Box::pin(backups::damage_and_existing_data_are_refused(stores, kind))
        }));
    }
    trials.push(trial("backup::deleted_bytes_are_not_in_the_file".into(), false, |stores| {
        Box::pin(backups::deleted_bytes_are_not_in_the_file(stores))
    }));
    trials.push(trial("backup::Postgres::no_table_is_forgotten".into(), true, |stores| {
        Box::pin(backups::no_table_is_forgotten(stores))
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

type TestFuture = std::pin::Pin<Box<dyn Future<Output = ()>>>;

fn trial(name: String, uses_server: bool, test: impl Fn(Stores) -> TestFuture + Send + 'static) -> Trial {
    let is_ignored = uses_server && address().is_none() && !is_required();
    let run = move || {
        if uses_server && address().is_none() {
            return Err(Failed::from("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server"));
        }
        Runtime::new()?.block_on(async {
            let stores = Stores::new();
            test(stores.clone()).await;
            stores.remove().await;
        });
        Ok(())
    };
    Trial::test(name, run).with_ignored_flag(is_ignored)
}
