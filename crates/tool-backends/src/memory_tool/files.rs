//! Memory files as records.

use memory_engine::{Filter, MemoryEngine, Record, Result, Scope, Trust};
use serde_json::json;

use super::path::MemoryPath;
use crate::named_records::{NamedRecords, WriteOutcome};

/// The metadata key of the path of a file.
const PATH: &str = "memory_tool_path";
/// The metadata key of an empty file, whose text is its path: a record has a text.
const IS_EMPTY: &str = "memory_tool_is_empty";

/// A file.
#[derive(Debug, Clone)]
pub(crate) struct MemoryFile {
    pub(crate) path: MemoryPath,
    pub(crate) text: String,
    /// `None` for a read-only file.
    record: Option<Record>,
}

/// The files of a user.
#[derive(Debug, Clone)]
pub(crate) struct MemoryFiles(NamedRecords);

impl MemoryFiles {
    pub(crate) fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self(NamedRecords::new(engine, scope, PATH))
    }

    pub(crate) fn engine(&self) -> &MemoryEngine {
        &self.0.engine
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// Returns all stored files in the order of their paths.
    pub(crate) async fn all(&self) -> Result<Vec<MemoryFile>> {
        let records = self.0.matching(Filter::And(Vec::new())).await?;
        let mut files: Vec<MemoryFile> = records.into_iter().filter_map(MemoryFile::of).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Returns the file of this path.
    pub(crate) async fn find(&self, path: &MemoryPath) -> Result<Option<MemoryFile>> {
        Ok(self.0.find(path.as_str()).await?.and_then(MemoryFile::of))
    }

    pub(crate) async fn create(&self, path: &MemoryPath, text: &str) -> Result<WriteOutcome> {
        let fill = |record: &mut Record| {
            record.trust = Trust::Assistant;
            set_text(record, path, text);
        };
        self.0.create(path.as_str(), fill).await
    }

    /// Replaces the text of a file that has not changed since it was read.
    pub(crate) async fn replace(&self, file: MemoryFile, text: &str) -> Result<WriteOutcome> {
        let Some(mut record) = file.record else { return Ok(WriteOutcome::Conflict) };
        set_text(&mut record, &file.path, text);
        self.0.replace(record).await
    }

    /// Deletes files for good.
    pub(crate) async fn delete(&self, files: &[MemoryFile]) -> Result<()> {
        self.0.delete(files.iter().filter_map(|file| Some(file.record.as_ref()?.id)).collect()).await
    }
}

impl MemoryFile {
    /// `None` for a record that is not a file.
    fn of(record: Record) -> Option<Self> {
        let path = MemoryPath::parse(record.metadata.get(PATH)?.as_str()?).ok()?;
        let is_empty = record.metadata.get(IS_EMPTY).is_some_and(|value| value == true);
        let text = if is_empty { String::new() } else { record.text.clone() };
        Some(Self { path, text, record: Some(record) })
    }

    /// Returns true if the record is a file.
    pub(crate) fn is(record: &Record) -> bool {
        record.metadata.contains_key(PATH)
    }

    /// A file that is computed, and not stored.
    pub(crate) fn read_only(path: MemoryPath, text: String) -> Self {
        Self { path, text, record: None }
    }
}

fn set_text(record: &mut Record, path: &MemoryPath, text: &str) {
    record.metadata.shift_remove(IS_EMPTY);
    record.text = text.to_owned();
    if text.trim().is_empty() {
        record.metadata.insert(IS_EMPTY.into(), json!(true));
        record.text = path.as_str().to_owned();
    }
}
