//! Read-only files that show what the memory knows from elsewhere.

use memory_engine::{
    Field, Filter, Kind, MemoryEngine, Record, Result, ScanQuery, Scope, State, context::quoted, enrichment,
};

use super::{files::MemoryFile, path::MemoryPath};

/// The folder of these files.
const FOLDER: &str = "/memories/known";
/// Maximum number of notes in the file of facts.
const MAX_NOTES: usize = 40;
/// Maximum number of messages in the file of the latest messages.
const MAX_MESSAGES: usize = 50;

/// Returns true for the folder of the read-only files, and for everything in it.
pub(crate) fn is_known(path: &MemoryPath) -> bool {
    path.as_str().strip_prefix(FOLDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the refusal of a command that would change such a path.
pub(crate) fn refusal(path: &MemoryPath) -> String {
    format!("{path} is read-only: {FOLDER} shows what is remembered from other conversations.")
}

/// Returns the read-only files that are not empty: the facts and notes that are not files, and the latest messages.
pub(crate) async fn files(engine: &MemoryEngine, scope: &Scope) -> Result<Vec<MemoryFile>> {
    let settings = engine.settings();
    let (now, zone) = (settings.clock().now(), settings.zone());
    let mut facts = engine.facts(scope).records().await?;
    facts.extend(newest(engine, scope, Kind::NOTE, MAX_NOTES).await?.into_iter().filter(|note| !MemoryFile::is(note)));
    facts.sort_by_key(Record::position);
    let facts = facts.iter().map(|fact| format!("- {}\n", quoted(&enrichment::render(fact, now, zone), &[])));
    let messages = newest(engine, scope, Kind::TURN, MAX_MESSAGES).await?;
    let messages = messages.iter().map(|message| {
        let time = message.said_at(zone).strftime("%Y-%m-%d %H:%M");
        let speaker = message.named_speaker().or(message.role.as_ref().map(|role| role.as_str()));
        let speaker = speaker.map(|name| format!("{}: ", quoted(name, &[]))).unwrap_or_default();
        format!("- {time} {speaker}{}\n", quoted(&message.text, &[]))
    });
    let files = [("facts.md", facts.collect::<String>()), ("recent.md", messages.collect())];
    let not_empty = files.into_iter().filter(|(_, text)| !text.is_empty());
    Ok(not_empty.map(|(name, text)| MemoryFile::read_only(MemoryPath::of(&format!("{FOLDER}/{name}")), text)).collect())
}

/// Returns the newest active records of a kind, oldest first.
async fn newest(engine: &MemoryEngine, scope: &Scope, kind: Kind, limit: usize) -> Result<Vec<Record>> {
    let filter = Filter::eq(Field::Kind, kind.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
    let mut records = engine.history().timeline(scope, &ScanQuery::newest(limit).with_filter(filter)).await?.records;
    records.reverse();
    Ok(records)
}
