//! Chats of SillyTavern: a JSON Lines file each, with a header and then one message on each line.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
};

use memory_engine_core::Scope;
use serde_json::{Map, Value, json};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    lines::Lines,
    row::{ImportRows, ImportedTurn, Row, is_nothing, time},
};

/// Types of messages that SillyTavern writes itself. A message that is only hidden from the model has none of them.
const NOTICES: [&str; 11] = [
    "help",
    "welcome",
    "empty",
    "generic",
    "comment",
    "slash_commands",
    "formatting",
    "hotkeys",
    "macros",
    "welcome_prompt",
    "assistant_note",
];
/// The name that newer versions write into the header in place of a real one.
const UNUSED: &str = "unused";

/// Reads a chat, or all chats of a directory. Returns their size in bytes as well.
///
/// A dimension that `default` sets is not taken from the chats.
///
/// # Errors
/// For a path that cannot be read, a directory without chats, and one file that is no chat.
pub fn rows(path: &Path, default: &Scope) -> Result<(ImportRows, u64), ImportError> {
    let files = if path.is_dir() { chats_in(path)? } else { vec![path.to_owned()] };
    if files.is_empty() {
        return Err(ImportError::NoChats(path.to_owned()));
    }
    let mut size = 0;
    for file in &files {
        size += fs::metadata(file).map_err(|source| ImportError::Open { path: file.clone(), source })?.len();
    }
    let (default, many) = (default.clone(), files.len() > 1);
    let rows = files.into_iter().flat_map(move |file| match read(&file, &default, many) {
        Ok(rows) => rows.into_iter().map(Ok).collect(),
        // Of many files one that is no chat keeps no other out.
        Err(e) if many => {
            vec![Ok(Row { place: name_of(&file), number: 0, bytes: 0, turns: Err(RowError::File(Box::new(e))) })]
        }
        Err(e) => vec![Err(ImportError::In { path: file, source: Box::new(e) })],
    });
    Ok((Box::new(rows), size))
}

fn chats_in(folder: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let failed = |source| ImportError::Open { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    Ok(files)
}

/// A chat: who takes part, and where it is.
#[derive(Debug, Default)]
struct Chat {
    user: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    /// Number of messages with the same name and time.
    seen: BTreeMap<String, u64>,
}

fn read(file: &Path, default: &Scope, many: bool) -> Result<Vec<Row>, ImportError> {
    let input = File::open(file).map_err(|source| ImportError::Open { path: file.to_owned(), source })?;
    let input = BufReader::new(input);
    let mut messages = Vec::new();
    for line in Lines::new(input) {
        let line = line?;
        let message = line.text.and_then(|text| object(&text));
        messages.push((line.number, line.bytes, message));
    }
    let header = match messages.first() {
        Some((_, _, Ok(first))) if is_header(first) => Some(first.clone()),
        Some((_, _, Ok(first))) if first.contains_key("mes") => None,
        _ => return Err(ImportError::NoChat),
    };
    messages.drain(..usize::from(header.is_some()));
    let named = |key: &str| {
        let name = header.as_ref()?.get(key)?.as_str()?;
        Some(name.to_owned()).filter(|name| name != UNUSED && !name.is_empty())
    };
    let mut chat = Chat::default();
    let names = |of_user: bool| {
        let of = messages.iter().filter_map(|(_, _, message)| message.as_ref().ok());
        let of = of.filter(|keys| is(keys, "is_user") == of_user && !is(keys, "is_system") && sort(keys).is_none());
        let mut names: Vec<String> = of.filter_map(|keys| keys.get("name")?.as_str().map(str::to_owned)).collect();
        names.sort();
        names.dedup();
        names
    };
    // Of several characters in one chat none is the one whose memory it is.
    let one = |names: Vec<String>| <[String; 1]>::try_from(names).ok().map(|[name]| name);
    chat.user = default.user_name().is_none().then(|| named("user_name").or_else(|| one(names(true)))).flatten();
    chat.agent = default.agent().is_none().then(|| one(names(false)).or_else(|| named("character_name"))).flatten();
    chat.session = default
        .session()
        .is_none()
        .then(|| file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default());
    let row = |(number, bytes, message): (u64, u64, Result<Map<String, Value>, RowError>)| {
        let place = if many { format!("{}: line {number}", name_of(file)) } else { format!("line {number}") };
        Row { place, number, bytes, turns: message.and_then(|keys| chat.turn(keys, number)) }
    };
    Ok(messages.into_iter().map(row).collect())
}

impl Chat {
    fn turn(&mut self, keys: Map<String, Value>, number: u64) -> Result<Vec<ImportedTurn>, RowError> {
        let without = RowError::NoText("it has no \"mes\"; every message needs one");
        let text = keys.get("mes").ok_or(without)?;
        if !text.is_string() {
            return Err(RowError::WrongType { key: "mes", expected: "text" });
        }
        if is_nothing(text) || is_notice(&keys) {
            return Ok(Vec::new());
        }
        let mut turn = ImportedTurn::default();
        turn.set("text", text.clone());
        for (key, value) in [("user", &self.user), ("agent", &self.agent), ("session", &self.session)] {
            turn.set(key, value.clone());
        }
        let narrated = sort(&keys) == Some("narrator");
        let role = if narrated {
            "system"
        } else if is(&keys, "is_user") {
            "user"
        } else {
            "assistant"
        };
        turn.set("role", role);
        let name = keys.get("name").and_then(Value::as_str).unwrap_or(role);
        turn.set("speaker", name);
        let date = keys.get("send_date").filter(|date| !is_nothing(date));
        if let Some(date) = date {
            turn.set("time", time(date));
        }
        // Another swipe has another time. The time of the first is kept, and with it the id of the message.
        let swipes = keys.get("swipe_info").and_then(Value::as_array);
        let first =
            swipes.and_then(|swipes| swipes.first()?.get("send_date")).filter(|date| !is_nothing(date)).or(date);
        let first = first.map_or_else(
            || format!("line {number}"),
            |date| date.as_str().map_or_else(|| date.to_string(), str::to_owned),
        );
        let id = format!("{role}/{name}/{first}");
        let seen = self.seen.entry(id.clone()).or_insert(0);
        *seen += 1;
        turn.set("id", if *seen == 1 { id } else { format!("{id}/{seen}") });
        turn.set("sequence", number);
        let mut metadata = Map::new();
        if let Some(count) = keys.get("swipes").and_then(Value::as_array).map(Vec::len).filter(|count| *count > 1) {
            metadata.insert("swipes".into(), json!(count));
        }
        if let Some(model) = keys.get("extra").and_then(|extra| extra.get("model")).filter(|model| !is_nothing(model)) {
            metadata.insert("model".into(), model.clone());
        }
        if is(&keys, "is_system") && !narrated {
            metadata.insert("hidden".into(), json!(true));
        }
        turn.set("metadata", metadata);
        Ok(vec![turn])
    }
}

fn name_of(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_header(keys: &Map<String, Value>) -> bool {
    let known = ["user_name", "character_name", "chat_metadata"];
    !keys.contains_key("mes") && known.iter().any(|key| keys.contains_key(*key))
}

fn is(keys: &Map<String, Value>, key: &str) -> bool {
    keys.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the kind of a message that is not from a participant.
fn sort(keys: &Map<String, Value>) -> Option<&str> {
    keys.get("extra")?.get("type")?.as_str()
}

/// Returns true if SillyTavern has written the message itself.
fn is_notice(keys: &Map<String, Value>) -> bool {
    sort(keys).is_some_and(|sort| NOTICES.contains(&sort))
}
