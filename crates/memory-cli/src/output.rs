//! Output for people: tables, progress bars, one-line texts.

use std::{
    io::Write as _,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::tz::TimeZone;
use memory_engine::{Job, MemoryEngine, Recall, RecallHit, Scope, admin::Progress, recall::Retriever};
use terminal_size::{Width, terminal_size_of};

/// Width of a table that is not printed to a terminal, in columns.
const WIDTH_WITHOUT_TERMINAL: u16 = 120;

/// Prints a line. If the reader has closed standard output, as `head` does, that is an error instead of a panic.
macro_rules! print_line {
    ($($arguments:tt)*) => {
        std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{}\n", format_args!($($arguments)*)))?
    };
}

/// Prints a line on standard error. A message that cannot be printed, for example on a full disk, is dropped.
macro_rules! report_line {
    ($($arguments:tt)*) => {
        _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($arguments)*)))
    };
}

/// Returns a table that fits the terminal.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    let columns = match terminal_size_of(std::io::stdout()) {
        Some((Width(columns), _)) => columns,
        None => WIDTH_WITHOUT_TERMINAL,
    };
    table.set_width(columns);
    table
}

/// Returns a progress bar on a terminal, and an invisible one otherwise.
pub(crate) fn progress(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸ "));
    bar
}

/// Waits until everything is indexed, with a progress bar.
pub(crate) async fn drain(engine: &MemoryEngine, scope: &Scope) -> memory_engine::Result<u64> {
    run_jobs(engine, scope, "indexing", |_| {}).await
}

/// Waits until all queued jobs are done, with a progress bar labelled `label`. Calls `on_progress` after each batch.
pub(crate) async fn run_jobs(
    engine: &MemoryEngine,
    scope: &Scope,
    label: &str,
    mut on_progress: impl FnMut(Progress),
) -> memory_engine::Result<u64> {
    let bar = job_bar(label);
    let drain = engine.drain(scope, |progress| {
        show_progress(&bar, progress);
        on_progress(progress);
    });
    let result = drain.await;
    bar.finish_and_clear();
    result
}

/// Waits until the store has switched to another embedder, with a progress bar. At most `max_missing` records may have
/// no vector.
pub(crate) async fn cut_over(
    engine: &MemoryEngine,
    max_missing: u64,
    mut on_progress: impl FnMut(Progress),
) -> memory_engine::Result<bool> {
    let bar = job_bar("embedding");
    let admin = engine.admin();
    let cut_over = admin.cut_over(max_missing, |progress| {
        show_progress(&bar, progress);
        on_progress(progress);
    });
    let result = cut_over.await;
    bar.finish_and_clear();
    result
}

fn job_bar(label: &str) -> ProgressBar {
    progress(0, &format!("{label:<9} {{wide_bar}} {{pos}}/{{len}} jobs {{per_sec}} {{eta}}"))
}

fn show_progress(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
}

/// Waits until everything is indexed, and returns the number of records without a vector.
///
/// If the embedder or the model of the graph fails, prints what is missing; keyword search finds these records.
pub(crate) async fn finish_indexing(engine: &MemoryEngine, scope: &Scope) -> memory_engine::Result<u64> {
    let drained = drain_audibly(engine, scope).await?;
    let Err(e) = drained else { return Ok(0) };
    let queued = engine.stats(scope).await?.queued;
    let count = |job: Job| queued.get(&job).copied().unwrap_or_default();
    let without_vector = count(Job::Embedding);
    let without_entities = count(Job::Graph);
    if queued.contains_key(&Job::Keywords) || without_vector + without_entities == 0 {
        return Err(e);
    }
    // A job that was not tried yet has no failure; then the error of the drain is its reason.
    let failures = engine.admin().failures(scope, MAX_FAILURES_READ).await?;
    let reason = |job: Job| {
        let last = failures.iter().find(|failure| failure.job == job);
        last.map_or_else(|| e.to_string(), |failure| failure.reason.clone())
    };
    let waiting = |count: u64| counted(count, "record waits", "records wait");
    if without_vector > 0 {
        report_line!(
            "{} for their vectors: {}. They are stored and found by keywords; \
             `memory reindex --waiting` computes the vectors.",
            waiting(without_vector),
            reason(Job::Embedding)
        );
    }
    if without_entities > 0 {
        report_line!(
            "{} for their entities: {}. They are stored and found by keywords and vectors; \
             `memory digest --waiting` with the same --graph extracts them.",
            waiting(without_entities),
            reason(Job::Graph)
        );
    }
    Ok(without_vector)
}

/// Time after which a command says what it waits for.
const MAX_SILENT_WAIT: Duration = Duration::from_secs(2);

/// Waits until everything is indexed. If no batch is finished for a while, prints once what the command waits for.
/// Returns the result of the drain.
async fn drain_audibly(engine: &MemoryEngine, scope: &Scope) -> memory_engine::Result<memory_engine::Result<u64>> {
    let has_progressed = AtomicBool::new(false);
    let drain = run_jobs(engine, scope, "indexing", |progress| {
        has_progressed.fetch_or(progress.done > 0, Ordering::Relaxed);
    });
    tokio::pin!(drain);
    loop {
        match tokio::time::timeout(MAX_SILENT_WAIT, &mut drain).await {
            Ok(drained) => return Ok(drained),
            Err(_) if has_progressed.swap(false, Ordering::Relaxed) => {}
            Err(_) => {
                report_line!("{}", describe_wait(engine, scope).await?);
                return Ok(drain.await);
            }
        }
    }
}

/// Describes the jobs that a command waits for.
async fn describe_wait(engine: &MemoryEngine, scope: &Scope) -> memory_engine::Result<String> {
    let queued = engine.stats(scope).await?.queued;
    let jobs: Vec<String> = queued.iter().map(|(job, count)| format!("{count} × {job}")).collect();
    let failures = engine.admin().failures(scope, MAX_FAILURES_READ).await?;
    let retry = failures.iter().find(|failure| failure.retry_at.is_some());
    let reason = retry.map_or_else(String::new, |failure| format!("; the last failure: {}", failure.reason));
    Ok(format!(
        "the records are stored; waiting for jobs that run, or that another process runs: {}{reason}",
        jobs.join(", ")
    ))
}

/// Maximum number of failures that are read for the reasons.
const MAX_FAILURES_READ: usize = 1000;

/// Prints a line of JSON. A closed pipe does not stop the command.
pub(crate) fn print_json_line(line: &serde_json::Value) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Returns a number with its noun: "1 record", "2 records", "0 summaries".
pub(crate) fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// Returns the hits as a table, with their relevance and times in `zone`.
pub(crate) fn recall_table(recall: &Recall, zone: &TimeZone) -> String {
    let relevance = |hit: &RecallHit| format!("{} ({:.2})", if hit.relevant { "yes" } else { "no" }, hit.relevance);
    let mut table = table(["#", "relevant", "score", "found by", "time", "speaker", "text"]);
    for (hit, n) in recall.hits.iter().zip(1..) {
        let [score, found_by, time, speaker, text] = hit_cells(hit, zone);
        table.add_row([n.to_string(), relevance(hit), score, found_by, time, speaker, text]);
    }
    with_degraded(table.to_string(), recall)
}

/// Returns the hits as a table like [`recall_table`], without their relevance, which decides only about injection.
pub(crate) fn hits_table(recall: &Recall, zone: &TimeZone) -> String {
    let mut table = table(["#", "score", "found by", "time", "speaker", "text"]);
    for (hit, n) in recall.hits.iter().zip(1..) {
        let [score, found_by, time, speaker, text] = hit_cells(hit, zone);
        table.add_row([n.to_string(), score, found_by, time, speaker, text]);
    }
    with_degraded(table.to_string(), recall)
}

/// Returns score, retrievers, time, speaker and text of a hit.
fn hit_cells(hit: &RecallHit, zone: &TimeZone) -> [String; 5] {
    let record = &hit.record;
    let speaker = record.speaker.as_deref().or(record.role.as_ref().map(|r| r.as_str())).unwrap_or("");
    let scene = record.scene.as_deref().map(|scene| format!("[{}] ", shorten(scene, 40))).unwrap_or_default();
    [
        hit.score.to_string(),
        found_by(hit),
        record.occurred_at.in_zone(zone).strftime("%Y-%m-%d %H:%M").to_string(),
        shorten(speaker, 40),
        format!("{scene}{}{}", shorten(&record.text, 160), if hit.outdated { " (outdated)" } else { "" }),
    ]
}

/// Appends the stages of a recall that failed.
fn with_degraded(mut table: String, recall: &Recall) -> String {
    for degraded in &recall.degraded {
        table.push_str(&format!("\ndegraded: {}: {}", degraded.stage, degraded.reason));
    }
    table
}

fn found_by(hit: &RecallHit) -> String {
    // The neighbour is shown only for hits that no keyword found.
    let found_by_keywords = hit.found_by.iter().any(|f| f.retriever == Retriever::Keyword);
    let shown = hit.found_by.iter().filter(|f| !found_by_keywords || f.retriever != Retriever::Neighbor);
    shown.map(|f| format!("{} #{}", f.retriever.as_str(), f.rank)).collect::<Vec<_>>().join(", ")
}

/// Returns the text on one line, cut to at most `max_chars` characters.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    line.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
}

/// Describes how long the oldest item of a queue has waited.
pub(crate) fn oldest_wait(waited: Duration) -> String {
    format!("; the oldest for {}", duration(waited))
}

/// Formats a duration in its two largest units; a second unit of zero is left out.
pub(crate) fn duration(time: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let seconds = time.as_secs();
    let Some(largest) = UNITS.iter().position(|(unit, _)| seconds >= *unit) else {
        return format!("{} ms", time.as_millis());
    };
    let mut remaining = seconds;
    let parts = UNITS.iter().skip(largest).take(2).map(|(unit, name)| {
        let count = remaining / unit;
        remaining %= unit;
        (count, name)
    });
    let parts = parts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
    parts.collect::<Vec<_>>().join(" ")
}

/// Formats a ratio with four digits.
pub(crate) fn ratio(value: f64) -> String {
    format!("{value:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        let format = |millis: u64| duration(Duration::from_millis(millis));
        assert_eq!([0, 250, 1_000, 59_999].map(format), ["0 ms", "250 ms", "1 s", "59 s"]);
        assert_eq!([60_000, 61_000, 3_600_000, 3_725_000].map(format), ["1 min", "1 min 1 s", "1 h", "1 h 2 min"]);
        assert_eq!(format(90_061_000), "1 d 1 h");
    }
}
