//! Data exports of chat services: a list of conversations, as a file, a folder of files or a ZIP archive of them.

use std::{
    fs::File,
    io::{BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use zip::ZipArchive;

use crate::{
    chat_files::files_with_extension,
    error::{ImportError, RowError},
    json_array::JsonArray,
    row::{ImportRows, ImportedTurn, Row},
    source_file::{open_listed, open_named, total_size},
};

/// The beginning of a ZIP archive.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// Maximum size of a file in an archive, unpacked, in bytes.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// Maximum number of keys or files that a message names.
const MAX_NAMED: usize = 8;

/// The export of a service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExportFormat {
    /// The service.
    pub(crate) program: &'static str,
    /// The key of a conversation with its messages.
    pub(crate) key: &'static str,
    /// The key of a conversation with its title.
    pub(crate) title: &'static str,
    pub(crate) read: fn(&Value) -> Result<Vec<ImportedTurn>, RowError>,
}

/// Reads the conversations of a file, of the files `conversations….json` in a folder or in a ZIP archive. Returns the
/// rows, and the size of the files in bytes.
///
/// # Errors
/// If the path cannot be read, or a folder or an archive has no such file.
pub(crate) fn rows(path: &Path, format: ExportFormat) -> Result<(ImportRows, u64), ImportError> {
    let in_file = |source| ImportError::In { path: path.to_owned(), source: Box::new(source) };
    if path.is_dir() {
        let (files, others) = conversation_files(path)?;
        if files.is_empty() {
            return Err(ImportError::NoExport { path: path.to_owned(), seen: listed(&others) });
        }
        let size = total_size(&files)?;
        let root = path.to_owned();
        let rows = files.into_iter().flat_map(move |file| {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            named_rows(&name, open_listed(&file).map(BufReader::new), format)
        });
        return Ok((Box::new(rows), size));
    }
    let size = std::fs::metadata(path).map_err(|source| ImportError::Open { path: path.to_owned(), source })?.len();
    let mut file = BufReader::with_capacity(1 << 20, open_named(path)?);
    if !is_zip(file.fill_buf()?) {
        return Ok((Box::new(conversations(file, format)), size));
    }
    let (names, others) = conversation_entries(path).map_err(in_file)?;
    if names.is_empty() {
        return Err(ImportError::NoExport { path: path.to_owned(), seen: listed(&others) });
    }
    let archive = path.to_owned();
    let rows = names.into_iter().flat_map(move |name| {
        let input = unpacked(&archive, &name).map(Cursor::new);
        named_rows(&name, input, format)
    });
    Ok((Box::new(rows), size))
}

/// Returns the first bytes of the first file of conversations in a folder or a ZIP archive; `None` for another file.
pub(crate) fn beginning(path: &Path, bytes: u64) -> Option<Vec<u8>> {
    let mut beginning = Vec::new();
    if path.is_dir() {
        let file = open_listed(conversation_files(path).ok()?.0.first()?).ok()?;
        file.take(bytes).read_to_end(&mut beginning).ok()?;
        return Some(beginning);
    }
    let mut magic = [0; 4];
    open_named(path).ok()?.read_exact(&mut magic).ok().filter(|()| is_zip(&magic))?;
    let name = conversation_entries(path).ok()?.0.into_iter().next()?;
    let mut archive = ZipArchive::new(File::open(path).ok()?).ok()?;
    archive.by_name(&name).ok()?.take(bytes).read_to_end(&mut beginning).ok()?;
    Some(beginning)
}

fn is_zip(beginning: &[u8]) -> bool {
    beginning.starts_with(ZIP_MAGIC)
}

/// Returns the rows of one of several files. One that cannot be read is a bad row.
fn named_rows(
    name: &str,
    input: Result<impl BufRead + 'static, ImportError>,
    format: ExportFormat,
) -> Vec<Result<Row, ImportError>> {
    let bad_row =
        |error| Row { place: name.to_owned(), number: 0, bytes: 0, turns: Err(RowError::File(Box::new(error))) };
    match input {
        Err(error) => vec![Ok(bad_row(error))],
        Ok(input) => conversations(input, format)
            .map(|row| match row {
                Ok(row) => Ok(Row { place: format!("{name}: {}", row.place), ..row }),
                Err(error @ ImportError::Read(_)) => Err(error),
                Err(error) => Ok(bad_row(error)),
            })
            .collect(),
    }
}

/// Returns the files of conversations in a folder and in the folders in it, and the names of the other files.
fn conversation_files(folder: &Path) -> Result<(Vec<PathBuf>, Vec<String>), ImportError> {
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let files = files_with_extension(folder, "json")?;
    let (files, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| is_conversations(&name(path)));
    Ok((files, others.iter().map(name).collect()))
}

fn conversation_entries(archive: &Path) -> Result<(Vec<String>, Vec<String>), ImportError> {
    let archive = ZipArchive::new(File::open(archive)?).map_err(|error| ImportError::Zip(error.to_string()))?;
    // A name that cannot be read is that of another file.
    let names = archive.file_names().flatten().map(|name| name.into_owned()).filter(|name| !name.ends_with('/'));
    let (mut names, others): (Vec<String>, Vec<String>) =
        names.partition(|name| is_conversations(name.rsplit('/').next().unwrap_or_default()));
    names.sort();
    Ok((names, others))
}

/// Returns true for `conversations.json`, and for `conversations-000.json` of newer exports.
fn is_conversations(name: &str) -> bool {
    let stem = name.to_ascii_lowercase();
    let stem = stem.strip_suffix(".json").unwrap_or_default();
    stem.strip_prefix("conversations").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || "-_".contains(c)))
}

fn unpacked(archive: &Path, name: &str) -> Result<Vec<u8>, ImportError> {
    let zip_error = |error: zip::result::ZipError| ImportError::Zip(error.to_string());
    let mut archive = ZipArchive::new(File::open(archive)?).map_err(zip_error)?;
    let mut bytes = Vec::new();
    let limited = archive.by_name(name).map_err(zip_error)?.take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut bytes);
    limited.map_err(|error| ImportError::Zip(error.to_string()))?;
    if bytes.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(ImportError::Zip(format!(
            "a file in it has more than {} GiB when unpacked",
            MAX_UNPACKED_BYTES >> 30
        )));
    }
    Ok(bytes)
}

/// An element of an export, or its fault, and the bytes that it takes.
type Element = (Result<Value, RowError>, u64);

/// Reads conversations: a list of them, one alone, or an object that contains a list of them. A row is a conversation.
/// An input without a conversation is an error at its end.
pub(crate) fn conversations(
    mut input: impl BufRead + 'static,
    format: ExportFormat,
) -> Box<dyn Iterator<Item = Result<Row, ImportError>>> {
    let first_byte = match first_byte(&mut input) {
        Ok(byte) => byte,
        Err(error) => return Box::new(std::iter::once(Err(error.into()))),
    };
    let elements: Box<dyn Iterator<Item = Result<Element, ImportError>>> = if first_byte == Some(b'[') {
        Box::new(JsonArray::new(input).with_key(format.key).map(|element| {
            let element = element?;
            let value = element.text.map(|text| serde_json::from_str(&text).unwrap_or_default());
            Ok((value, element.bytes))
        }))
    } else {
        match read_object(input, format) {
            Ok(elements) => Box::new(elements.into_iter().map(|value| Ok((Ok(value), 0)))),
            Err(error) => return Box::new(std::iter::once(Err(error))),
        }
    };
    let mut check = ConversationCheck { format, first_other: None, has_conversation: false };
    let mut rows = elements.zip(1..).map(Some).chain([None]);
    Box::new(std::iter::from_fn(move || match rows.next()? {
        Some((element, number)) => Some(element.map(|(value, bytes)| check.row(value, number, bytes))),
        None => check.error().map(Err),
    }))
}

/// Detects a list without conversations.
struct ConversationCheck {
    format: ExportFormat,
    /// Describes the first element that is no conversation.
    first_other: Option<String>,
    has_conversation: bool,
}

impl ConversationCheck {
    fn row(&mut self, value: Result<Value, RowError>, number: u64, bytes: u64) -> Row {
        let title = value.as_ref().ok().and_then(|value| value.get(self.format.title)?.as_str()).unwrap_or_default();
        let place = format!("conversation {number} ({title})");
        match &value {
            Ok(value) if value.get(self.format.key).is_none() => {
                self.first_other.get_or_insert_with(|| describe(value));
            }
            // An element that cannot be read may be a conversation, and is reported as a bad row.
            Ok(_) | Err(_) => self.has_conversation = true,
        }
        Row { place, number, bytes, turns: value.and_then(|value| (self.format.read)(&value)) }
    }

    /// Returns the error for a list of other things.
    fn error(&mut self) -> Option<ImportError> {
        let seen = self.first_other.take().filter(|_| !self.has_conversation)?;
        let ExportFormat { program, key, .. } = self.format;
        Some(ImportError::NoConversations { program, key, seen: format!("a list of {seen}") })
    }
}

/// Returns the first byte of JSON, without consuming it; `None` for an empty input.
fn first_byte(input: &mut impl BufRead) -> std::io::Result<Option<u8>> {
    loop {
        match input.fill_buf()?.first().copied() {
            None => return Ok(None),
            Some(byte) if byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(&byte) => input.consume(1),
            Some(byte) => return Ok(Some(byte)),
        }
    }
}

/// Reads an object: a conversation, or one that contains a list of them.
fn read_object(mut input: impl BufRead, format: ExportFormat) -> Result<Vec<Value>, ImportError> {
    let ExportFormat { program, key, .. } = format;
    let refuse = |seen: String| ImportError::NoConversations { program, key, seen };
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Err(refuse("an empty file".to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| refuse("a text that is not UTF-8".to_owned()))?;
    let text = memory_engine_intake::without_lone_surrogates(&text);
    let value: Value = serde_json::from_str(&text).map_err(|_| refuse("no JSON".to_owned()))?;
    let Value::Object(mut object) = value else { return Err(refuse("neither a list nor an object".to_owned())) };
    if object.contains_key(key) {
        return Ok(vec![Value::Object(object)]);
    }
    let is_list = |value: &Value| value.as_array().is_some_and(|list| list.iter().any(|item| item.get(key).is_some()));
    let name = object.iter().find(|(_, value)| is_list(value)).map(|(name, _)| name.clone());
    match name.and_then(|name| object.remove(&name)) {
        Some(Value::Array(list)) => Ok(list),
        _ => Err(refuse(describe(&Value::Object(object)))),
    }
}

/// Describes a value that is no conversation.
fn describe(value: &Value) -> String {
    match value {
        Value::Object(object) if object.is_empty() => "objects without keys".to_owned(),
        Value::Object(object) => format!("objects with the keys {}", listed_keys(object)),
        Value::Array(_) => "lists".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => "plain values".to_owned(),
    }
}

fn listed_keys(object: &Map<String, Value>) -> String {
    let mut keys: Vec<String> = object.keys().cloned().collect();
    keys.sort();
    listed(&keys)
}

/// Lists names for a message.
fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let more = if names.len() > MAX_NAMED { ", …" } else { "" };
    format!("{}{more}", names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
