//! The list of all scenarios.

use futures::future::LocalBoxFuture;

use crate::world::{Capability, World};

/// One scenario: a statement about a backend, and the function that panics if it is false.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The subject, such as `paging`.
    pub group: &'static str,
    /// The statement, with underscores instead of spaces.
    pub name: &'static str,
    run: for<'a> fn(&'a World) -> LocalBoxFuture<'a, ()>,
}

impl Scenario {
    /// Returns the first capability that the scenario needs and the world does not have.
    pub fn missing(&self, world: &World) -> Option<Capability> {
        let needed: &[Capability] = match (self.group, self.name) {
            (_, "an_extraction_is_deleted_with_its_record") => &[Capability::Graph, Capability::OneDatabase],
            ("synonyms", _) | ("forwarding", "boxed_synonym_stores_forward_every_call") => &[Capability::Synonyms],
            ("graph", _) => &[Capability::Graph],
            ("audit", _) => &[Capability::AuditLog],
            ("one_database", _) | ("derivations", "cascade_deletion_clears_the_indexes") => &[Capability::OneDatabase],
            ("embedding_versions", _) => &[Capability::VectorVersions],
            _ => &[],
        };
        needed.iter().copied().find(|capability| !world.has(*capability))
    }

    /// Runs the scenario. The world must be new and empty.
    ///
    /// # Panics
    /// Panics if the statement is false for the world, or if a [capability](Self::missing) is missing.
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
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    #[test]
    fn every_scenario_is_listed_once() {
        let mut written = BTreeSet::new();
        for entry in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scenarios")) {
            let group = entry.file_stem().unwrap().to_str().unwrap().to_owned();
            // A folder has the parts of the file of the same name.
            let files = if entry.is_dir() { entries(&entry) } else { vec![entry] };
            for source in files.iter().map(|file| fs::read_to_string(file).unwrap()) {
                let names = source.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next());
                written.extend(names.map(|name| (group.clone(), name.to_owned())));
            }
        }
        let listed = SCENARIOS.iter().map(|s| (s.group.to_owned(), s.name.to_owned())).collect::<BTreeSet<_>>();
        assert_eq!(listed, written);
        assert_eq!(listed.len(), SCENARIOS.len());
    }

    fn entries(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}
