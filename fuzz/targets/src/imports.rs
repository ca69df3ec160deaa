//! The target that reads files of other programs.

use std::io::Cursor;

use memory_engine_core::Scope;
use memory_engine_import::{Reader, SOURCES, SourceOptions};
use tempfile::TempDir;

/// Tokens of the formats.
pub(crate) const TOKENS: &[&str] = &[
    "{\"text\":\"",
    "\"time\":",
    "\"role\":",
    "\"user\":",
    "\"session\":",
    "\"id\":",
    "\"memory\":",
    "\"results\":",
    "\"mes\":",
    "\"is_user\":",
    "\"send_date\":",
    "\"swipes\":",
    "\"extra\":",
    "\"chat_metadata\":",
    "\"created_at\":",
    "\"mapping\":",
    "\"current_node\":",
    "\"parent\":",
    "\"chat_messages\":",
    "\"sender\":\"human\"",
    "\"message\":{\"content\":",
    "\"payload\":{\"type\":\"message\"",
    "{\"agents\":[{\"name\":\"a\",\"messages\":[",
    "\"core_memory\":[{\"label\":\"a\",\"value\":\"",
    "\"tool_calls\":[{\"function\":{\"name\":\"send_message\",\"arguments\":\"",
    "{\"uuid\":\"a\",\"fact\":\"",
    "\"source\":\"message\",\"content\":\"user: ",
    "\"valid_at\":",
    "\"invalid_at\":",
    "{\"kind\":\"memory\",\"payload\":{\"conceptType\":\"semantic\",",
    "\"relationships\":[{\"type\":\"supersedes\",\"target\":\"urn:mif:",
    "31/12/2024, 23:59 - Anna: ",
    "[12/31/24, 11:59:59 PM] ",
    "---\ntags: [",
    "round,",
    "user_msg,",
    "assistant_msg,",
    "\"\"",
    "\n",
    "\r\n",
    "\u{feff}",
    "},{",
    "[",
    "]",
    "true",
    "1e308",
    "June 19, 2023 2:20pm",
];
/// The first bytes of an SQLite database, which a Chroma client has.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().unwrap();
}

/// Reads one file in every format.
pub(crate) fn imports(input: &[u8]) {
    let path = FOLDER.with(|folder| folder.path().join("chat.jsonl"));
    std::fs::write(&path, input).unwrap();
    let scope = Scope::user("lin").unwrap();
    let options = SourceOptions { scope: &scope, me: Some("Lin"), collection: None, with_vectors: true };
    let is_database = input.starts_with(SQLITE_MAGIC);
    for source in SOURCES {
        let rows = match source.reader {
            Reader::Stream(read) | Reader::StreamOrPath(read, _) => {
                read(Box::new(Cursor::new(input.to_vec()))).map(|source| source.rows)
            }
            Reader::Path(_) if (source.name == "chroma") != is_database => continue,
            Reader::Path(read) => read(&path, &options).map(|(rows, _)| rows),
        };
        rows.into_iter().flatten().map_while(Result::ok).for_each(drop);
    }
}
