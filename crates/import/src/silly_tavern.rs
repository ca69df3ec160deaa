//! Reads chats of SillyTavern: JSON Lines files with a header, and then one message on each line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::BufReader,
    path::{Path, PathBuf},
};

use memory_engine_core::Scope;
use serde_json::{Map, Value, json};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    lines::Lines,
    row::{ImportRows, ImportedTurn, Row, convert_time, is_blank},
    source_file::{OpenFile, open_listed, open_named, total_size},
};

/// Types of messages that SillyTavern itself writes. A message of a participant that is hidden from the model has none.
const NOTICE_TYPES: [&str; 11] = [
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
/// The placeholder that newer versions write into the header instead of a name.
const UNUSED_NAME: &str = "unused";

/// Reads a chat, or all chats of a directory. Returns the rows, and the size of the files in bytes.
///
/// Dimensions that `default` sets are not read from the chats.
///
/// # Errors
/// If the path cannot be read, the directory has no chats, or a single file is not a chat.
pub fn rows(path: &Path, default: &Scope) -> Result<(ImportRows, u64), ImportError> {
    let is_folder = path.is_dir();
    let files = if is_folder { chat_files(path)? } else { vec![path.to_owned()] };
    if files.is_empty() {
        return Err(ImportError::NoChats(path.to_owned()));
    }
    let size = total_size(&files)?;
    let default = default.clone();
    let has_many_files = files.len() > 1;
    let open: OpenFile = if is_folder { open_listed } else { open_named };
    let rows = files.into_iter().flat_map(move |file| match read_chat(open, &file, &default, has_many_files) {
        Ok(rows) => rows.into_iter().map(Ok).collect(),
        // One invalid file of several does not end the import.
        Err(e) if has_many_files => {
            vec![Ok(Row { place: file_name(&file), number: 0, bytes: 0, turns: Err(RowError::File(Box::new(e))) })]
        }
        Err(e) => vec![Err(ImportError::In { path: file, source: Box::new(e) })],
    });
    Ok((Box::new(rows), size))
}

/// Returns the chat files of a directory, sorted by name.
fn chat_files(directory: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let failed = |source| ImportError::Open { path: directory.to_owned(), source };
    let entries = fs::read_dir(directory).map_err(failed)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    Ok(files)
}

/// The participants and the session of a chat, as far as the default scope does not set them.
#[derive(Debug, Default)]
struct Chat {
    user: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    /// Number of messages with the same role, name and time so far.
    message_counts: BTreeMap<String, u64>,
}

/// A line of a chat file.
struct MessageLine {
    number: u64,
    bytes: u64,
    keys: Result<Map<String, Value>, RowError>,
}

fn read_chat(open: OpenFile, file: &Path, default: &Scope, has_many_files: bool) -> Result<Vec<Row>, ImportError> {
    let mut messages = read_lines(open, file)?;
    let header = match messages.first().map(|line| &line.keys) {
        Some(Ok(first)) if is_header(first) => Some(first.clone()),
        Some(Ok(first)) if first.contains_key("mes") => None,
        _ => return Err(ImportError::NoChat),
    };
    if header.is_some() {
        messages.remove(0);
    }
    let name_in_header = |key: &str| {
        let name = header.as_ref()?.get(key)?.as_str()?;
        Some(name.to_owned()).filter(|name| name != UNUSED_NAME && !name.is_empty())
    };
    let mut chat = Chat::default();
    // A name that the command sets holds for all chats.
    if default.user_name().is_none() {
        chat.user = name_in_header("user_name").or_else(|| only_speaker(&messages, true));
    }
    if default.agent().is_none() {
        chat.agent = only_speaker(&messages, false).or_else(|| name_in_header("character_name"));
    }
    if default.session().is_none() {
        chat.session = Some(file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default());
    }
    let mut rows = Vec::with_capacity(messages.len());
    for MessageLine { number, bytes, keys } in messages {
        let place =
            if has_many_files { format!("{}: line {number}", file_name(file)) } else { format!("line {number}") };
        rows.push(Row { place, number, bytes, turns: keys.and_then(|keys| chat.read_turn(keys, number)) });
    }
    Ok(rows)
}

fn read_lines(open: OpenFile, file: &Path) -> Result<Vec<MessageLine>, ImportError> {
    let input = open(file)?;
    let mut lines = Vec::new();
    for line in Lines::new(BufReader::new(input)) {
        let line = line?;
        let keys = line.text.and_then(|text| object(&text));
        lines.push(MessageLine { number: line.number, bytes: line.bytes, keys });
    }
    Ok(lines)
}

/// Returns the name of the user, or of the character, if all of their messages have the same name. A chat with several
/// characters belongs to none of them.
fn only_speaker(messages: &[MessageLine], is_user: bool) -> Option<String> {
    let valid = messages.iter().filter_map(|line| line.keys.as_ref().ok());
    let spoken = valid
        .filter(|keys| flag(keys, "is_user") == is_user && !flag(keys, "is_system") && message_type(keys).is_none());
    let names: BTreeSet<&str> = spoken.filter_map(|keys| keys.get("name")?.as_str()).collect();
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none()).map(str::to_owned)
}

impl Chat {
    /// Returns the turn of a message, or none for an empty message and a notice of SillyTavern.
    fn read_turn(&mut self, keys: Map<String, Value>, number: u64) -> Result<Vec<ImportedTurn>, RowError> {
        let text = keys.get("mes").ok_or(RowError::NoText("it has no \"mes\"; every message needs one"))?;
        if !text.is_string() {
            return Err(RowError::WrongType { key: "mes", expected: "text" });
        }
        if is_blank(text) || is_notice(&keys) {
            return Ok(Vec::new());
        }
        let mut turn = ImportedTurn::default();
        turn.set("text", text.clone());
        for (key, value) in [("user", &self.user), ("agent", &self.agent), ("session", &self.session)] {
            turn.set(key, value.clone());
        }
        let is_narration = message_type(&keys) == Some("narrator");
        let role = if is_narration {
            "system"
        } else if flag(&keys, "is_user") {
            "user"
        } else {
            "assistant"
        };
        turn.set("role", role);
        let name = keys.get("name").and_then(Value::as_str).unwrap_or(role);
        turn.set("speaker", name);
        let date = keys.get("send_date").filter(|date| !is_blank(date));
        if let Some(date) = date {
            turn.set("time", convert_time(date));
        }
        turn.set("id", self.message_id(role, name, first_swipe_date(&keys).or(date), number));
        turn.set("sequence", number);
        turn.set("metadata", message_metadata(&keys, is_narration));
        Ok(vec![turn])
    }

    /// Returns the id of a message: its role, name and time, and a number if another message has the same ones.
    fn message_id(&mut self, role: &str, name: &str, date: Option<&Value>, number: u64) -> String {
        let date = match date {
            Some(Value::String(date)) => date.clone(),
            Some(date) => date.to_string(),
            None => format!("line {number}"),
        };
        let id = format!("{role}/{name}/{date}");
        let count = self.message_counts.entry(id.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { id } else { format!("{id}/{count}") }
    }
}

/// Returns the date of the first swipe. Another swipe of a message has another date, but the id of the message must not
/// change.
fn first_swipe_date(keys: &Map<String, Value>) -> Option<&Value> {
    let first = keys.get("swipe_info")?.as_array()?.first()?;
    first.get("send_date").filter(|date| !is_blank(date))
}

/// Returns the metadata of a message: number of swipes, model, and whether it is hidden from the model.
fn message_metadata(keys: &Map<String, Value>, is_narration: bool) -> Map<String, Value> {
    let mut metadata = Map::new();
    if let Some(count) = keys.get("swipes").and_then(Value::as_array).map(Vec::len).filter(|count| *count > 1) {
        metadata.insert("swipes".into(), json!(count));
    }
    if let Some(model) = keys.get("extra").and_then(|extra| extra.get("model")).filter(|model| !is_blank(model)) {
        metadata.insert("model".into(), model.clone());
    }
    if flag(keys, "is_system") && !is_narration {
        metadata.insert("hidden".into(), json!(true));
    }
    metadata
}

fn file_name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_header(keys: &Map<String, Value>) -> bool {
    let header_keys = ["user_name", "character_name", "chat_metadata"];
    !keys.contains_key("mes") && header_keys.iter().any(|key| keys.contains_key(*key))
}

/// Returns the value of a boolean key; false if it is not set.
fn flag(keys: &Map<String, Value>, key: &str) -> bool {
    keys.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the type of a message that is not from a participant.
fn message_type(keys: &Map<String, Value>) -> Option<&str> {
    keys.get("extra")?.get("type")?.as_str()
}

/// Returns true if SillyTavern itself has written the message.
fn is_notice(keys: &Map<String, Value>) -> bool {
    message_type(keys).is_some_and(|message_type| NOTICE_TYPES.contains(&message_type))
}
