//! Memory files as records.

use memory_engine::{MemoryEngine, Record, Result, Scope, Trust};
use serde_json::json;

use super::path::MemoryPath;
use crate::named_records::{NamedRecords, WriteOutcome};

/// The metadata key of the path of a file.
const PATH_KEY: &str = "memory_tool_path";
/// The metadata key of the text of a file that is empty or has only whitespace. A record needs other text; here that is
/// the path.
const BLANK_TEXT_KEY: &str = "memory_tool_text";

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
        Self(NamedRecords::new(engine, scope, PATH_KEY))
    }

    pub(crate) fn engine(&self) -> &MemoryEngine {
        &self.0.engine
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// Returns all stored files in the order of their paths.
    pub(crate) async fn all(&self) -> Result<Vec<MemoryFile>> {
        let records = self.0.all().await?;
        let mut files: Vec<MemoryFile> = records.into_iter().filter_map(MemoryFile::of).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Returns the file of this path.
    pub(crate) async fn find(&self, path: &MemoryPath) -> Result<Option<MemoryFile>> {
        Ok(self.0.find(path.as_str()).await?.and_then(MemoryFile::of))
    }

    /// Returns the file of this path as it will be once a person accepts the change of it that waits.
    pub(crate) async fn find_changed(&self, path: &MemoryPath) -> Result<Option<MemoryFile>> {
        let Some(file) = self.find(path).await? else { return Ok(None) };
        self.with_waiting_change(file).await.map(Some)
    }

    /// Returns a file as it will be once a person accepts the change of it that waits.
    pub(crate) async fn with_waiting_change(&self, file: MemoryFile) -> Result<MemoryFile> {
        let Some(record) = &file.record else { return Ok(file) };
        Ok(self.0.engine.review().waiting_change(record).await?.and_then(MemoryFile::of).unwrap_or(file))
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
        // A read-only file was never stored, so that it cannot be replaced.
        let Some(mut record) = file.record else { return Ok(WriteOutcome::Conflict) };
        set_text(&mut record, &file.path, text);
        self.0.replace(record).await
    }

    /// Deletes files for good.
    pub(crate) async fn delete(&self, files: &[MemoryFile]) -> Result<()> {
        self.0.delete(files.iter().filter_map(|file| Some(file.record.as_ref()?.id)).collect()).await
    }

    /// Gives a file another path, unless it has changed since it was read or there is a file of that path.
    pub(crate) async fn set_path(&self, file: &MemoryFile, path: &MemoryPath) -> Result<WriteOutcome> {
        // A read-only file was never stored, so that it has no other path.
        let Some(record) = &file.record else { return Ok(WriteOutcome::Conflict) };
        self.0.rename(record, path.as_str(), |record| set_text(record, path, &file.text)).await
    }

    /// Gives a renamed file its former path back.
    pub(crate) async fn restore_path(&self, former: &MemoryFile) -> Result<()> {
        let Some(record) = &former.record else { return Ok(()) };
        let renamed = self.0.engine.get(&self.0.scope, record.id).await?.and_then(MemoryFile::of);
        if let Some(renamed) = renamed {
            self.set_path(&renamed, &former.path).await?;
        }
        Ok(())
    }
}

impl MemoryFile {
    /// `None` for a record that is not a file.
    fn of(record: Record) -> Option<Self> {
        let path = MemoryPath::parse(record.metadata.get(PATH_KEY)?.as_str()?).ok()?;
        let blank_text = record.metadata.get(BLANK_TEXT_KEY).and_then(|text| text.as_str());
        let text = blank_text.unwrap_or(&record.text).to_owned();
        Some(Self { path, text, record: Some(record) })
    }

    /// Returns true if the record is a file.
    pub(crate) fn is(record: &Record) -> bool {
        record.metadata.contains_key(PATH_KEY)
    }

    /// A file that is computed, and not stored.
    pub(crate) fn read_only(path: MemoryPath, text: String) -> Self {
        Self { path, text, record: None }
    }
}

fn set_text(record: &mut Record, path: &MemoryPath, text: &str) {
    record.metadata.remove(BLANK_TEXT_KEY);
    record.text = text.to_owned();
    if text.trim().is_empty() {
        record.metadata.insert(BLANK_TEXT_KEY.into(), json!(text));
        record.text = path.as_str().to_owned();
    }
}
