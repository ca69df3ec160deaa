//! Errors of a source, and of one row of it.

use std::{io, path::PathBuf};

#[cfg(feature = "chroma")]
mod chroma;

#[cfg(feature = "chroma")]
pub use chroma::ChromaError;

/// Maximum length of a line or of a row of a table, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 4 << 20;

/// An error that ends the import of a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A file or directory cannot be opened.
    #[error("{} cannot be read", .path.display())]
    Open {
        /// The file or directory.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// A file of a folder is no regular file.
    #[error("{} is a link, a FIFO or a device; only the regular files of a folder are imported", .0.display())]
    NotRegular(PathBuf),
    /// The named file is a device.
    #[error("{} is a device; name a file, or - for the standard input", .0.display())]
    Device(PathBuf),
    /// Reading failed after the file was opened.
    #[error("the file cannot be read on")]
    Read(#[from] io::Error),
    /// An error in one file of several.
    #[error("{}", .path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: Box<Self>,
    },
    /// The file is not UTF-8.
    #[error("byte {byte} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The first invalid byte, from 1.
        byte: usize,
    },
    /// The file is not JSON.
    #[error("line {line}, column {column}: it is no JSON")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A list in a JSON file is broken. The elements before the fault are read.
    #[error("byte {byte}: {problem}")]
    BrokenList {
        /// The position of the fault.
        byte: u64,
        /// The fault.
        problem: String,
    },
    /// A JSON document does not have the expected form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A table without column names.
    #[error("the file is empty; its first line has to name the columns")]
    NoHeader,
    /// The line of column names cannot be read.
    #[error("line {line}: {problem}")]
    Header {
        /// The line, from 1.
        line: u64,
        /// The problem.
        problem: RowError,
    },
    /// The columns belong to a table of another kind.
    #[error(
        "line 1 names the columns {0}; conversations have \"user_msg\" and \"assistant_msg\" or \"role\" and \
         \"content\", summaries \"summary\" or \"content\""
    )]
    UnknownColumns(String),
    /// A mem0 export without a memory.
    #[error("there is no memory in it; an export of mem0 is {{\"results\": [{{\"id\", \"memory\", …}}]}}")]
    NoMemory,
    /// The file is not a chat of SillyTavern.
    #[error(
        "line 1 is no header of a SillyTavern chat; it has to hold \"user_name\", \"character_name\" or \
         \"chat_metadata\""
    )]
    NoChat,
    /// A directory without chats.
    #[error("there is no chat (.jsonl) in {}", .0.display())]
    NoChats(PathBuf),
    /// A directory without Markdown files.
    #[error("there is no Markdown file (.md) in {}", .0.display())]
    NoNotes(PathBuf),
    /// The file is not an export of conversations.
    #[error(
        "there is no conversation in it, but {seen}; an export of {program} is a list of objects with \"{key}\", or a \
         folder or ZIP archive with the file conversations.json"
    )]
    NoConversations {
        /// The program whose export was expected.
        program: &'static str,
        /// The key of its conversations.
        key: &'static str,
        /// The contents of the file.
        seen: String,
    },
    /// A folder or an archive without files of conversations.
    #[error("there is no conversations.json or conversations-000.json in {}; its files: {seen}", .path.display())]
    NoExport {
        /// The folder or archive.
        path: PathBuf,
        /// The names of the other files.
        seen: String,
    },
    /// A ZIP archive, or a file in it, cannot be read.
    #[error("the ZIP archive cannot be read: {0}; unpack it, and import the folder")]
    Zip(String),
    /// The file is not an agent file of Letta.
    #[error(
        "it is no agent file of Letta; one is an object with \"agents\" and \"blocks\", or with \"core_memory\" and \
         \"messages\""
    )]
    NoAgents,
    /// The file has no message, episode or edge of Zep or Graphiti.
    #[error(
        "there is no message, episode or edge of Zep in it; a message has \"role\" and \"content\", an episode \
         \"content\" and \"source\", an edge \"fact\""
    )]
    NoEpisodes,
    /// The file is not in the Modeled Information Format.
    #[error(
        "there is no memory of MIF in it; a file of MIF is a \"MemoryCorpus\" with \"records\", or objects with \
         \"conceptType\" and \"content\""
    )]
    NoConcepts,
    /// The file has no message of WhatsApp.
    #[error("there is no message in it; a line of a WhatsApp chat is \"31/12/2024, 23:59 - Name: text\"")]
    NoMessages,
    /// A Chroma directory without collections.
    #[error("there is no collection in {}", .0.display())]
    NoCollections(PathBuf),
    /// There is no collection of this name.
    #[error("there is no collection '{name}'; there are: {known}")]
    UnknownCollection {
        /// The requested name.
        name: String,
        /// The existing names, separated by commas.
        known: String,
    },
    /// The database of Chroma cannot be read.
    #[cfg(feature = "chroma")]
    #[error(transparent)]
    Chroma(#[from] ChromaError),
}

/// The reason why one row is unusable. The rows after it can still be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The line is too long.
    #[error("it has {bytes} bytes; a line may have {} MiB, split the text", MAX_LINE_BYTES >> 20)]
    LongLine {
        /// Length of the line.
        bytes: usize,
    },
    /// The file of a note is too long.
    #[error("the file has more than {} MiB; split the note", MAX_LINE_BYTES >> 20)]
    LongFile,
    /// The row of a table is too long.
    #[error("the row has more than {} MiB; is a quote not closed?", MAX_LINE_BYTES >> 20)]
    LongRow,
    /// The text is not UTF-8.
    #[error("byte {byte} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The first invalid byte of the row, from 1.
        byte: usize,
    },
    /// A date or a time that does not exist.
    #[error("there is no such day or time")]
    InvalidDate,
    /// The first lines of a Markdown file have no end.
    #[error("its first line is ---, but no later line is; end the front matter with ---")]
    OpenFrontMatter,
    /// A quote is open at the end of the file.
    #[error("a quote is opened and never closed; the file ends within it")]
    OpenQuote,
    /// A quote is open at the end of the row.
    #[error("a quote is opened and never closed")]
    OpenCell,
    /// A quote inside a cell without quotes.
    #[error("cell {cell} has a quote inside; put the whole cell in quotes")]
    QuoteInCell {
        /// The cell, from 1.
        cell: usize,
    },
    /// Text after the closing quote of a cell.
    #[error("cell {cell} goes on after its closing quote")]
    TextAfterQuote {
        /// The cell, from 1.
        cell: usize,
    },
    /// The number of cells differs from the number of columns.
    #[error("it has {cells} cells, the first line {columns}")]
    CellCount {
        /// Number of cells of the row.
        cells: usize,
        /// Number of columns of the table.
        columns: usize,
    },
    /// The line is not JSON.
    #[error("it is no JSON (column {column}); write one object like {{\"text\": \"…\"}} on each line")]
    NotJson {
        /// The column, from 1.
        column: usize,
    },
    /// An object has a key twice.
    #[error("it has the key {key:?} twice; only one of the two values can be meant")]
    RepeatedKey {
        /// The key.
        key: String,
    },
    /// An element of a list is not JSON.
    #[error("it is no JSON (its line {line}, column {column})")]
    BrokenElement {
        /// The line, from the beginning of the element, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The file ends within an element of a list.
    #[error("the file ends within it; export it again")]
    CutOff,
    /// A line of a chat looks like the beginning of a message, but its date or time cannot be read.
    #[error("it looks like the beginning of a message, but its date or time cannot be read: {beginning}")]
    UnreadableHeader {
        /// The beginning of the line.
        beginning: String,
    },
    /// The line is JSON, but not an object.
    #[error("it is no JSON object; write {{\"text\": \"…\"}}")]
    NotAnObject,
    /// The row has no text.
    #[error("{0}")]
    NoText(&'static str),
    /// A key has a value of another type.
    #[error("\"{key}\" is no {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// A whole file of several is unusable.
    #[error(transparent)]
    File(Box<ImportError>),
}
