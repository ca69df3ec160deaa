//! The formats that can be imported.

use std::{io::BufRead, path::Path};

use memory_engine_core::Scope;

#[cfg(feature = "chroma")]
use crate::chroma;
use crate::{
    chatgpt, claude, claude_code, codex,
    error::ImportError,
    exports, json_lines, letta, markdown, mem0, mif,
    row::{ImportRows, SourceRows},
    silly_tavern, tables, whatsapp, zep,
};

/// A format that can be imported: a row of [`SOURCES`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ImportSource {
    /// Unique name, as `memory import --format` takes it.
    pub name: &'static str,
    /// Another name, if it has one.
    pub alias: Option<&'static str>,
    /// The files in one line, for the help of the command.
    pub help: &'static str,
    /// Reads the rows.
    pub reader: Reader,
    /// Returns true if a file that begins with these characters may have this format. `None` for a format that must be
    /// named.
    detect: Option<fn(&str) -> bool>,
}

/// The function that reads the rows of a source.
#[derive(Debug, Clone, Copy)]
pub enum Reader {
    /// Reads a file or the standard input.
    Stream(StreamReader),
    /// Reads the standard input with the first function, and a file or a folder with the second one.
    StreamOrPath(StreamReader, PathReader),
    /// Reads a file or a folder. Returns the rows and their size: in rows for Chroma, in bytes otherwise.
    Path(PathReader),
}

type StreamReader = fn(Box<dyn BufRead + Send>) -> Result<SourceRows, ImportError>;
type PathReader = fn(&Path, &SourceOptions<'_>) -> Result<(ImportRows, u64), ImportError>;

/// Options that only some formats have.
#[derive(Debug, Clone, Copy)]
pub struct SourceOptions<'o> {
    /// The scope of rows that name none. SillyTavern: dimensions that it sets are not read from the chats.
    pub scope: &'o Scope,
    /// WhatsApp: the speaker who is the user. Default: none.
    pub me: Option<&'o str>,
    /// Chroma: the only collection that is read. Default: all.
    pub collection: Option<&'o str>,
    /// Chroma: true if vectors are read, too.
    pub with_vectors: bool,
}

/// The format of files that are not recognised: JSON Lines.
pub const DEFAULT_SOURCE: &ImportSource = &SOURCES[0];

/// All formats, the default one first. A new format is its module and a row here.
pub const SOURCES: &[ImportSource] = &[
    stream("jsonl", "One JSON object on each line", |input| Ok(SourceRows::new(json_lines::rows(input)))),
    stream(
        "csv",
        "Rows of the tables `conversations` or `summaries`, as CSV with a header or as JSON Lines",
        |input| Ok(SourceRows::new(tables::rows(input)?)),
    ),
    #[cfg(feature = "chroma")]
    path("chroma", "The directory of a persistent Chroma client, or its chroma.sqlite3", |path, options| {
        chroma::rows(path, options.collection, options.with_vectors)
    }),
    path("sillytavern", "A chat of SillyTavern, or a folder of them", |path, options| {
        silly_tavern::rows(path, options.scope)
    }),
    stream("mem0", "The result of mem0's get_all, from a server or the platform", mem0::read)
        .detected(|text| is_objects(text) && has_keys(text, &["results", "memory"]) && !has_key(text, "text")),
    stream("letta", "An agent file of Letta (.af), or a list of archival passages of its server", |input| {
        Ok(SourceRows::new(letta::read(input)?))
    })
    .detected(is_letta),
    stream("zep", "Messages, episodes or edges of Zep or Graphiti, as their interfaces return them", zep::read)
        .detected(is_zep)
        .alias("graphiti"),
    stream("mif", "A corpus of the Modeled Information Format, or memories of it as JSON-LD", |input| {
        Ok(SourceRows::new(mif::read(input)?))
    })
    .detected(is_mif),
    export(
        "chatgpt",
        "A data export of ChatGPT: the ZIP file, its folder, or its file conversations.json",
        |input| Ok(SourceRows::new(chatgpt::rows(input))),
        |path, _| chatgpt::export_rows(path),
    )
    .detected(|text| is_list_or_object(text) && has_key(text, "mapping") && !has_key(text, "chat_messages")),
    export(
        "claude",
        "A data export of Claude: the ZIP file, its folder, or its file conversations.json",
        |input| Ok(SourceRows::new(claude::rows(input))),
        |path, _| claude::export_rows(path),
    )
    .detected(|text| is_list_or_object(text) && has_key(text, "chat_messages") && !has_key(text, "mapping")),
    path("claude-code", "A transcript of Claude Code, or a folder of them, such as ~/.claude/projects", |path, _| {
        claude_code::rows(path)
    }),
    path("codex", "A transcript of Codex, or a folder of them, such as ~/.codex/sessions", |path, _| codex::rows(path)),
    path("whatsapp", "A chat that WhatsApp has exported as text", |path, options| {
        let in_file = |source| ImportError::In { path: path.to_owned(), source: Box::new(source) };
        whatsapp::rows(path, options.me).map_err(in_file)
    })
    .detected(is_whatsapp),
    path("markdown", "A Markdown file, or a folder of them; each file is a note", |path, _| markdown::rows(path)),
];

const fn stream(name: &'static str, help: &'static str, read: StreamReader) -> ImportSource {
    ImportSource { name, alias: None, help, reader: Reader::Stream(read), detect: None }
}

const fn path(name: &'static str, help: &'static str, read: PathReader) -> ImportSource {
    ImportSource { name, alias: None, help, reader: Reader::Path(read), detect: None }
}

const fn export(name: &'static str, help: &'static str, read: StreamReader, read_path: PathReader) -> ImportSource {
    ImportSource { name, alias: None, help, reader: Reader::StreamOrPath(read, read_path), detect: None }
}

impl ImportSource {
    const fn detected(self, detect: fn(&str) -> bool) -> Self {
        Self { detect: Some(detect), ..self }
    }

    const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// Returns the format with this name or alias.
    pub fn named(name: &str) -> Option<&'static Self> {
        SOURCES.iter().find(|source| source.name == name || source.alias == Some(name))
    }

    /// Returns true if files of the format are recognised.
    pub fn is_detectable(&self) -> bool {
        self.detect.is_some()
    }

    /// Recognises the format of an export in a folder or a ZIP archive by the first `bytes` bytes of its conversations.
    pub fn detect_export(path: &Path, bytes: u64) -> Option<&'static Self> {
        exports::beginning(path, bytes).and_then(|beginning| Self::detect(&beginning))
    }

    /// Recognises a format by the first bytes of a file; a few thousand are enough. `None` if it is another format, or
    /// if more than one is possible.
    pub fn detect(beginning: &[u8]) -> Option<&'static Self> {
        let text = String::from_utf8_lossy(beginning);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let mut possible = SOURCES.iter().filter(|source| source.detect.is_some_and(|detect| detect(text)));
        possible.next().filter(|_| possible.next().is_none())
    }
}

/// Number of first lines of which one has to be a message of a chat.
const CHAT_LINES: usize = 10;
/// Part of the address of the vocabulary of the Modeled Information Format.
const MIF_VOCABULARY: &str = "mif-spec.dev";

fn is_letta(text: &str) -> bool {
    let is_agent = has_keys(text, &["agent_type", "core_memory"]);
    let has_agent_key = || ["agent_type", "block_ids", "memory_blocks"].iter().any(|key| has_key(text, key));
    is_objects(text) && (is_agent || (has_key(text, "agents") && has_agent_key()))
}

fn is_mif(text: &str) -> bool {
    is_objects(text) && has_key(text, "@context") && text.contains(MIF_VOCABULARY)
}

/// Lines of JSON Lines have a `text` of their own.
fn is_zep(text: &str) -> bool {
    let keys: [&[&str]; 5] = [
        &["fact", "source_node_uuid", "uuid"],
        &["content", "source_description", "uuid"],
        &["content", "role_type", "uuid"],
        &["content", "role", "thread_uuid", "uuid"],
        &["messages", "content", "role", "uuid"],
    ];
    is_objects(text) && !has_key(text, "text") && keys.iter().any(|keys| has_keys(text, keys))
}

fn is_whatsapp(text: &str) -> bool {
    let is_json = is_list(text) || text.starts_with('{');
    !is_json && text.lines().take(CHAT_LINES).any(whatsapp::is_message)
}

/// Returns true for JSON objects or a list of them, except for an export of conversations, which may quote any key.
fn is_objects(text: &str) -> bool {
    let is_export = is_list(text) && has_key(text, "mapping") != has_key(text, "chat_messages");
    (is_list(text) || text.starts_with('{')) && !is_export
}

fn is_list(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'))
}

/// Returns true for a list of objects, and for an object that is no line of JSON Lines.
fn is_list_or_object(text: &str) -> bool {
    is_list(text) || (text.starts_with('{') && !has_key(text, "text"))
}

fn has_keys(text: &str, keys: &[&str]) -> bool {
    keys.iter().all(|key| has_key(text, key))
}

/// Returns true if an object has this key: a text before a colon.
fn has_key(text: &str, key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    text.match_indices(&quoted).any(|(at, _)| text[at + quoted.len()..].trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn formats_are_recognised() {
        for (beginning, format) in [
            ("[{\"title\": \"a\", \"mapping\": {\"x\"", Some("chatgpt")),
            ("\u{feff}[\n {\"uuid\": \"a\", \"chat_messages\": [", Some("claude")),
            ("[31/12/2024, 23:59:59] Anna: hi", Some("whatsapp")),
            ("31.12.24, 23:59 - Anna: hi", Some("whatsapp")),
            ("31.12.24, 23:58 - A notice\n31.12.24, 23:59 - Anna: hi", Some("whatsapp")),
            ("{\"text\": \"my mapping\", \"mapping\": 1}", None),
            ("[{\"mapping\": 1, \"chat_messages\": 1}]", None),
            ("{\"agent_type\":\"memgpt_agent\",\"core_memory\":[{", Some("letta")),
            ("{\n \"agents\": [\n {\"name\": \"sam\", \"memory_blocks\": [], \"text\": 1", Some("letta")),
            ("[{\"mapping\": {}, \"agent_type\": 1, \"core_memory\": 1", Some("chatgpt")),
            ("{\"messages\":[{\"content\":\"a\",\"role\":\"user\",\"uuid\":\"b\"}]}", Some("zep")),
            ("[{\"uuid\":\"a\",\"source_node_uuid\":\"b\",\"fact\":\"c\"", Some("zep")),
            (
                "{\"episodes\":[{\"uuid\":\"a\",\"source\":\"text\",\"source_description\":\"b\",\"content\":\"c\"",
                Some("zep"),
            ),
            ("{\"@context\": \"https://mif-spec.dev/schema/container-context.jsonld\"", Some("mif")),
            ("{\"text\":\"a\",\"content\":1,\"role_type\":\"b\",\"uuid\":\"c\"}", None),
            ("{\"text\": \"the key \\\"@context\\\": mif-spec.dev\"}", None),
            ("id,role,content", None),
            ("", None),
        ] {
            assert_eq!(ImportSource::detect(beginning.as_bytes()).map(|source| source.name), format, "{beginning}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut seen = BTreeSet::new();
        for name in SOURCES.iter().flat_map(|source| [Some(source.name), source.alias]).flatten() {
            assert!(seen.insert(name), "two formats have the name {name}");
        }
    }
}
