//! The target that reads files of other programs.

use std::{io::Cursor, path::PathBuf};

use memory_engine_core::Scope;
use memory_engine_import::{
    chatgpt, chroma, claude, claude_code, codex, json_lines, letta, markdown, mem0, mif, silly_tavern, tables,
    whatsapp, zep,
};
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
    for row in json_lines::rows(input).map_while(Result::ok) {
        drop(row.turns);
    }
    let _ = mem0::read(input);
    let _ = letta::read(input);
    let _ = zep::read(input);
    let _ = mif::read(input);
    chatgpt::rows(input).map_while(Result::ok).for_each(drop);
    claude::rows(input).map_while(Result::ok).for_each(drop);
    if let Ok(rows) = tables::rows(Cursor::new(input.to_vec())) {
        rows.map_while(Result::ok).for_each(drop);
    }
    let path = FOLDER.with(|folder| folder.path().join("chat.jsonl"));
    if input.starts_with(SQLITE_MAGIC) {
        write(&path, input);
        if let Ok((rows, _)) = chroma::rows(&path, None, true) {
            rows.map_while(Result::ok).for_each(drop);
        }
    } else if input.contains(&b'{') {
        write(&path, input);
        let sources =
            [silly_tavern::rows(&path, &Scope::user("lin").unwrap()), claude_code::rows(&path), codex::rows(&path)];
        for (rows, _) in sources.into_iter().flatten() {
            rows.map_while(Result::ok).for_each(drop);
        }
    } else {
        write(&path, input);
        for (rows, _) in [whatsapp::rows(&path, Some("Lin")), markdown::rows(&path)].into_iter().flatten() {
            rows.map_while(Result::ok).for_each(drop);
        }
    }
}

fn write(path: &PathBuf, input: &[u8]) {
    std::fs::write(path, input).unwrap();
}
