use std::sync::Arc;

use memory_engine_core::MemoryRecordStore;
use memory_engine_graph::MemoryGraphStore;
use memory_engine_keyword_store::MemoryKeywordStore;
use memory_engine_vector_store::MemoryVectorStore;

use super::*;
use crate::{clock, space};

fn plain() -> World {
    let clock = clock();
    let records = Arc::new(MemoryRecordStore::with_clock(clock.clone()));
    World::new(records, Arc::new(MemoryKeywordStore::new()), Arc::new(MemoryVectorStore::new(space())), clock)
}

fn with_graph() -> World {
    plain().with_graph(Arc::new(MemoryGraphStore::new()))
}

fn ignored(world: MakeWorld, required: &str) -> Vec<String> {
    let trials = trials(|_, _| {}, world, required);
    trials.iter().filter(|trial| trial.has_ignored_flag()).map(|trial| trial.name().to_owned()).collect()
}

#[test]
fn scenarios_that_a_backend_does_not_support_are_ignored_and_never_passed() {
    let names = ignored(|| Ok(plain()), "");
    for group in ["graph::", "synonyms::", "one_database::", "generations::"] {
        let scenarios = SCENARIOS.iter().filter(|scenario| group.starts_with(scenario.group)).count();
        assert!(scenarios > 0);
        assert_eq!(names.iter().filter(|name| name.starts_with(group)).count(), scenarios, "{group}");
    }
    assert!(names.contains(&"forwarding::boxed_synonyms_are_kept_judged_and_removed".to_owned()));
    assert!(!names.iter().any(|name| name.starts_with("records::")));
    let names = ignored(|| Ok(with_graph()), "");
    let graph: Vec<_> = names.iter().filter(|name| name.starts_with("graph::")).collect();
    assert_eq!(graph, ["graph::in_one_database_it_goes_with_its_record_and_does_not_come_back"]);
}

#[test]
fn without_a_world_all_scenarios_are_ignored_unless_the_backend_is_required() {
    let none: MakeWorld = || Err(Skip::new("no-such-backend", "there is no server"));
    assert_eq!(ignored(none, "").len(), SCENARIOS.len());
    assert!(ignored(none, "no-such-backend").is_empty(), "they run, and fail");
}
