//! Output for people: tables, progress, one-line texts.

use std::{
    io::{IsTerminal, Write as _},
    time::Duration,
};

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::tz::TimeZone;
use memory_engine::{Job, MemoryEngine, Recall, RecallHit, Scope, admin::Progress, recall::Retriever};

/// Prints a line; a reader that has gone away, as `head` does, is an error like any other and no panic.
macro_rules! say {
    ($($what:tt)*) => {
        std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{}\n", format_args!($($what)*)))?
    };
}

/// A table that fits the terminal.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    if !std::io::stdout().is_terminal() {
        table.set_width(120);
    }
    table
}

/// Returns a progress bar on a terminal, and an invisible one otherwise.
pub(crate) fn progress(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸ "));
    bar
}

/// Waits until everything is indexed, with a bar.
pub(crate) async fn drain(engine: &MemoryEngine, scope: &Scope) -> memory_engine::Result<u64> {
    work(engine, scope, "indexing", |_| {}).await
}

/// Waits until everything that is queued is done, with a bar that says `what` it is, and tells how far it is.
pub(crate) async fn work(
    engine: &MemoryEngine,
    scope: &Scope,
    what: &str,
    mut told: impl FnMut(Progress),
) -> memory_engine::Result<u64> {
    let bar = work_bar(what);
    let done = engine.drain(scope, |progress| {
        show(&bar, progress);
        told(progress);
    });
    let done = done.await;
    bar.finish_and_clear();
    done
}

/// Waits until a change of embedder is done, with a bar, and tells how far it is.
pub(crate) async fn cut_over(
    engine: &MemoryEngine,
    lacking: u64,
    mut told: impl FnMut(Progress),
) -> memory_engine::Result<bool> {
    let bar = work_bar("embedding");
    let admin = engine.admin();
    let over = admin.cut_over(lacking, |progress| {
        show(&bar, progress);
        told(progress);
    });
    let over = over.await;
    bar.finish_and_clear();
    over
}

fn work_bar(what: &str) -> ProgressBar {
    progress(0, &format!("{what:<9} {{wide_bar}} {{pos}}/{{len}} {{per_sec}} {{eta}}"))
}

fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
}

/// Waits until everything is indexed, and gives how many vectors are not: where the embedder or the model that reads
/// for entities does not work, it is said what is missing. What waits is found by its words meanwhile.
pub(crate) async fn settle(engine: &MemoryEngine, scope: &Scope) -> memory_engine::Result<u64> {
    let Err(e) = drain(engine, scope).await else { return Ok(0) };
    let waiting = engine.stats(scope).await?.backlog;
    let count = |job: Job| waiting.get(&job).copied().unwrap_or_default();
    let (vectors, unread) = (count(Job::Embedding), count(Job::Graph));
    if waiting.contains_key(&Job::Keywords) || vectors + unread == 0 {
        return Err(e);
    }
    // Each has a reason of its own; of what did not come to be tried, the first error is it.
    let failures = engine.admin().failures(scope, MAX_FAILURES_READ).await?;
    let reason = |job: Job| {
        let last = failures.iter().find(|failure| failure.job == job);
        last.map_or_else(|| e.to_string(), |failure| failure.reason.clone())
    };
    let wait = |count: u64| counted(count, "record waits", "records wait");
    if vectors > 0 {
        eprintln!(
            "{} for their vectors: {}. They are stored, and found by their words; \
             `memory reindex --waiting` goes on.",
            wait(vectors),
            reason(Job::Embedding)
        );
    }
    if unread > 0 {
        eprintln!(
            "{} to be read for entities: {}. They are stored, and found as before; \
             `memory digest --waiting` with the same --graph goes on.",
            wait(unread),
            reason(Job::Graph)
        );
    }
    Ok(vectors)
}

/// Maximum number of failures that are read for the reasons.
const MAX_FAILURES_READ: usize = 1000;

/// Prints a line of JSON. A closed pipe does not stop the command.
pub(crate) fn tell_line(line: &serde_json::Value) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Returns a number with its noun: "1 record", "2 records", "0 summaries".
pub(crate) fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// Returns the hits as a table, with a mark for relevant ones and times in `zone`.
pub(crate) fn recall_table(recall: &Recall, zone: &TimeZone) -> String {
    let mut table = table(["#", "relevant", "score", "found by", "when", "who", "text"]);
    for (hit, n) in recall.hits.iter().zip(1..) {
        let record = &hit.record;
        let who = record.speaker.as_deref().or(record.role.as_ref().map(|r| r.as_str())).unwrap_or("");
        let scene = record.scene.as_deref().map(|scene| format!("[{}] ", shorten(scene, 40))).unwrap_or_default();
        table.add_row([
            n.to_string(),
            if hit.relevant { "yes".to_owned() } else { String::new() },
            hit.score.to_string(),
            found_by(hit),
            record.occurred_at.in_zone(zone).strftime("%Y-%m-%d %H:%M").to_string(),
            shorten(who, 40),
            format!("{scene}{}", shorten(&record.text, 160)),
        ]);
    }
    let mut text = table.to_string();
    for degraded in &recall.degraded {
        text.push_str(&format!("\ndegraded: {}: {}", degraded.stage, degraded.reason));
    }
    text
}

fn found_by(hit: &RecallHit) -> String {
    // That a neighbour was found too says something only of what was not found by its own words.
    let by_words = hit.found_by.iter().any(|f| f.retriever == Retriever::Keyword);
    let ways = hit.found_by.iter().filter(|f| !by_words || f.retriever != Retriever::Neighbor);
    ways.map(|f| format!("{} #{}", f.retriever.as_str(), f.rank)).collect::<Vec<_>>().join(", ")
}

/// A text on one line, cut at a number of characters.
pub(crate) fn shorten(text: &str, characters: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= characters {
        return line;
    }
    line.chars().take(characters.saturating_sub(1)).chain(['…']).collect()
}

/// For how long the first of those that wait has waited.
pub(crate) fn first_waits(so_long: Duration) -> String {
    format!("; the first for {}", duration(so_long))
}

/// A length of time in the two largest units that say something.
pub(crate) fn duration(time: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let seconds = time.as_secs();
    let Some(largest) = UNITS.iter().position(|(unit, _)| seconds >= *unit) else {
        return format!("{} ms", time.as_millis());
    };
    let mut left = seconds;
    let parts = UNITS.iter().skip(largest).take(2).map(|(unit, name)| {
        let count = left / unit;
        left %= unit;
        (count, name)
    });
    let parts = parts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
    parts.collect::<Vec<_>>().join(" ")
}

/// A ratio with four digits.
pub(crate) fn ratio(value: f64) -> String {
    format!("{value:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_told_in_the_units_that_matter() {
        let told = |millis: u64| duration(Duration::from_millis(millis));
        assert_eq!([0, 250, 1_000, 59_999].map(told), ["0 ms", "250 ms", "1 s", "59 s"]);
        assert_eq!([60_000, 61_000, 3_600_000, 3_725_000].map(told), ["1 min", "1 min 1 s", "1 h", "1 h 2 min"]);
        assert_eq!(told(90_061_000), "1 d 1 h");
    }
}
