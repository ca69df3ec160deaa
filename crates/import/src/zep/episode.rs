//! Episodes of Graphiti and Zep.

use memory_engine_core::Kind;
use serde_json::{Map, Value};

use super::{
    keys::{text, time},
    message::{self, PARTICIPANT, role},
};
use crate::{error::RowError, row::ImportedTurn};

/// Maximum number of characters of a speaker's name before a colon.
const MAX_NAME_CHARS: usize = 40;

/// Words of one speaker in the content of an episode.
struct SpokenPart<'t> {
    speaker: &'t str,
    /// The type of the speaker: `user` in `Lin (user): hello`, else the name itself.
    kind: &'t str,
    text: String,
}

/// Reads an episode: the turns of a conversation, or a note. A triple has none: its fact is an edge.
pub(super) fn read(keys: &Map<String, Value>) -> Result<Vec<ImportedTurn>, RowError> {
    let Some(content) = keys.get("content").and_then(Value::as_str) else {
        return Err(RowError::WrongType { key: "content", expected: "text" });
    };
    let source = text(keys, "source").unwrap_or("text");
    let has_role = text(keys, "role").or_else(|| text(keys, "role_type")).is_some();
    let mut turns = match source {
        _ if content.trim().is_empty() => Vec::new(),
        "fact_triple" => Vec::new(),
        "message" if has_role => message::read(keys)?.into_iter().collect(),
        "message" => read_conversation(content, keys),
        _ => vec![note(content, keys)],
    };
    for turn in &mut turns {
        turn.set("time", time(keys, &["valid_at", "reference_time", "created_at"]));
        turn.set("metadata", metadata(keys));
    }
    Ok(turns)
}

fn note(content: &str, keys: &Map<String, Value>) -> ImportedTurn {
    let mut turn = with_id(keys.get("uuid").cloned().unwrap_or_default(), keys);
    turn.set("text", content);
    turn.set("kind", Kind::NOTE.as_str());
    turn
}

fn with_id(id: Value, keys: &Map<String, Value>) -> ImportedTurn {
    let mut turn = ImportedTurn { seed: Value::Object(keys.clone()).to_string(), ..ImportedTurn::default() };
    turn.set("id", id);
    turn
}

/// Returns the turns of a conversation. The only turn of an episode has its id; of several, each has it with a number.
fn read_conversation(content: &str, keys: &Map<String, Value>) -> Vec<ImportedTurn> {
    let parts = spoken_parts(content);
    let id = text(keys, "uuid");
    let is_single = parts.len() == 1;
    let turns = parts.into_iter().zip(1..).filter_map(|(part, number)| {
        let role = role(part.kind)?;
        let part_id = id.map(|id| if is_single { id.to_owned() } else { format!("{id}/{number}") });
        let mut turn = with_id(part_id.into(), keys);
        turn.set("text", part.text.trim());
        turn.set("role", role);
        turn.set("sequence", number);
        if role == PARTICIPANT || part.speaker != part.kind {
            turn.set("speaker", Some(part.speaker).filter(|speaker| !speaker.is_empty()));
        }
        Some(turn)
    });
    turns.filter(|turn| turn.keys["text"] != "").collect()
}

/// Splits the content of an episode, whose lines are `actor: words`, at the lines that begin with a role, or with a
/// name and a role. Other lines continue the words before them: a colon is no sign of another speaker.
fn spoken_parts(content: &str) -> Vec<SpokenPart<'_>> {
    let mut parts: Vec<SpokenPart<'_>> = Vec::new();
    for line in content.lines() {
        match speaker(line) {
            Some((speaker, kind, words)) if parts.is_empty() || is_role(kind) => {
                parts.push(SpokenPart { speaker, kind, text: words.to_owned() });
            }
            _ => match parts.last_mut() {
                Some(part) => part.text.extend(["\n", line]),
                None => parts.push(SpokenPart { speaker: "", kind: "", text: line.to_owned() }),
            },
        }
    }
    parts
}

fn is_role(kind: &str) -> bool {
    role(kind) != Some(PARTICIPANT)
}

/// Returns the name, the type and the words of a line `name: words` or `name (type): words`.
fn speaker(line: &str) -> Option<(&str, &str, &str)> {
    let (actor, words) = line.split_once([':', '：'])?;
    let actor = actor.trim();
    // An address, such as https://…, has no speaker.
    let is_name = !actor.is_empty() && actor.chars().count() <= MAX_NAME_CHARS && !words.starts_with("//");
    if !is_name {
        return None;
    }
    let words = words.trim_start();
    let kind = actor.strip_suffix(')').and_then(|name| name.rsplit_once('(')).filter(|(_, kind)| is_role(kind.trim()));
    Some(kind.map_or((actor, actor, words), |(name, kind)| (name.trim(), kind.trim(), words)))
}

fn metadata(keys: &Map<String, Value>) -> Map<String, Value> {
    let given = ["metadata", "episode_metadata"].iter().find_map(|key| keys.get(*key)?.as_object());
    let mut metadata = given.cloned().unwrap_or_default();
    for (key, name) in [("zep.episode", "name"), ("zep.source", "source_description")] {
        if let Some(value) = text(keys, name) {
            metadata.insert(key.to_owned(), value.into());
        }
    }
    metadata
}
