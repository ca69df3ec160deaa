//! Screens the lines, or the texts, of standard input with every rule, and prints the number of findings of each rule and the time.
//!
//! ```sh
//! cargo run --release -p memory-engine-screening --example screen < notes.txt
//! cargo run --release -p memory-engine-screening --example screen -- --show < notes.txt   # with masked lines
//! cargo run --release -p memory-engine-screening --example screen -- --default < notes.txt   # credentials only
//! cargo run --release -p memory-engine-screening --example screen -- -0 < texts   # texts that end with a NUL byte
//! ```

use std::{
    collections::BTreeMap,
    io::{self, Read},
    time::{Duration, Instant},
};

use memory_engine_screening::{Screener, ScreeningAction, ScreeningPolicy, ScreeningRuleId};

fn main() -> io::Result<()> {
    let shows_lines = std::env::args().any(|argument| argument == "--show");
    let is_default = std::env::args().any(|argument| argument == "--default");
    let policy = if is_default { ScreeningPolicy::default() } else { ScreeningPolicy::uniform(ScreeningAction::Mask) };
    let screener = Screener::new(policy);
    let separator = if std::env::args().any(|argument| argument == "-0") { '\0' } else { '\n' };
    let mut input = String::new();
    io::stdin().lock().read_to_string(&mut input)?;
    let lines: Vec<&str> = input.split_terminator(separator).collect();
    let mut counts: BTreeMap<ScreeningRuleId, u64> = BTreeMap::new();
    // Expressions are compiled at their first use.
    for line in &lines {
        let screened = screener.screen(line);
        for finding in &screened.findings {
            *counts.entry(finding.rule).or_default() += 1;
        }
        if shows_lines && !screened.findings.is_empty() {
            println!("{}", screened.text);
        }
    }
    let start = Instant::now();
    let findings: usize = lines.iter().map(|line| screener.findings(line).len()).sum();
    let duration = start.elapsed();
    for (rule, count) in counts {
        println!("{count:7}  {rule}");
    }
    let bytes: usize = lines.iter().map(|line| line.len()).sum();
    let per_line = duration.checked_div(u32::try_from(lines.len()).unwrap_or(u32::MAX)).unwrap_or(Duration::ZERO);
    println!("{findings} findings in {} lines, {bytes} bytes; {per_line:?} per line", lines.len());
    Ok(())
}
