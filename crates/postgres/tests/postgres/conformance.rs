//! The store keeps every promise of the three contracts: on plain tables, and with every table spread over partitions.

use std::sync::Arc;

use libtest_mimic::Trial;
use memory_engine_conformance::{SCENARIOS, World, clock, space};
use memory_engine_postgres::{PostgresOptions, StoreOptions};

use crate::given::{Database, block_on};

type Change = fn(PostgresOptions) -> PostgresOptions;

/// The ways to keep a database that the suite is played with.
const WAYS: [(&str, Change); 2] = [("plain", |options| options), ("partitioned", |options| options.with_partitions(4))];

pub(crate) fn trials(available: bool) -> Vec<Trial> {
    let each = move |(way, change): (&'static str, Change)| {
        SCENARIOS.iter().map(move |scenario| {
            let name = format!("conformance::{way}::{}::{}", scenario.group, scenario.name);
            crate::trial(&name, available, move |database| block_on(scenario.run(&world(database, change))))
        })
    };
    WAYS.into_iter().flat_map(each).collect()
}

fn world(database: &Database, change: Change) -> World {
    let clock = clock();
    let options = StoreOptions::new(space(), "conformance").with_clock(clock.clone());
    let store = Arc::new(block_on(database.connect_as(options, change(database.options()))));
    World::new(store.clone(), store.clone(), store.clone(), clock)
        .in_one_database()
        .with_synonyms(store.clone())
        .with_graph(store)
}
