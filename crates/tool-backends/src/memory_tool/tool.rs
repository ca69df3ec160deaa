//! The tool.

use memory_engine::{MemoryEngine, Result, Scope};
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

/// The outcome of a command: a text for the model, or the reason of a refusal.
type Answer = std::result::Result<String, String>;

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
        let answer = match Command::parse(input) {
            Ok(command) => match command.written_paths().into_iter().find(|path| known::is_known(path)) {
                Some(path) => Err(known::read_only(path)),
                None => self.execute(command).await?,
            },
            Err(refusal) => Err(refusal),
        };
        Ok(match answer {
            Ok(content) => ToolResult { content, is_error: false },
            Err(content) => ToolResult { content, is_error: true },
        })
    }

    async fn execute(&self, command: Command) -> Result<Answer> {
        match command {
            Command::View { path, view_range } => self.view(&path, view_range).await,
            Command::Create { path, file_text } => self.create(&path, &file_text).await,
            Command::StrReplace { path, old_str, new_str } => {
                self.edit(&path, |text| replaced(&path, text, &old_str, &new_str)).await
            }
            Command::Insert { path, insert_line, insert_text } => {
                self.edit(&path, |text| inserted(&path, text, insert_line, &insert_text)).await
            }
            Command::Delete { path } => self.delete(&path).await,
            Command::Rename { old_path, new_path } => self.rename(&old_path, &new_path).await,
        }
    }

    async fn view(&self, path: &MemoryPath, range: Option<[i64; 2]>) -> Result<Answer> {
        if let Some(file) = self.files.find(path).await? {
            return Ok(view_file(&file, range));
        }
        let mut files = self.files.all().await?;
        files.extend(known::files(self.files.engine(), self.files.scope()).await?);
        if let Some(file) = files.iter().find(|file| file.path == *path) {
            return Ok(view_file(file, range));
        }
        if !path.is_root() && !is_folder(path, &files) {
            return Ok(Err(format!("The path {path} does not exist. Please provide a valid path.")));
        }
        Ok(Ok(listing::folder(path, &files)))
    }

    async fn create(&self, path: &MemoryPath, text: &str) -> Result<Answer> {
        let files = self.files.all().await?;
        if let Err(refusal) = check_new_path(path, &files).and_then(|()| check_text(text)) {
            return Ok(Err(refusal));
        }
        if files.len() >= MAX_FILES {
            return Ok(Err(format!("There are {} files already; delete some first.", files.len())));
        }
        Ok(match self.files.create(path, text).await? {
            WriteOutcome::Done => Ok(format!("File created successfully at: {path}")),
            WriteOutcome::Conflict => Err(format!("File {path} already exists")),
        })
    }

    /// Replaces the text of a file by that which `change` returns, with the text for the model.
    async fn edit(
        &self,
        path: &MemoryPath,
        change: impl Fn(&str) -> std::result::Result<(String, String), String>,
    ) -> Result<Answer> {
        let Some(file) = self.files.find(path).await? else {
            let files = self.files.all().await?;
            let is_folder = path.is_root() || is_folder(path, &files);
            return Ok(Err(match is_folder {
                true => format!("The path {path} is not a file."),
                false => format!("The path {path} does not exist. Please provide a valid path."),
            }));
        };
        let changed = change(&file.text).and_then(|(text, answer)| check_text(&text).map(|()| (text, answer)));
        let (text, answer) = match changed {
            Ok(changed) => changed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(match self.files.replace(file, &text).await? {
            WriteOutcome::Done => Ok(answer),
            WriteOutcome::Conflict => {
                Err(format!("The file {path} was changed at the same time. View it, and repeat the edit if needed."))
            }
        })
    }

    async fn delete(&self, path: &MemoryPath) -> Result<Answer> {
        if path.is_root() {
            return Ok(Err("Cannot delete the /memories directory itself".into()));
        }
        let files = self.at_or_below(path).await?;
        if files.is_empty() {
            return Ok(Err(format!("The path {path} does not exist")));
        }
        self.files.delete(&files).await?;
        Ok(Ok(format!("Successfully deleted {path}")))
    }

    /// Stores the files under the new path first, so that a failure in between loses nothing.
    async fn rename(&self, old: &MemoryPath, new: &MemoryPath) -> Result<Answer> {
        if old.is_root() {
            return Ok(Err("Cannot rename the /memories directory itself".into()));
        }
        if new.below(old).is_some() {
            return Ok(Err(format!("Cannot move {old} into itself")));
        }
        let moved = self.at_or_below(old).await?;
        if moved.is_empty() {
            return Ok(Err(format!("The path {old} does not exist")));
        }
        let all = self.files.all().await?;
        if new.is_root() || is_folder(new, &all) || all.iter().any(|file| file.path == *new) {
            return Ok(Err(format!("The destination {new} already exists")));
        }
        if let Err(refusal) = check_new_path(new, &all) {
            return Ok(Err(refusal));
        }
        for file in &moved {
            let path = file.path.moved(old, new);
            // The longest path may be too long now.
            if let Err(refusal) = MemoryPath::parse(path.as_str()) {
                return Ok(Err(refusal));
            }
        }
        for file in &moved {
            if self.files.create(&file.path.moved(old, new), &file.text).await? == WriteOutcome::Conflict {
                return Ok(Err(format!("The destination {new} already exists")));
            }
        }
        self.files.delete(&moved).await?;
        Ok(Ok(format!("Successfully renamed {old} to {new}")))
    }

    async fn at_or_below(&self, path: &MemoryPath) -> Result<Vec<MemoryFile>> {
        let mut files = self.files.all().await?;
        files.retain(|file| file.path == *path || file.path.below(path).is_some());
        Ok(files)
    }
}

fn is_folder(path: &MemoryPath, files: &[MemoryFile]) -> bool {
    files.iter().any(|file| file.path.below(path).is_some())
}

/// Refuses the path of a new file that exists, or that is within a file.
fn check_new_path(path: &MemoryPath, files: &[MemoryFile]) -> std::result::Result<(), String> {
    if path.is_root() || is_folder(path, files) {
        return Err(format!("File {path} already exists"));
    }
    match files.iter().find(|file| path.below(&file.path).is_some()) {
        Some(file) => Err(format!("{} is a file, and cannot contain {path}", file.path)),
        None => Ok(()),
    }
}

fn check_text(text: &str) -> std::result::Result<(), String> {
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

fn view_file(file: &MemoryFile, range: Option<[i64; 2]>) -> Answer {
    let lines: Vec<&str> = file.text.split('\n').collect();
    let (first, last) = match range {
        None => (1, lines.len()),
        Some([first, last]) => {
            let last = if last == -1 { lines.len() } else { usize::try_from(last).unwrap_or(0) };
            (usize::try_from(first).unwrap_or(0).max(1), last.min(lines.len()))
        }
    };
    if first > last {
        let count = lines.len();
        return Err(format!("Invalid `view_range` parameter: the file {} has {count} lines, from 1 on.", file.path));
    }
    let numbered = listing::numbered(&lines[first - 1..last], first);
    Ok(format!("Here's the content of {} with line numbers:\n{numbered}", file.path))
}

/// Returns the text with the only occurrence of `old` replaced, and the changed lines.
fn replaced(path: &MemoryPath, text: &str, old: &str, new: &str) -> std::result::Result<(String, String), String> {
    if old.is_empty() {
        return Err("No replacement was performed, old_str is empty. Use insert to add text.".into());
    }
    let line_at = |position: usize| text[..position].matches('\n').count();
    let positions: Vec<usize> = text.match_indices(old).map(|(position, _)| position).collect();
    let position = match positions.as_slice() {
        [] => {
            return Err(format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}."));
        }
        [position] => *position,
        several => {
            let lines: Vec<String> = several.iter().map(|position| (line_at(*position) + 1).to_string()).collect();
            return Err(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it \
                 is unique",
                lines.join(", ")
            ));
        }
    };
    let changed = format!("{}{new}{}", &text[..position], &text[position + old.len()..]);
    let lines: Vec<&str> = changed.split('\n').collect();
    let line = line_at(position);
    let first = line.saturating_sub(CONTEXT_LINES);
    let last = (line + CONTEXT_LINES + 1).min(lines.len());
    let snippet = listing::numbered(&lines[first..last], first + 1);
    let answer = format!(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
    );
    Ok((changed, answer))
}

/// Returns the text with `added` after a line. Line 0 is the beginning.
fn inserted(
    path: &MemoryPath,
    text: &str,
    after_line: i64,
    added: &str,
) -> std::result::Result<(String, String), String> {
    let mut lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    if text.is_empty() {
        lines.clear();
    }
    let count = lines.len();
    let position = usize::try_from(after_line).ok().filter(|position| *position <= count).ok_or_else(|| {
        format!("Invalid `insert_line` parameter: {after_line}. It should be within the range [0, {count}].")
    })?;
    lines.insert(position, added.trim_end_matches('\n'));
    Ok((lines.join("\n") + "\n", format!("The file {path} has been edited.")))
}
