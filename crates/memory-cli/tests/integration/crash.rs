//! Kills an import (SIGKILL) in the middle: no acknowledged record is lost, and none is stored twice.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::cli_fixture::command_in;

const TURNS: usize = 20_000;
const KILLS: u64 = 6;

fn import(folder: &Path) -> Command {
    let mut command = command_in(folder);
    command.args(["import", "turns.jsonl", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn records(folder: &Path) -> u64 {
    let output = command_in(folder).args(["stats", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["records"].as_u64().unwrap()
}

/// Imports until `committed` turns are acknowledged, waits for `longer`, and kills the process. Returns the last
/// acknowledged count.
fn import_and_kill(folder: &Path, committed: u64, longer: Duration) -> u64 {
    let mut child = import(folder).spawn().unwrap();
    let mut acknowledged = 0;
    let mut deadline = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        acknowledged = line["committed"].as_u64().unwrap_or(acknowledged);
        if acknowledged >= committed && deadline.is_none_or(|deadline| Instant::now() >= deadline) {
            match deadline {
                None => deadline = Some(Instant::now() + longer),
                Some(_) => break,
            }
        }
    }
    child.kill().unwrap(); // SIGKILL: no destructor, no flush
    child.wait().unwrap();
    acknowledged
}

#[test]
fn k15_killed_import_can_be_completed() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = String::new();
    for n in 0..TURNS {
        writeln!(file, "{{\"user\":\"lin\",\"session\":\"s{}\",\"text\":\"第{n}句话 about turn number {n}\"}}", n % 50)
            .unwrap();
    }
    fs::write(folder.path().join("turns.jsonl"), file).unwrap();

    for kill in 1..=KILLS {
        let target = TURNS as u64 * kill / (KILLS + 2);
        let acknowledged = import_and_kill(folder.path(), target, Duration::from_millis(7 * kill));
        let stored = records(folder.path());
        assert!(stored >= acknowledged, "kill {kill}: {acknowledged} were acknowledged, {stored} are stored");
        assert!(stored <= TURNS as u64);
    }

    let output = import(folder.path()).output().unwrap();
    let report: Value =
        serde_json::from_slice(output.stdout.split(|b| *b == b'\n').rfind(|l| !l.is_empty()).unwrap()).unwrap();
    assert_eq!(report["added"].as_u64().unwrap() + report["unchanged"].as_u64().unwrap(), TURNS as u64);
    assert_eq!(records(folder.path()), TURNS as u64, "no record is lost or stored twice");

    let stats = command_in(folder.path()).args(["stats", "--json"]).output().unwrap();
    let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
    assert_eq!(stats["queued"], serde_json::json!({}), "everything is indexed");
    let found =
        command_in(folder.path()).args(["search", "turn number 19999", "--user", "lin", "--json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["hits"][0]["record"]["text"], "第19999句话 about turn number 19999");
}
