//! Kills `memory digest` (SIGKILL) in the middle, several times.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::Value;

use crate::cli_fixture::{CliFixture, CommandOutput};

const USERS: usize = 6;
const SESSIONS: usize = 4;
const ROUNDS: usize = 50;
const KILLS: u64 = 4;
/// Number of jobs, divided by three.
const TURNS: u64 = (2 * USERS * SESSIONS * ROUNDS) as u64;

/// Returns conversations with facts, some of which supersede earlier ones.
fn conversations() -> String {
    let mut file = String::new();
    for (user, session, round) in
        (0..USERS).flat_map(|u| (0..SESSIONS).flat_map(move |s| (0..ROUNDS).map(move |r| (u, s, r))))
    {
        let text = match round % 5 {
            0 if user % 2 == 0 => format!("我搬到{}了", ["上海", "苏州", "杭州", "南京"][(session + round / 5) % 4]),
            0 => format!("I live in {} now.", ["Porto", "Lisbon", "Faro", "Braga"][(session + round / 5) % 4]),
            2 => format!("I'm allergic to {}.", ["walnuts", "shrimp", "pollen"][session % 3]),
            3 => format!("今天不太开心，第{round}次去黄山的计划又改了"),
            _ => format!("Let us talk about hike number {round}, the weather and the boots."),
        };
        let minute = session * ROUNDS + round;
        let time = format!("2026-01-{:02}T{:02}:{:02}", 1 + minute / 600, minute / 60 % 10 + 8, minute % 60);
        let mut line = |role: &str, second: u32, text: &str| {
            let line = serde_json::json!({
                "user": format!("u{user}"), "session": format!("s{session}"), "id": format!("{role}-{round}"),
                "role": role, "time": format!("{time}:{second:02}"), "text": text,
            });
            writeln!(file, "{line}").unwrap();
        };
        line("user", 0, &text);
        line("assistant", 30, &format!("好的，第{round}次。 Boots and a raincoat, then."));
    }
    file
}

/// Counts each exported line, without the fields that differ between runs: times of recording, and the ids and numbers
/// of derived records.
fn stored_lines(exported: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in exported.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let keys = line.as_object_mut().unwrap();
        keys.remove("recorded_at");
        if keys["kind"] != "turn" {
            keys.remove("id");
            let metadata = keys.get_mut("metadata").and_then(Value::as_object_mut);
            metadata.into_iter().for_each(|metadata| {
                // Links name ids, and the history has the times at which each process worked.
                for key in ["superseded_by", "merged_into", "confirmed_by", "former_states", "text_since"] {
                    metadata.remove(key);
                }
            });
        }
        *lines.entry(line.to_string()).or_default() += 1;
    }
    lines
}

/// Runs a digest until `jobs` jobs are done, and kills it. Returns the number of finished jobs.
fn digest_and_kill(cli: &CliFixture, variables: &[(&str, &str)], jobs: u64) -> u64 {
    let mut command = cli.command(&["digest", "--digest", "rules", "--json"]);
    let mut child = command.envs(variables.iter().copied()).stdout(Stdio::piped()).spawn().unwrap();
    let mut done = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        done = line["done"].as_u64().unwrap_or(done);
        if done >= jobs {
            break;
        }
    }
    child.kill().unwrap(); // SIGKILL: no destructor, no flush
    child.wait().unwrap();
    done
}

/// Kills a digest several times and then completes it. The store then has the same content as one that was digested
/// without interruption.
pub(crate) fn can_be_completed(variables: &[(&str, &str)]) {
    let cli = CliFixture::new();
    let turns = cli.write("turns.jsonl", conversations());
    let turns = turns.to_str().unwrap();
    let run = |arguments: &[&str]| -> CommandOutput { cli.run_with(variables, arguments) };

    cli.run(&["import", turns, "--db", "whole.db"]).ok();
    cli.run(&["digest", "--digest", "rules", "--db", "whole.db"]).ok();
    let whole = stored_lines(&cli.run(&["export", "--db", "whole.db"]).ok());
    let of_kind = |kind: &str| whole.keys().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count();
    assert!(
        of_kind("fact") > 100 && of_kind("summary") > 100,
        "{} facts, {} summaries",
        of_kind("fact"),
        of_kind("summary")
    );

    run(&["import", turns]).ok();
    for kill in 1..=KILLS {
        let target = 3 * TURNS * kill / (KILLS + 1);
        let done = digest_and_kill(&cli, variables, target);
        assert!(done >= target && done < 3 * TURNS, "kill {kill}: {done} jobs were done, which is not in the middle");
    }
    let remaining = run(&["stats", "--json"]).json();
    assert!(remaining["queued"].as_object().unwrap().values().any(|count| count.as_u64() > Some(0)), "{remaining}");
    // The lease of the jobs that the last process claimed expires after half a minute.
    let report = run(&["digest", "--digest", "rules", "--waiting", "--json"]).ok();
    let report: Value = serde_json::from_str(report.lines().last().unwrap()).unwrap();
    assert_eq!(report["dead_letters"], 0);
    let stats = run(&["stats", "--json"]).json();
    assert_eq!((&stats["queued"], &stats["dead_letters"]), (&serde_json::json!({}), &serde_json::json!({})));

    let killed = stored_lines(&run(&["export"]).ok());
    for line in whole.keys().chain(killed.keys()) {
        let (whole, killed) = (whole.get(line), killed.get(line));
        assert_eq!(whole, killed, "without and with interruption: {line}");
    }
    let again = run(&["digest", "--digest", "rules", "--json"]).ok();
    assert!(again.lines().last().unwrap().contains(&format!("\"turns\":{TURNS}")), "{again}");
    assert_eq!(stored_lines(&run(&["export"]).ok()), killed, "another digest finds nothing new");
}
