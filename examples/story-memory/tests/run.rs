//! Runs the example as a process, without a key.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

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
    assert_eq!(seventh.matches("# Long-term Memory").count(), 1, "{seventh}");
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

/// Tells a story with these lines of input, in the folder's database and file.
fn tell(folder: &Path, lines: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_story-memory"));
    command.args(["--tell", "--world", "A lighthouse in winter.", "--story", "story.json", "--db", "story.db"]);
    command.env("MEMORY_MODE", "graph").env_remove("STORY_DB").env_remove("CHAT_SERVICE").current_dir(folder);
    let mut teller = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    teller.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let output = teller.wait_with_output().unwrap();
    let (shown, log) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success() && log.is_empty(), "{log}");
    shown
}

#[test]
fn r1_r7_r9_r10_a_story_of_ones_own_is_told_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let first = [
        "The keeper Mara hid the brass key under the third stair.",
        "/event A ship sends up a red rocket.",
        "Mara lit the lamp, and the ship turned away from the rocks.",
        "顾清尘在码头等了一夜。",
        "The pilot Jonas drowned in the surf.",
        "/undo",
        "Snow fell on the gallery.",
        "/nonsense",
        "/next",
    ];
    let shown = tell(folder.path(), &first);
    assert!(shown.contains("deleted: The pilot Jonas drowned in the surf."), "{shown}");
    assert!(shown.contains("! /nonsense is not a command") && shown.contains("! there is no model"), "{shown}");

    let second = [
        "/event Mara looks for the brass key.",
        "/event Jonas the pilot comes back.",
        "/prompt",
        "/fork calm 3",
        "/event Does the snow still fall on the gallery?",
        "/prompt",
        "/story",
    ];
    let shown = tell(folder.path(), &second);
    let prompts: Vec<&str> = shown.split("# World\nA lighthouse in winter.").skip(1).collect();
    let [main, calm] = prompts.as_slice() else { panic!("{shown}") };
    assert!(main.contains("The keeper Mara hid the brass key under the third stair. [msg m1 / seq 1]"), "{main}");
    assert!(main.contains("# Pending interventions\nMara looks for the brass key."), "{main}");
    let main_prompt = main.split("calm has 3 messages of main").next().unwrap();
    assert!(!main_prompt.contains("drowned") && main_prompt.contains("Snow fell on the gallery."), "{main_prompt}");
    assert!(calm.contains("[msg m1 / seq 1]") && !calm.contains("Snow fell"), "only what came before the fork: {calm}");
    assert!(calm.contains("   3  顾清尘在码头等了一夜。"), "{calm}");
}

#[test]
fn an_unknown_mode_is_an_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_story-memory"));
    let output = command.env("MEMORY_MODE", "everything").output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && log.contains("vector") && log.contains("graph"), "{log}");
}
