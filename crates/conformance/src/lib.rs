#![doc = include_str!("../README.md")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed assertion panics")]

mod arbitrary;
mod cases;
mod catalogue;
pub mod damage;
mod fixtures;
mod hits;
mod reference;
mod runner;
pub mod scenarios;
mod world;

pub use catalogue::{SCENARIOS, Scenario};
pub use runner::run;
pub use world::{Capability, IntoWorld, Skip, World, clock, space};

/// Makes the `main` function of a test without harness: one trial for each scenario, named `group::scenario`.
/// Scenarios that need a missing [`Capability`](crate::Capability) are ignored.
///
/// The test needs `harness = false` in its `[[test]]` section. `world` is a function that creates a new, empty world
/// (or a `Result<World, Skip>`). It is called once for the list and once for each trial, outside of any executor.
/// `block_on` runs a future to its end: `futures::executor::block_on` for a backend that needs no runtime, a function
/// around `tokio::runtime::Runtime::block_on` for one that does.
///
/// ```
/// # use std::sync::Arc;
/// # use memory_engine_conformance::{World, clock, space};
/// # use memory_engine_core::MemoryRecordStore;
/// # use memory_engine_keyword_store::MemoryKeywordStore;
/// # use memory_engine_vector_store::MemoryVectorStore;
/// fn world() -> World {
///     let clock = clock();
///     let records = MemoryRecordStore::with_clock(clock.clone());
///     let vectors = MemoryVectorStore::new(space());
///     World::new(Arc::new(records), Arc::new(MemoryKeywordStore::new()), Arc::new(vectors), clock)
/// }
///
/// memory_engine_conformance::suite!(block_on = futures::executor::block_on, world = world);
/// ```
#[macro_export]
macro_rules! suite {
    (block_on = $block_on:expr, world = $world:expr $(,)?) => {
        fn main() -> std::process::ExitCode {
            $crate::run(|scenario, world| $block_on(scenario.run(world)), || $crate::IntoWorld::into_world($world()))
        }
    };
}
