//! Reads chats that WhatsApp has exported as text.

mod header;
mod words;

use std::{collections::BTreeMap, fs, io::BufReader, path::Path};

use self::{
    header::{DateOrder, Header},
    words::WORDS,
};
use crate::{
    error::{ImportError, RowError},
    lines::Lines,
    row::{ImportRows, ImportedTurn, Row},
    source_file::open_named,
};

/// Maximum number of characters of a line in an error.
const HEADER_MAX_CHARS: usize = 40;
/// The role of a participant other than the user.
const PARTICIPANT: &str = "participant";

/// Returns true if a line begins a message.
pub(crate) fn is_message(line: &str) -> bool {
    Header::parse(line).is_some_and(|header| header.speaker.is_some())
}

/// Reads a chat. A row is a message, which may have several lines. Returns the rows, and the size of the file in bytes.
///
/// Messages of the speaker `me` get the role `user`, those of others the role `participant`. The name of the file
/// becomes the session. Whether the day or the month is first is decided over the whole file. Notices of WhatsApp and
/// placeholders of media are skipped. Times are in the zone of the phone, which the file does not name.
///
/// # Errors
/// If the file cannot be read, or has no message.
pub fn rows(path: &Path, me: Option<&str>) -> Result<(ImportRows, u64), ImportError> {
    let failed = |source| ImportError::Open { path: path.to_owned(), source };
    let input = BufReader::new(open_named(path)?);
    let size = fs::metadata(path).map_err(failed)?.len();
    let mut messages: Vec<Message> = Vec::new();
    let mut faults: Vec<Row> = Vec::new();
    for line in Lines::new(input) {
        let line = line?;
        let added = line.text.and_then(|text| add_line(&mut messages, &text, line.number, line.bytes));
        if let Err(error) = added {
            let place = format!("line {}", line.number);
            faults.push(Row { place, number: line.number, bytes: line.bytes, turns: Err(error) });
        }
    }
    if !messages.iter().any(|message| message.header.speaker.is_some()) {
        return Err(ImportError::NoMessages);
    }
    let order = DateOrder::of(&messages.iter().map(|message| &message.header).collect::<Vec<_>>());
    let session = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut counts = BTreeMap::new();
    let mut rows: Vec<Row> =
        messages.into_iter().map(|message| message.row(order, &session, me, &mut counts)).collect();
    rows.extend(faults);
    rows.sort_by_key(|row| row.number);
    Ok((Box::new(rows.into_iter().map(Ok)), size))
}

#[derive(Debug)]
struct Message {
    header: Header,
    text: String,
    number: u64,
    bytes: u64,
}

/// Adds a line: the beginning of a message, or a further line of the latest one.
///
/// # Errors
/// If the line looks like the beginning of a message, but its date or time cannot be read.
fn add_line(messages: &mut Vec<Message>, line: &str, number: u64, bytes: u64) -> Result<(), RowError> {
    match (Header::parse(line), messages.last_mut()) {
        (None, _) if header::is_like_header(line) => {
            return Err(RowError::UnreadableHeader { beginning: line.chars().take(HEADER_MAX_CHARS).collect() });
        }
        (Some(header), _) => messages.push(Message { text: header.text.clone(), header, number, bytes }),
        (None, Some(message)) => {
            message.text.push('\n');
            message.text.push_str(line);
            message.bytes += bytes;
        }
        // A line before the first message belongs to none.
        (None, None) => {}
    }
    Ok(())
}

impl Message {
    fn row(self, order: DateOrder, session: &str, me: Option<&str>, counts: &mut BTreeMap<String, u64>) -> Row {
        let place = format!("line {}", self.number);
        let (number, bytes) = (self.number, self.bytes);
        Row { place, number, bytes, turns: self.turns(order, session, me, counts) }
    }

    fn turns(
        self,
        order: DateOrder,
        session: &str,
        me: Option<&str>,
        counts: &mut BTreeMap<String, u64>,
    ) -> Result<Vec<ImportedTurn>, RowError> {
        let Some(speaker) = &self.header.speaker else { return Ok(Vec::new()) };
        let text = header::without_marks(&self.text);
        let text = text.trim();
        if text.is_empty() || is_placeholder(text) {
            return Ok(Vec::new());
        }
        let time = self.header.time(order).ok_or(RowError::InvalidDate)?.to_string();
        // A message has no id. In a later export, earlier messages have the same times and the same order.
        let key = format!("{time}/{speaker}");
        let count = counts.entry(key.clone()).or_insert(0);
        *count += 1;
        let mut turn = ImportedTurn::default();
        turn.set("text", text);
        turn.set("speaker", speaker.as_str());
        turn.set("role", if me == Some(speaker.as_str()) { "user" } else { PARTICIPANT });
        turn.set("time", time);
        turn.set("session", session);
        turn.set("sequence", self.number);
        turn.set("id", format!("whatsapp/{key}/{count}"));
        Ok(vec![turn])
    }
}

/// Returns true for a text that stands for media, a call or a deleted message.
fn is_placeholder(text: &str) -> bool {
    let is_attachment = text.starts_with("<attached: ") || text.starts_with("<附件：") || text.starts_with("<附件:");
    is_attachment
        || text.ends_with("(file attached)")
        || text.ends_with("(文件附件)")
        || WORDS.placeholders.iter().any(|placeholder| text == placeholder)
}

#[cfg(test)]
mod tests;
