//! Executes the commands of Anthropic's memory tool on records.

use memory_engine::{Error, ErrorKind, MemoryEngine, Result, Scope};
use memory_engine_intake::note_words;
use serde_json::Value;

use super::{
    command::Command,
    files::{MemoryFile, MemoryFiles},
    known, listing,
    path::MemoryPath,
};
use crate::named_records::WriteOutcome;

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: usize = 1_000_000;
/// Maximum number of files of a user.
const MAX_FILES: usize = 1000;
/// Maximum number of lines of a file, as in Anthropic's backend.
const MAX_LINES: usize = 999_999;
/// Maximum number of lines that a refusal names.
const MAX_REPORTED_LINES: usize = 20;
/// Maximum number of characters that a refusal quotes.
const MAX_QUOTED_CHARS: usize = 500;
/// The text for the model after a command whose effect waits for a review.
const WAITING: &str = "The change waits until a person accepts it. Until then the files stay as they are.";
/// Number of lines before and after a change in its result.
const CONTEXT_LINES: usize = 2;

/// The memory tool of one user.
#[derive(Debug, Clone)]
#[must_use]
pub struct MemoryTool {
    files: MemoryFiles,
}

/// The content of a `tool_result` block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The text for the model.
    pub content: String,
    /// True if the command was refused. The text says why.
    pub is_error: bool,
}

/// The reason why a command has no result.
enum CommandError {
    /// The command is refused, with a text for the model.
    Refused(String),
    Store(Error),
}

impl From<String> for CommandError {
    fn from(refusal: String) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// The text for the model.
type CommandResult = std::result::Result<String, CommandError>;

/// A value, or the refusal as a text for the model.
type Refusable<T> = std::result::Result<T, String>;

/// A file's new text, and the text for the model.
struct EditedFile {
    file_text: String,
    answer: String,
}

/// Returns the words of the model in a text for a file: thoughts, and memories that it was given, are left out.
fn own_words(text: &str) -> Refusable<String> {
    check_text(text)?;
    note_words(text).ok_or_else(|| {
        "The text has only thoughts, memories that were given to you, or notices of a program. Write what is new."
            .to_owned()
    })
}

impl MemoryTool {
    /// A tool with the files at `scope`, usually that of a user.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { files: MemoryFiles::new(engine, scope) }
    }

    /// Executes a command: the `input` of a `tool_use` block. A command that is refused is a result with
    /// [`is_error`](ToolResult::is_error).
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn call(&self, input: &Value) -> Result<ToolResult> {
        match self.execute(input).await {
            Ok(content) => Ok(ToolResult { content, is_error: false }),
            Err(CommandError::Refused(content)) => Ok(ToolResult { content, is_error: true }),
            // The review policy.
            Err(CommandError::Store(e)) if e.kind() == ErrorKind::Unauthorized => {
                Ok(ToolResult { content: e.message().to_owned(), is_error: true })
            }
            Err(CommandError::Store(e)) => Err(e),
        }
    }

    async fn execute(&self, input: &Value) -> CommandResult {
        let command = Command::parse(input)?;
        if let Some(path) = command.written_paths().into_iter().find(|path| known::is_known(path)) {
            return Err(known::refusal(path).into());
        }
        match command {
            Command::View { path, view_range } => self.view(&path, view_range).await,
            Command::Create { path, file_text } => self.create(&path, &own_words(&file_text)?).await,
            Command::StrReplace { path, old_str, new_str } => {
                let new_str = own_words(&new_str)?;
                self.edit(&path, |text| replace_once(&path, text, &old_str, &new_str)).await
            }
            Command::Insert { path, insert_line, insert_text } => {
                let insert_text = own_words(&insert_text)?;
                self.edit(&path, |text| insert_lines(&path, text, insert_line, &insert_text)).await
            }
            Command::Delete { path } => self.delete(&path).await,
            Command::Rename { old_path, new_path } => self.rename(&old_path, &new_path).await,
        }
    }

    async fn view(&self, path: &MemoryPath, range: Option<[i64; 2]>) -> CommandResult {
        if let Some(file) = self.files.find(path).await? {
            return Ok(view_file(&file, range)?);
        }
        let mut files = self.files.all().await?;
        files.extend(known::files(self.files.engine(), self.files.scope()).await?);
        if let Some(file) = files.iter().find(|file| file.path == *path) {
            return Ok(view_file(file, range)?);
        }
        if !path.is_root() && !is_folder(path, &files) {
            return Err(format!("The path {path} does not exist. Please provide a valid path.").into());
        }
        Ok(listing::list_folder(path, &files))
    }

    async fn create(&self, path: &MemoryPath, text: &str) -> CommandResult {
        let files = self.files.all().await?;
        check_new_path(path, &files)?;
        check_text(text)?;
        if files.len() >= MAX_FILES {
            return Err(format!("There are {} files already; delete some first.", files.len()).into());
        }
        match self.files.create(path, text).await? {
            WriteOutcome::Done => Ok(format!("File created successfully at: {path}")),
            WriteOutcome::Waiting => Ok(WAITING.to_owned()),
            WriteOutcome::Conflict => Err(format!("File {path} already exists").into()),
        }
    }

    /// Replaces the text of a file by that which `change` returns.
    async fn edit(&self, path: &MemoryPath, change: impl Fn(&str) -> Refusable<EditedFile>) -> CommandResult {
        let Some(file) = self.files.find_changed(path).await? else {
            let files = self.files.all().await?;
            let is_folder = path.is_root() || is_folder(path, &files);
            let refusal = if is_folder {
                format!("The path {path} is not a file.")
            } else {
                format!("The path {path} does not exist. Please provide a valid path.")
            };
            return Err(refusal.into());
        };
        let edit = change(&file.text)?;
        check_text(&edit.file_text)?;
        match self.files.replace(file, &edit.file_text).await? {
            WriteOutcome::Done => Ok(edit.answer),
            // Without the lines around the change: they have not been reviewed either.
            WriteOutcome::Waiting => Ok(WAITING.to_owned()),
            WriteOutcome::Conflict => {
                Err(format!("The file {path} was changed at the same time. View it, and repeat the edit if needed.")
                    .into())
            }
        }
    }

    async fn delete(&self, path: &MemoryPath) -> CommandResult {
        if path.is_root() {
            return Err("Cannot delete the /memories directory itself".to_owned().into());
        }
        let mut files = self.files.all().await?;
        files.retain(|file| file.path.is_at_or_below(path));
        if files.is_empty() {
            return Err(format!("The path {path} does not exist").into());
        }
        self.files.delete(&files).await?;
        Ok(format!("Successfully deleted {path}"))
    }

    /// Gives each file its new path. If one cannot have it, because another command created a file there or changed
    /// this one meanwhile, those before it get their old paths back.
    async fn rename(&self, old: &MemoryPath, new: &MemoryPath) -> CommandResult {
        let all = self.files.all().await?;
        let moved: Vec<MemoryFile> = all.iter().filter(|file| file.path.is_at_or_below(old)).cloned().collect();
        check_rename(old, new, &moved, &all)?;
        let mut is_waiting = false;
        for (index, file) in moved.iter().enumerate() {
            let new_path = file.path.moved(old, new);
            let file = self.files.with_waiting_change(file.clone()).await?;
            let outcome = self.files.set_path(&file, &new_path).await;
            if let Ok(WriteOutcome::Done | WriteOutcome::Waiting) = outcome {
                is_waiting |= matches!(outcome, Ok(WriteOutcome::Waiting));
                continue;
            }
            for file in &moved[..index] {
                self.files.restore_path(file).await?;
            }
            outcome?;
            return Err(
                format!("{old} or {new} was changed at the same time. View them, and repeat the command.").into()
            );
        }
        Ok(if is_waiting { WAITING.to_owned() } else { format!("Successfully renamed {old} to {new}") })
    }
}

/// Checks that files can be renamed. `moved` are the files at the old path or below it.
fn check_rename(old: &MemoryPath, new: &MemoryPath, moved: &[MemoryFile], all: &[MemoryFile]) -> Refusable<()> {
    if old.is_root() {
        return Err("Cannot rename the /memories directory itself".into());
    }
    if new.below(old).is_some() {
        return Err(format!("Cannot move {old} into itself"));
    }
    if moved.is_empty() {
        return Err(format!("The path {old} does not exist"));
    }
    if new.is_root() || is_folder(new, all) || all.iter().any(|file| file.path == *new) {
        return Err(format!("The destination {new} already exists"));
    }
    check_new_path(new, all)?;
    // The longest path may be too long now.
    for file in moved {
        MemoryPath::parse(file.path.moved(old, new).as_str())?;
    }
    Ok(())
}

fn is_folder(path: &MemoryPath, files: &[MemoryFile]) -> bool {
    files.iter().any(|file| file.path.below(path).is_some())
}

/// Checks that a new file can have this path: it is no folder, and not below a file. A file of the same path is
/// reported when it is created.
fn check_new_path(path: &MemoryPath, files: &[MemoryFile]) -> Refusable<()> {
    if path.is_root() || is_folder(path, files) {
        return Err(format!("File {path} already exists"));
    }
    match files.iter().find(|file| path.below(&file.path).is_some()) {
        Some(file) => Err(format!("{} is a file, and cannot contain {path}", file.path)),
        None => Ok(()),
    }
}

fn check_text(text: &str) -> Refusable<()> {
    if text.len() > MAX_FILE_BYTES {
        return Err(format!("The file would have {} bytes; at most {MAX_FILE_BYTES} are allowed.", text.len()));
    }
    if text.contains('\0') {
        return Err("The text contains a NUL character; remove it.".into());
    }
    if text.split('\n').count() > MAX_LINES {
        return Err("The file would exceed the maximum line limit of 999,999 lines.".into());
    }
    Ok(())
}

/// Returns the numbered lines of a file. As in Anthropic's backend, a newline at the end of a file counts as the start
/// of an empty last line here, but not for `insert`.
fn view_file(file: &MemoryFile, range: Option<[i64; 2]>) -> Refusable<String> {
    let lines: Vec<&str> = file.text.split('\n').collect();
    let count = lines.len();
    let (first, last) = match range {
        None => (1, count),
        Some([first, last]) => {
            let last = if last == -1 { count } else { usize::try_from(last).unwrap_or(0) };
            // As in Anthropic's backend, line 0 is read as line 1.
            (usize::try_from(first).unwrap_or(0).max(1), last.min(count))
        }
    };
    if first > last {
        return Err(format!(
            "Invalid `view_range` parameter: {:?}. The file {} has the lines 1 to {count}; give the first and the last \
             line, or -1 for the end.",
            range.unwrap_or_default(),
            file.path
        ));
    }
    let numbered = listing::number_lines(&lines[first - 1..last], first);
    Ok(format!("Here's the content of {} with line numbers:\n{numbered}", file.path))
}

/// Replaces the only occurrence of `old`. The answer shows the line where the change begins, with the lines around it.
fn replace_once(path: &MemoryPath, text: &str, old: &str, new: &str) -> Refusable<EditedFile> {
    if old.is_empty() {
        return Err("No replacement was performed, old_str is empty. Use insert to add text.".into());
    }
    let mut positions = text.match_indices(old).map(|(position, _)| position);
    let Some(position) = positions.next() else {
        let old = shorten(old);
        return Err(format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}."));
    };
    if positions.next().is_some() {
        let lines = lines_with(text, old).join(", ");
        return Err(format!(
            "No replacement was performed. Multiple occurrences of old_str `{}` in lines: {lines}. Please ensure it is \
             unique",
            shorten(old)
        ));
    }
    let changed = format!("{}{new}{}", &text[..position], &text[position + old.len()..]);
    let lines: Vec<&str> = changed.split('\n').collect();
    let line = text[..position].matches('\n').count();
    let first = line.saturating_sub(CONTEXT_LINES);
    let last = (line + CONTEXT_LINES + 1).min(lines.len());
    let snippet = listing::number_lines(&lines[first..last], first + 1);
    let answer = format!(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
    );
    Ok(EditedFile { file_text: changed, answer })
}

/// Returns the numbers of the lines in which `old` begins, at most [`MAX_REPORTED_LINES`] and then an ellipsis.
fn lines_with(text: &str, old: &str) -> Vec<String> {
    let mut lines: Vec<usize> = Vec::new();
    let mut line = 1;
    let mut counted_to = 0;
    for (position, _) in text.match_indices(old) {
        line += text[counted_to..position].matches('\n').count();
        counted_to = position;
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        if lines.len() > MAX_REPORTED_LINES {
            break;
        }
    }
    let is_cut = lines.len() > MAX_REPORTED_LINES;
    let numbers = lines.iter().take(MAX_REPORTED_LINES).map(usize::to_string);
    numbers.chain(is_cut.then(|| "…".to_owned())).collect()
}

/// Returns the beginning of a text that a message quotes.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Inserts `added` after a line. Line 0 is the beginning.
fn insert_lines(path: &MemoryPath, text: &str, after_line: i64, added: &str) -> Refusable<EditedFile> {
    let mut lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    if text.is_empty() {
        lines.clear();
    }
    let count = lines.len();
    let position = usize::try_from(after_line).ok().filter(|position| *position <= count).ok_or_else(|| {
        format!("Invalid `insert_line` parameter: {after_line}. It should be within the range [0, {count}].")
    })?;
    lines.insert(position, added.trim_end_matches('\n'));
    Ok(EditedFile { file_text: lines.join("\n") + "\n", answer: format!("The file {path} has been edited.") })
}
