use std::sync::Arc;

use memory_engine_core::MemoryRecordStore;
use memory_engine_graph::MemoryGraphStore;
use memory_engine_keyword_store::MemoryKeywordStore;
use memory_engine_vector_store::MemoryVectorStore;

use super::*;
use crate::{clock, space};

fn world_without_graph() -> World {
    let clock = clock();
    let records = Arc::new(MemoryRecordStore::with_clock(clock.clone()));
    World::new(records, Arc::new(MemoryKeywordStore::new()), Arc::new(MemoryVectorStore::new(space())), clock)
}

fn with_graph() -> World {
    world_without_graph().with_graph(Arc::new(MemoryGraphStore::new()))
}

fn ignored(world: MakeWorld, required: &str) -> Vec<String> {
    let trials = trials(|_, _| {}, world, required);
    trials.iter().filter(|trial| trial.has_ignored_flag()).map(|trial| trial.name().to_owned()).collect()
}

#[test]
fn unsupported_scenarios_are_ignored() {
    let names = ignored(|| Ok(world_without_graph()), "");
    for group in ["graph::", "synonyms::", "one_database::", "embedding_versions::"] {
        let scenarios = SCENARIOS.iter().filter(|scenario| group.starts_with(scenario.group)).count();
        assert!(scenarios > 0);
        assert_eq!(names.iter().filter(|name| name.starts_with(group)).count(), scenarios, "{group}");
    }
    assert!(names.contains(&"forwarding::boxed_synonym_stores_forward_every_call".to_owned()));
    assert!(!names.iter().any(|name| name.starts_with("records::")));
    let names = ignored(|| Ok(with_graph()), "");
    let graph: Vec<_> = names.iter().filter(|name| name.starts_with("graph::")).collect();
    assert_eq!(graph, ["graph::an_extraction_is_deleted_with_its_record"]);
}

#[test]
fn scenarios_without_a_world_fail_if_required() {
    let none: MakeWorld = || Err(Skip::new("no-such-backend", "there is no server"));
    assert_eq!(ignored(none, "").len(), SCENARIOS.len());
    assert!(ignored(none, "no-such-backend").is_empty(), "they run and fail");
}
