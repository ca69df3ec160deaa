//! Runs the suite on the custom stores of the example.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed assertion panics")]

#[path = "../examples/own_stores.rs"]
mod own_stores;

use memory_engine_conformance::SCENARIOS;

#[test]
fn r16_a_vector_store_and_a_graph_store_of_ones_own_pass_the_whole_suite() {
    for scenario in SCENARIOS {
        let world = own_stores::world();
        if scenario.missing(&world).is_none() {
            // If the test fails, the last printed name is the failed scenario.
            println!("{}: {}", scenario.group, scenario.name);
            futures::executor::block_on(scenario.run(&world));
        }
    }
    assert!(SCENARIOS.iter().filter(|scenario| ["vectors", "graph"].contains(&scenario.group)).count() > 10);
}
