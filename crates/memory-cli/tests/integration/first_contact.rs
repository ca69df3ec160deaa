//! The first commands of a newcomer: no argument, missing arguments, unknown users, and commands that need no model.

use crate::{
    cli_fixture::{CliFixture, TURNS},
    running_server::RunningServer,
};

#[test]
fn first_steps_work_as_they_are_printed() {
    let cli = CliFixture::new();
    let printed = cli.run(&[]).ok();
    assert!(printed.lines().count() <= 12, "{printed}");
    let commands: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("  ").and_then(|line| line.split("  ").next()).map(str::trim))
        .collect();
    assert_eq!(commands.len(), 5, "{printed}");
    let mut stored = None;
    for command in commands {
        if command.ends_with(" serve") {
            let served = RunningServer::start(&mut cli.command(&[]));
            assert_eq!(served.request("GET", "/health", &[], "").0, 200);
            continue;
        }
        let output = cli.run_line(command).ok();
        match stored {
            None if command.contains(" add ") => stored = command.split('"').nth(1),
            Some(text) if command.contains(" search ") => {
                assert!(output.contains(text) && output.contains("yes ("), "{output}")
            }
            _ => {}
        }
    }
    assert!(stored.is_some(), "{printed}");
}

#[test]
fn missing_arguments_are_listed() {
    let cli = CliFixture::new();
    for (command, choices) in [("completions", ["bash", "fish"]), ("install", ["claude-code", "vscode"])] {
        let output = cli.command(&[command]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(output.stdout.is_empty());
        for choice in choices {
            assert!(message.lines().any(|line| line.split_whitespace().next() == Some(choice)), "{choice}: {message}");
        }
    }
    let agents = cli.run(&["install"]).stderr;
    assert!(agents.contains("Claude Code: MCP server"), "each agent has a description: {agents}");
}

#[test]
fn a_user_without_records_is_named() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    let hint = cli.run(&["search", "seafood", "--user", "lim"]).stderr;
    assert!(hint.contains("user lim") && hint.contains("lin, mo"), "{hint}");
    assert!(cli.run(&["facts", "--user", "lim"]).stderr.contains("lin, mo"));
    let known = cli.run(&["search", "seafood", "--user", "lin", "--since", "2999-01-01"]);
    assert!(known.stdout.contains("nothing found") && known.stderr.is_empty(), "{known:?}");
    let json = cli.run(&["search", "seafood", "--user", "lim", "--json"]);
    assert_eq!((json.stderr.as_str(), json.success), ("", true));
    cli.run(&["forget", "--user", "lin", "--yes"]).ok();
    cli.run(&["forget", "--user", "mo", "--yes"]).ok();
    let empty = cli.run(&["search", "seafood", "--user", "lin"]).stderr;
    assert!(empty.contains("memory add"), "{empty}");
}

#[test]
fn a_command_without_models_ignores_their_variables() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    let models = [("MEMORY_EMBEDDER", "local:missing"), ("MEMORY_RERANKER", "jina"), ("MEMORY_GRAPH", "vllm")];
    let run = |arguments: &[&str]| cli.run_with(&models, arguments);
    let show = run(&["export"]).ok();
    assert_eq!(show.lines().count(), 4);
    assert_eq!(run(&["stats", "--json"]).json()["records"], 4);
    assert_eq!(run(&["set", "1", "--user", "lin", "--pin", "--json"]).json()["changed"], 1);
    assert!(run(&["forget", "1", "--user", "lin", "--yes", "--json"]).ok().contains("\"forgotten\":1"));
    run(&["search", "interview", "--user", "lin"]).assert_fails(&["missing"]);
    for option in ["--embedder", "--reranker", "--screening", "--graph"] {
        run(&["forget", "--user", "lin", "--yes", option, "none"]).assert_fails(&[option]);
    }
    assert_eq!(cli.stats()["records"], 3);
    assert!(cli.run(&["search", "interview", "--user", "lin"]).ok().contains("Friday"));
}

#[test]
fn help_is_short_with_the_short_option() {
    let cli = CliFixture::new();
    for command in ["add", "search", "import", "forget", "serve"] {
        let short = cli.run(&[command, "-h"]).ok();
        let long = cli.run(&[command, "--help"]).ok();
        assert!(short.lines().count() < long.lines().count() / 2, "{short}");
    }
}

#[test]
fn a_message_names_the_file_once() {
    let cli = CliFixture::new();
    cli.write("notes.txt", "no database at all, but a text that is long enough ".repeat(100));
    let error = cli.run(&["stats", "--db", "notes.txt"]).stderr;
    assert_eq!(error.matches("notes.txt").count(), 1, "{error}");
}

#[test]
fn models_without_a_subcommand_are_listed() {
    let cli = CliFixture::new();
    let listed = cli.run(&["models"]).ok();
    assert_eq!(listed, cli.run(&["models", "list"]).ok());
    assert!(listed.contains("no-models") && listed.contains("memory models fetch"), "{listed}");
    assert!(!listed.contains("scripts/"), "a package has no scripts: {listed}");
    assert!(!cli.run(&["models", "--models-dir", "other"]).ok().contains("no-models"));
}
