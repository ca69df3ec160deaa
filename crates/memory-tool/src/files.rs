//! Memory files as records.

use memory_engine::{
    ErrorKind, Field, Filter, Forget, Kind, MemoryEngine, PutMode, Record, RecordId, Result, Scope, State, Trust,
    store::Outcome,
};
use serde_json::json;

use crate::path::MemoryPath;

/// The metadata key of the path of a file.
const PATH: &str = "memory_tool_path";
/// The metadata key of an empty file, whose text is its path: a record has a text.
const IS_EMPTY: &str = "memory_tool_is_empty";
/// Maximum number of records that one path can have had. Each deletion of a file takes one.
const MAX_GENERATIONS: usize = 10_000;

/// A file.
#[derive(Debug, Clone)]
pub(crate) struct MemoryFile {
    pub(crate) path: MemoryPath,
    pub(crate) text: String,
    /// `None` for a read-only file.
    record: Option<Record>,
}

/// The outcome of a write that another writer can prevent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    /// The file exists (when creating), or has changed or disappeared (when editing).
    Conflict,
}

/// The files of a user.
#[derive(Debug, Clone)]
pub(crate) struct MemoryFiles {
    pub(crate) engine: MemoryEngine,
    pub(crate) scope: Scope,
}

impl MemoryFiles {
    pub(crate) fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { engine, scope }
    }

    /// Returns all stored files in the order of their paths.
    pub(crate) async fn all(&self) -> Result<Vec<MemoryFile>> {
        let records = self.engine.records(&self.scope).filter(active_note()).collect().await?;
        let mut files: Vec<MemoryFile> = records.into_iter().filter_map(MemoryFile::of).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Returns the file of this path.
    pub(crate) async fn find(&self, path: &MemoryPath) -> Result<Option<MemoryFile>> {
        let filter = active_note().and(Filter::eq(Field::Metadata(PATH.into()), path.as_str()));
        let records = self.engine.records(&self.scope).filter(filter).collect().await?;
        Ok(records.into_iter().find_map(MemoryFile::of))
    }

    /// Creates a file. Its record has an id that is computed from the path, so that of two writers only one succeeds.
    /// The id of a deleted file is not used again.
    pub(crate) async fn create(&self, path: &MemoryPath, text: &str) -> Result<Written> {
        for generation in 0..MAX_GENERATIONS {
            let mut record = Record::new(self.scope.clone(), Kind::NOTE, "", self.engine.clock().as_ref());
            record.id = RecordId::named(&self.scope, &format!("memory-tool/{generation}/{path}"));
            record.trust = Trust::Assistant;
            set_text(&mut record, path, text);
            let id = record.id;
            match self.engine.store(&self.scope, vec![record], PutMode::Create).await {
                Ok(results) if results.iter().all(|result| matches!(result.outcome, Outcome::Blocked(_))) => {}
                Ok(_) => return Ok(Written::Done),
                Err(e) if e.kind() == ErrorKind::Conflict => {
                    let stored = self.engine.get(&self.scope, id).await?.and_then(MemoryFile::of);
                    if stored.is_some_and(|file| file.path == *path) {
                        return Ok(Written::Conflict);
                    }
                }
                Err(e) => return Err(e),
            }
        }
        let message = format!("{path} was deleted {MAX_GENERATIONS} times; use another name");
        Err(memory_engine::Error::new(ErrorKind::Conflict, "memory_tool", message))
    }

    /// Replaces the text of a file that has not changed since it was read.
    pub(crate) async fn replace(&self, file: MemoryFile, text: &str) -> Result<Written> {
        let Some(mut record) = file.record else { return Ok(Written::Conflict) };
        let revision = record.revision;
        set_text(&mut record, &file.path, text);
        match self.engine.store(&self.scope, vec![record], PutMode::Update { revision }).await {
            Ok(_) => Ok(Written::Done),
            Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => Ok(Written::Conflict),
            Err(e) => Err(e),
        }
    }

    /// Deletes files for good.
    pub(crate) async fn delete(&self, files: &[MemoryFile]) -> Result<()> {
        let ids: Vec<RecordId> = files.iter().filter_map(|file| Some(file.record.as_ref()?.id)).collect();
        self.engine.forget(&self.scope, Forget::Ids(ids)).await?;
        Ok(())
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

fn active_note() -> Filter {
    Filter::eq(Field::Kind, Kind::NOTE.as_str()).and(Filter::eq(Field::State, State::Active.as_str()))
}

fn set_text(record: &mut Record, path: &MemoryPath, text: &str) {
    record.metadata.insert(PATH.into(), json!(path.as_str()));
    record.metadata.shift_remove(IS_EMPTY);
    record.text = text.to_owned();
    if text.trim().is_empty() {
        record.metadata.insert(IS_EMPTY.into(), json!(true));
        record.text = path.as_str().to_owned();
    }
}
