//! The list of all scenarios, and the tests that are made of it.

use futures::future::LocalBoxFuture;

use crate::world::{Capability, World};

/// One scenario: a sentence about a backend, and the function that panics when it is not true.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The subject, such as `paging`.
    pub group: &'static str,
    /// The sentence, with underscores.
    pub name: &'static str,
    run: for<'a> fn(&'a World) -> LocalBoxFuture<'a, ()>,
}

impl Scenario {
    /// The first capability that the scenario needs and the world lacks.
    pub fn missing(&self, world: &World) -> Option<Capability> {
        let needed: &[Capability] = match (self.group, self.name) {
            (_, "in_one_database_it_goes_with_its_record_and_does_not_come_back") => {
                &[Capability::Graph, Capability::OneDatabase]
            }
            ("synonyms", _) | ("forwarding", "boxed_synonyms_are_kept_judged_and_removed") => &[Capability::Synonyms],
            ("graph", _) => &[Capability::Graph],
            ("one_database", _) | ("derivations", "what_goes_leaves_the_indexes_of_its_database") => {
                &[Capability::OneDatabase]
            }
            ("generations", _) => &[Capability::VectorVersions],
            _ => &[],
        };
        needed.iter().copied().find(|capability| !world.has(*capability))
    }

    /// Runs it in a world that is new and empty.
    ///
    /// # Panics
    /// When the sentence is not true of the world, or the world lacks a [capability](Self::missing).
    pub fn run<'a>(&self, world: &'a World) -> LocalBoxFuture<'a, ()> {
        (self.run)(world)
    }
}

/// All scenarios, for a test framework of your own; [`suite!`](crate::suite) makes plain tests of them.
pub const SCENARIOS: &[Scenario] = crate::each_scenario!(scenario_list {});

#[doc(hidden)]
#[macro_export]
macro_rules! scenario_list {
    ({} $($group:ident { $($name:ident,)* })*) => {
        &[$($($crate::catalogue::Scenario {
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
