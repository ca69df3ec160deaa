//! Runs the example as a process, without a key.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::process::Command;

fn output(mode: Option<&str>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_story-memory"));
    command.env_remove("MEMORY_MODE").env_remove("STORY_DB");
    mode.map(|mode| command.env("MEMORY_MODE", mode));
    let output = command.output().unwrap();
    let (shown, log) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success() && log.is_empty(), "{log}");
    shown
}

/// Returns the prompt of a tick.
fn prompt<'s>(shown: &'s str, tick: &str) -> &'s str {
    shown.split("--- ").find(|part| part.starts_with(tick)).unwrap().split(">>>").next().unwrap()
}

#[test]
fn r7_r9_r10_a_story_is_told_from_its_memory_on_each_of_its_branches() {
    let shown = output(Some("graph"));
    let seventh = prompt(&shown, "tick 7 on main");
    let order = ["# World", "# Recent timeline", "# Long-term Memory", "# Pending interventions"];
    let offsets: Vec<usize> = order.iter().map(|section| seventh.find(section).unwrap()).collect();
    assert!(offsets.is_sorted(), "{seventh}");
    assert!(seventh.contains("林晓月把金钥匙藏在了落霞山的石碑下面。 [msg m2 / seq 2]"), "{seventh}");
    assert!(seventh.contains("## Key Entities"), "{seventh}");
    assert!(shown.contains("the fork sees messages before it: true; later messages of main: false"), "{shown}");
    assert!(shown.contains("deleted messages are still in the prompt: false"), "{shown}");
}

#[test]
fn r2_vector_tells_snippets_and_no_graph_and_off_tells_nothing() {
    let vector = output(Some("vector"));
    assert!(vector.contains("[msg m2 / seq 2]") && !vector.contains("## Key Entities"), "{vector}");
    for off in [output(None), output(Some("off"))] {
        assert!(off.contains("MEMORY_MODE=off") && !off.contains("Long-term Memory"), "{off}");
    }
}

#[test]
fn an_unknown_mode_is_an_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_story-memory"));
    let output = command.env("MEMORY_MODE", "everything").output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && log.contains("vector") && log.contains("graph"), "{log}");
}
