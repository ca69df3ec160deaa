//! Runs the conformance suite of the contracts on plain and on partitioned tables.

use std::sync::Arc;

use libtest_mimic::Trial;
use memory_engine_conformance::{SCENARIOS, World, clock, space};
use memory_engine_postgres::{PostgresOptions, StoreOptions};

use crate::fixtures::{Database, block_on};

type SetOptions = fn(PostgresOptions) -> PostgresOptions;

/// The table layouts, each with a function that sets its options.
const LAYOUTS: [(&str, SetOptions); 2] =
    [("plain", |options| options), ("partitioned", |options| options.with_partitions(4))];

pub(crate) fn trials(available: bool) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (layout, set_options) in LAYOUTS {
        for scenario in SCENARIOS {
            let name = format!("conformance::{layout}::{}::{}", scenario.group, scenario.name);
            let run = move |database: &Database| block_on(scenario.run(&world(database, set_options)));
            trials.push(crate::trial(&name, available, run));
        }
    }
    trials
}

fn world(database: &Database, set_options: SetOptions) -> World {
    let clock = clock();
    let options = StoreOptions::new(space(), "conformance").with_clock(clock.clone());
    let store = Arc::new(block_on(database.connect_as(options, set_options(database.options()))));
    World::new(store.clone(), store.clone(), store.clone(), clock)
        .in_one_database()
        .with_synonyms(store.clone())
        .with_graph(store)
}
