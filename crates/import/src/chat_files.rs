//! Files of sessions of coding agents: JSON Lines, one file for each session.

use std::{
    fs,
    io::BufReader,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    lines::Lines,
    row::{ImportRows, ImportedTurn, Row},
    source_file::{OpenFile, open_listed, open_named, total_size},
};

/// A prompt or a reply in a file.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) is_user: bool,
    pub(crate) text: String,
    pub(crate) id: Value,
    pub(crate) time: Value,
    pub(crate) session: Option<String>,
}

/// Reads the message of a line. `None` for other lines.
pub(crate) trait ReadLine: Default {
    fn read_line(&mut self, object: &Map<String, Value>, line: u64) -> Option<Message>;
}

/// Reads a file, or all `.jsonl` files of a folder and of the folders in it. A row is a line. Returns the rows, and the
/// size of the files in bytes.
///
/// Of the messages of the model between two prompts only the last one is a turn: the others report its work.
pub(crate) fn rows<R: ReadLine + 'static>(path: &Path) -> Result<(ImportRows, u64), ImportError> {
    let is_folder = path.is_dir();
    let files = if is_folder { files_with_extension(path, "jsonl")? } else { vec![path.to_owned()] };
    if files.is_empty() {
        return Err(ImportError::NoChats(path.to_owned()));
    }
    let size = total_size(&files)?;
    let root = path.to_owned();
    let open: OpenFile = if is_folder { open_listed } else { open_named };
    let rows = files.into_iter().flat_map(move |file| match read_file::<R>(open, &root, &file) {
        Ok(rows) => rows.into_iter().map(Ok).collect(),
        Err(error @ ImportError::NotRegular(_)) => {
            let place = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            vec![Ok(Row { place, number: 0, bytes: 0, turns: Err(RowError::File(Box::new(error))) })]
        }
        Err(error) => vec![Err(error)],
    });
    Ok((Box::new(rows), size))
}

/// Returns the files with this extension in a folder and in the folders in it, sorted by path. Symbolic links to
/// folders are not followed; other links and special files are in the list, and are refused when they are opened.
pub(crate) fn files_with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, ImportError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |source| ImportError::Open { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension)) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read_file<R: ReadLine>(open: OpenFile, root: &Path, file: &Path) -> Result<Vec<Row>, ImportError> {
    let input = open(file)?;
    let name = file.strip_prefix(root).ok().filter(|name| !name.as_os_str().is_empty());
    let prefix = name.map(|name| format!("{}: ", name.display())).unwrap_or_default();
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut reader = R::default();
    let mut rows: Vec<Row> = Vec::new();
    // The row of the model's latest message after the latest prompt.
    let mut reply: Option<usize> = None;
    for line in Lines::new(BufReader::new(input)) {
        let line = line?;
        let number = line.number;
        let message = line.text.and_then(|text| object(&text)).map(|object| reader.read_line(&object, number));
        let turns =
            message.map(|message| message.map(|message| (message.is_user, turn(message, stem.as_deref(), number))));
        let turns: Result<Vec<ImportedTurn>, RowError> = match turns {
            Ok(Some((is_user, turn))) => {
                if let (false, Some(Ok(earlier))) = (is_user, reply.map(|index| &mut rows[index].turns)) {
                    earlier.clear();
                }
                reply = (!is_user).then_some(rows.len());
                Ok(vec![turn])
            }
            Ok(None) => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        rows.push(Row { place: format!("{prefix}line {number}"), number, bytes: line.bytes, turns });
    }
    Ok(rows)
}

fn turn(message: Message, file_stem: Option<&str>, number: u64) -> ImportedTurn {
    let mut turn = ImportedTurn::default();
    turn.set("text", message.text);
    turn.set("role", if message.is_user { "user" } else { "assistant" });
    turn.set("session", message.session.as_deref().or(file_stem));
    turn.set("id", message.id);
    turn.set("time", message.time);
    turn.set("sequence", number);
    turn
}
