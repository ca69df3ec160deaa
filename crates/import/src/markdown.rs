//! Reads notes: a Markdown file, or a folder of them.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use crate::{
    chat_files::files_with_extension,
    error::{ImportError, MAX_LINE_BYTES, RowError},
    row::{ImportRows, ImportedTurn, Row},
    source_file::{OpenFile, open_listed, open_named, total_size},
};

/// The keys of the front matter that are fields of a record. The others become metadata.
const FIELDS: [&str; 12] =
    ["agent", "id", "kind", "role", "scene", "session", "speaker", "tags", "time", "user", "valid_from", "valid_until"];
/// Other names for the time, in order of preference.
const TIME_NAMES: [&str; 4] = ["date", "created", "created_at", "timestamp"];
/// Keys that an export adds for readers of the Open Knowledge Format. They repeat fields of the record.
const EXPORTED_KEYS: [&str; 3] = ["type", "generated", "stale_after"];
/// The listing of a folder in the Open Knowledge Format. The one of the whole bundle has [`VERSION_KEY`].
const INDEX_FILE: &str = "index.md";
/// Files of the Open Knowledge Format that are not notes.
const RESERVED_FILES: [&str; 2] = [INDEX_FILE, "log.md"];
const VERSION_KEY: &str = "okf_version";

/// Reads a file, or all `.md` files of a folder and of the folders in it. A row is a file. Returns the rows, and the
/// size of the files in bytes.
///
/// In a bundle of the Open Knowledge Format, the files `index.md` and `log.md` are no notes.
///
/// The text is what follows the front matter: lines `key: value` between two lines `---`, with lists as `[a, b]` or as
/// lines `- a`. `date`, `created`, `created_at` or `timestamp` is the time, else the time of the file's last change;
/// `title` and unknown keys become metadata. The id is the path of the file within the folder, unless the front matter
/// has one.
///
/// # Errors
/// If the path cannot be read, or a folder has no Markdown file.
pub fn rows(path: &Path) -> Result<(ImportRows, u64), ImportError> {
    let is_folder = path.is_dir();
    let (root, mut files) = if is_folder {
        (path.to_owned(), files_with_extension(path, "md")?)
    } else {
        (path.parent().map(Path::to_owned).unwrap_or_default(), vec![path.to_owned()])
    };
    if is_folder && is_bundle(path) {
        files
            .retain(|file| file.file_name().is_none_or(|name| RESERVED_FILES.iter().all(|reserved| name != *reserved)));
    }
    if files.is_empty() {
        return Err(ImportError::NoNotes(path.to_owned()));
    }
    let size = total_size(&files)?;
    let open: OpenFile = if is_folder { open_listed } else { open_named };
    let rows = files.into_iter().zip(1..).map(move |(file, number)| read_file(open, &root, file, number));
    Ok((Box::new(rows), size))
}

/// Returns true if a folder has the listing of a bundle of the Open Knowledge Format.
fn is_bundle(root: &Path) -> bool {
    let Ok(input) = open_listed(&root.join(INDEX_FILE)) else { return false };
    let Ok(index) = io::read_to_string(input.take(MAX_LINE_BYTES as u64)) else { return false };
    matches!(front_matter(&index), Ok(Some((front, _))) if parse_front_matter(front).contains_key(VERSION_KEY))
}

fn read_file(open: OpenFile, root: &Path, file: PathBuf, number: u64) -> Result<Row, ImportError> {
    let name = file.strip_prefix(root).unwrap_or(&file);
    // The same id on every system.
    let name: Vec<String> = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let name = name.join("/");
    let input = match open(&file) {
        Ok(input) => input,
        Err(e @ ImportError::NotRegular(_)) => {
            return Ok(Row { place: name, number, bytes: 0, turns: Err(RowError::File(Box::new(e))) });
        }
        Err(e) => return Err(e),
    };
    let mut bytes = Vec::new();
    let limited = input.take(MAX_LINE_BYTES as u64 + 1).read_to_end(&mut bytes);
    let size = limited.map_err(|source| ImportError::Open { path: file.clone(), source })? as u64;
    if bytes.len() > MAX_LINE_BYTES {
        return Ok(Row { place: name, number, bytes: size, turns: Err(RowError::LongFile) });
    }
    let text = String::from_utf8(bytes).map_err(|e| RowError::NotUtf8 { byte: e.utf8_error().valid_up_to() + 1 });
    let mut turns = text.and_then(|text| read_note(&text, &name));
    // Without a time in the file, a second import would find another record.
    if let (Ok(notes), Some(time)) = (&mut turns, modification_time(&file)) {
        notes.iter_mut().for_each(|note| note.set_if_missing("time", time.as_str()));
    }
    Ok(Row { place: name, number, bytes: size, turns })
}

fn modification_time(file: &Path) -> Option<String> {
    let modified = fs::metadata(file).ok()?.modified().ok()?;
    jiff::Timestamp::try_from(modified).ok().map(|time| time.to_string())
}

fn read_note(text: &str, name: &str) -> Result<Vec<ImportedTurn>, RowError> {
    let text = text.trim_start_matches('\u{feff}');
    let (mut keys, body) = match front_matter(text)? {
        Some((front, body)) => (parse_front_matter(front), body),
        None => (Map::new(), text),
    };
    if body.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut turn = ImportedTurn::default();
    turn.set("kind", "note");
    turn.set("text", body.trim());
    turn.set("id", name);
    for time_name in TIME_NAMES {
        let time = keys.remove(time_name);
        if let (Some(time), false) = (time, turn.keys.contains_key("time")) {
            turn.set("time", time);
        }
    }
    for field in FIELDS {
        if let Some(value) = keys.remove(field) {
            turn.set(field, if field == "tags" { as_list(value) } else { value });
        }
    }
    if turn.keys.get("kind") == Some(&json!("turn")) {
        turn.set_if_missing("role", "user");
    }
    // An export of this program. Other programs may use these keys for data of their own.
    if turn.keys.get("kind") == keys.get("type") {
        EXPORTED_KEYS.iter().for_each(|key| _ = keys.remove(*key));
    }
    turn.set("metadata", keys);
    Ok(vec![turn])
}

/// Returns the lines between the first line `---` and the next one, and the text after them. `None` if the text does
/// not begin with `---`.
fn front_matter(text: &str) -> Result<Option<(&str, &str)>, RowError> {
    let first = text.lines().next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Ok(None);
    }
    let begin = text.find('\n').map_or(text.len(), |at| at + 1);
    let mut position = begin;
    for line in text[begin..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok(Some((&text[begin..position], &text[position + line.len()..])));
        }
        position += line.len();
    }
    // A horizontal line at the beginning of a text without front matter.
    let looks_like_key = |line: &str| line.split_once(':').is_some_and(|(key, _)| !key.trim().contains(' '));
    match text[begin..].lines().next() {
        Some(line) if looks_like_key(line) => Err(RowError::OpenFrontMatter),
        _ => Ok(None),
    }
}

/// Parses lines `key: value`, with lists as `[a, b]` or as lines `- a`.
fn parse_front_matter(front: &str) -> Map<String, Value> {
    let mut keys = Map::new();
    let mut list_key: Option<String> = None;
    for line in front.lines() {
        let trimmed = line.trim();
        if let (Some(element), Some(key)) = (trimmed.strip_prefix("- "), &list_key) {
            if let Some(Value::Array(list)) = keys.get_mut(key) {
                list.push(scalar(element));
            }
            continue;
        }
        list_key = None;
        let Some((key, value)) = trimmed.split_once(':').filter(|_| !trimmed.starts_with('#')) else { continue };
        let (key, value) = (key.trim().to_owned(), value.trim());
        if value.is_empty() {
            keys.insert(key.clone(), Value::Array(Vec::new()));
            list_key = Some(key);
        } else if let Some(list) = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
            let elements = list.split(',').map(str::trim).filter(|element| !element.is_empty());
            keys.insert(key, elements.map(scalar).collect());
        } else {
            keys.insert(key, scalar(value));
        }
    }
    // A key without a value.
    keys.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
    keys
}

/// Returns a text without its quotes.
fn scalar(text: &str) -> Value {
    let text = text.trim();
    if text.starts_with('"')
        && let Ok(Value::String(unquoted)) = serde_json::from_str(text)
    {
        return unquoted.into();
    }
    let unquoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    unquoted.map_or_else(|| text.into(), |unquoted| unquoted.replace("''", "'").into())
}

/// Returns a list, or the words of a text between commas.
fn as_list(value: Value) -> Value {
    match value.as_str() {
        Some(text) => text.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect(),
        None => value,
    }
}

#[cfg(test)]
mod tests;
