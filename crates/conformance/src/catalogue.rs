//! The list of all scenarios, and the tests that are made of it.

use futures::future::LocalBoxFuture;

use crate::World;

/// One scenario: a sentence about a backend, and the function that panics when it is not true.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What it is about, such as `paging`.
    pub group: &'static str,
    /// The sentence, with underscores.
    pub name: &'static str,
    run: for<'a> fn(&'a World) -> LocalBoxFuture<'a, ()>,
}

impl Scenario {
    /// Plays it in a world that is new and empty.
    ///
    /// # Panics
    /// When the sentence is not true of the world.
    pub fn run<'a>(&self, world: &'a World) -> LocalBoxFuture<'a, ()> {
        (self.run)(world)
    }
}

/// All scenarios, for a test framework of your own; [`suite!`](crate::suite) makes plain tests of them.
pub const SCENARIOS: &[Scenario] = crate::each_scenario!(scenario_list {});

/// Makes one `#[test]` of every scenario, in one module for each group.
///
/// `world` is a function that makes a new, empty world (or a `Result<World, Skip>`); it is called once for each test, outside
/// of any executor. `block_on` runs a future to its end: `futures::executor::block_on` for a backend that needs no
/// runtime, a function around `tokio::runtime::Runtime::block_on` for one that does.
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
///     World::new(Arc::new(records), Arc::new(MemoryKeywordStore::new()), Arc::new(MemoryVectorStore::new(space())), clock)
/// }
///
/// memory_engine_conformance::suite!(block_on = futures::executor::block_on, world = world);
/// ```
#[macro_export]
macro_rules! suite {
    (block_on = $block_on:expr, world = $world:expr $(,)?) => {
        $crate::each_scenario! { scenario_tests { $block_on, $world } }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! scenario_tests {
    ({ $block_on:expr, $world:expr } $($group:ident { $($name:ident,)* })*) => {$(
        mod $group {
            #[allow(unused_imports, reason = "the caller's expressions may name what lies beside the suite")]
            use super::*;
            $(
                #[test]
                fn $name() {
                    if let Some(world) = $crate::enter($world()) {
                        $block_on($crate::scenarios::$group::$name(&world));
                    }
                }
            )*
        }
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! scenario_list {
    ({} $($group:ident { $($name:ident,)* })*) => {
        &[$($($crate::Scenario {
            group: stringify!($group),
            name: stringify!($name),
            run: |world| Box::pin($crate::scenarios::$group::$name(world)),
        },)*)*]
    };
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_scenario_that_was_written_is_listed_once() {
        let mut written = BTreeSet::new();
        for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scenarios")).unwrap() {
            let path = file.unwrap().path();
            let group = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let source = fs::read_to_string(&path).unwrap();
            let names = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next());
            written.extend(names.map(|name| (group.clone(), name.to_owned())));
        }
        let listed = SCENARIOS.iter().map(|s| (s.group.to_owned(), s.name.to_owned())).collect::<BTreeSet<_>>();
        assert_eq!(listed, written);
        assert_eq!(listed.len(), SCENARIOS.len());
    }
}
