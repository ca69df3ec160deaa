//! Memories as Markdown, for resources and prompts.

use jiff::tz::TimeZone;
use memory_engine::{
    Field, Filter, Kind, MemoryEngine, RecallHit, Record, Result, ScanQuery, Scope, State,
    context::{TokenCounter, quoted},
    enrichment,
};

/// The text for hosts that show only text, if there are no memories.
pub(super) const NO_MEMORIES_TEXT: &str = "Nothing is remembered yet.";
/// Maximum number of notes in the list of facts and notes.
const MAX_NOTES: usize = 500;
/// Maximum number of tokens of the list of facts and notes.
const FACTS_TOKENS: usize = 4000;
/// Maximum number of messages in the list of the latest messages.
const MAX_RECENT_MESSAGES: usize = 20;

/// Returns the profile of the user.
///
/// # Errors
/// The errors of the store.
pub(super) async fn profile(engine: &MemoryEngine, scope: &Scope) -> Result<String> {
    let records = newest(engine, scope, Kind::PROFILE, 1).await?;
    Ok(document("Profile", records.iter().map(|record| safe(&record.text))))
}

/// Returns the facts and notes, oldest first, each with its id. If there are too many, the oldest ones are left out,
/// and a last line says how many.
///
/// # Errors
/// The errors of the store.
pub(super) async fn facts(
    engine: &MemoryEngine,
    scope: &Scope,
    zone: &TimeZone,
    counter: &dyn TokenCounter,
) -> Result<String> {
    let mut facts = engine.facts(scope).records().await?;
    facts.extend(newest(engine, scope, Kind::NOTE, MAX_NOTES).await?);
    facts.sort_by_key(Record::position);
    let now = engine.settings().clock().now();
    let line = |fact: &Record| format!("- {} (`{}`)", safe(&enrichment::render(fact, now, zone)), fact.id);
    let newest_first = facts.iter().rev().map(line).collect();
    let (mut lines, omitted) = within_tokens(newest_first, FACTS_TOKENS, counter);
    lines.reverse();
    if omitted > 0 {
        lines.push(format!("\n{omitted} older ones are left out; list_memories shows them."));
    }
    Ok(document("Facts and notes", lines.into_iter()))
}

/// Returns the first lines that have at most `max_tokens` together, and the number of those that are left out.
pub(super) fn within_tokens(
    mut lines: Vec<String>,
    max_tokens: usize,
    counter: &dyn TokenCounter,
) -> (Vec<String>, usize) {
    let mut tokens = 0;
    let is_too_long = |line: &String| {
        // The line break is a token of its own.
        tokens += counter.count(line) + 1;
        tokens > max_tokens
    };
    let kept = lines.iter().position(is_too_long).unwrap_or(lines.len());
    let omitted = lines.len() - kept;
    lines.truncate(kept);
    (lines, omitted)
}

/// Returns the latest messages, oldest first.
///
/// # Errors
/// The errors of the store.
pub(super) async fn recent(engine: &MemoryEngine, scope: &Scope, zone: &TimeZone) -> Result<String> {
    let messages = newest(engine, scope, Kind::TURN, MAX_RECENT_MESSAGES).await?;
    Ok(document("Latest messages", messages.iter().map(|message| line(message, zone))))
}

/// Returns one memory with its metadata.
pub(super) fn record(record: &Record, zone: &TimeZone) -> String {
    let mut parts = vec![format!("# Memory {}", record.id), format!("> {}", safe(&record.text))];
    let time = record.said_at(zone).strftime("%Y-%m-%d %H:%M").to_string();
    let mut metadata = vec![format!("- Kind: {}", record.kind.as_str()), format!("- Time: {time}")];
    let labels =
        [("Speaker", speaker(record)), ("Scene", record.scene.as_deref()), ("Session", record.scope.session())];
    metadata.extend(labels.into_iter().filter_map(|(name, value)| Some(format!("- {name}: {}", safe(value?)))));
    parts.push(metadata.join("\n"));
    parts.join("\n\n") + "\n"
}

/// Returns a memory as an item of a list: time, scene, speaker and text.
pub(super) fn line(record: &Record, zone: &TimeZone) -> String {
    let time = record.said_at(zone).strftime("%Y-%m-%d %H:%M");
    // The name of a scene is not trusted: it must not close the brackets.
    let scene = record.scene.as_deref().map(|scene| safe(&scene.replace(['[', ']', '\n'], "")));
    let scene = scene.map(|scene| format!("[{scene}] ")).unwrap_or_default();
    let speaker = speaker(record).map(|name| format!("{}: ", safe(name))).unwrap_or_default();
    format!("- {time} {scene}{speaker}{}", safe(&record.text))
}

/// Returns the line of a hit, which says that it is outdated if it is.
pub(super) fn hit_line(hit: &RecallHit, zone: &TimeZone) -> String {
    let line = line(&hit.record, zone);
    if hit.outdated { format!("{line} (outdated)") } else { line }
}

fn speaker(record: &Record) -> Option<&str> {
    record.named_speaker().or(record.role.as_ref().map(|role| role.as_str()))
}

/// Returns the newest active records of a kind, oldest first.
async fn newest(engine: &MemoryEngine, scope: &Scope, kind: Kind, limit: usize) -> Result<Vec<Record>> {
    let filter = Filter::eq(Field::Kind, kind.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
    let mut records = engine.history().timeline(scope, &ScanQuery::newest(limit).with_filter(filter)).await?.records;
    records.reverse();
    Ok(records)
}

/// Returns a text that cannot imitate the layout around it: headings, items of the list, and marks of scenes.
fn safe(text: &str) -> String {
    quoted(text, &["plot", "daily", "meta"])
}

/// Returns a document with a heading, or with a sentence that there are no memories.
fn document(heading: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    let body = if lines.is_empty() { NO_MEMORIES_TEXT.to_owned() } else { lines.join("\n") };
    format!("# {heading}\n\n{body}\n")
}
