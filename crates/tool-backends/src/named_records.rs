//! Notes with a name that is unique within their scope.

use memory_engine::{
    Error, ErrorKind, Field, Filter, Forget, Kind, MemoryEngine, PutMode, Record, RecordId, Result, Scope, State,
    store::Outcome,
};
use serde_json::json;

/// Maximum number of records that one name can have had. Each deletion uses one up.
const MAX_GENERATIONS: usize = 10_000;

/// The outcome of a write that another writer can prevent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    Done,
    /// The name is taken, or the record has changed or disappeared.
    Conflict,
}

/// The notes at a scope that have a name in a key of their metadata.
#[derive(Debug, Clone)]
pub(crate) struct NamedRecords {
    pub(crate) engine: MemoryEngine,
    pub(crate) scope: Scope,
    /// The metadata key of the name.
    key: &'static str,
}

impl NamedRecords {
    pub(crate) fn new(engine: MemoryEngine, scope: Scope, key: &'static str) -> Self {
        Self { engine, scope, key }
    }

    /// Returns the name of a record, if it has one.
    pub(crate) fn name<'r>(&self, record: &'r Record) -> Option<&'r str> {
        record.metadata.get(self.key)?.as_str()
    }

    /// The filter for all of these records.
    pub(crate) fn filter(&self) -> Filter {
        Filter::eq(Field::Kind, Kind::NOTE.as_str())
            .and(Filter::eq(Field::State, State::Active.as_str()))
            .and(Filter::Exists(Field::meta(self.key)))
    }

    /// Returns all of these records, oldest first.
    pub(crate) async fn all(&self) -> Result<Vec<Record>> {
        self.engine.records(&self.scope).filter(self.filter()).collect().await
    }

    /// Returns the records that match, oldest first.
    pub(crate) async fn matching(&self, filter: Filter) -> Result<Vec<Record>> {
        self.engine.records(&self.scope).filter(self.filter().and(filter)).collect().await
    }

    /// Returns the record of this name.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<Record>> {
        Ok(self.matching(Filter::meta(self.key, name)).await?.into_iter().next())
    }

    /// Creates a record with this name. `fill` sets its text and further metadata.
    ///
    /// Its id is computed from the name, so that of two writers only one succeeds. The id of a deleted record is not
    /// used again.
    pub(crate) async fn create(&self, name: &str, fill: impl Fn(&mut Record)) -> Result<WriteOutcome> {
        if self.find(name).await?.is_some() {
            return Ok(WriteOutcome::Conflict);
        }
        for generation in 0..MAX_GENERATIONS {
            let mut record = Record::new(self.scope.clone(), Kind::NOTE, "", self.engine.clock().as_ref());
            record.id = RecordId::named(&self.scope, &format!("{}/{generation}/{name}", self.key));
            record.metadata.insert(self.key.into(), json!(name));
            fill(&mut record);
            let id = record.id;
            match self.engine.store(&self.scope, vec![record], PutMode::Create).await {
                Ok(results) if results.iter().all(|result| matches!(result.outcome, Outcome::Blocked(_))) => {}
                Ok(_) => return Ok(WriteOutcome::Done),
                Err(e) if e.kind() == ErrorKind::Conflict => {
                    let stored = self.engine.get(&self.scope, id).await?;
                    if stored.is_some_and(|stored| self.name(&stored) == Some(name)) {
                        return Ok(WriteOutcome::Conflict);
                    }
                }
                Err(e) => return Err(e),
            }
        }
        let message = format!("{name} was deleted {MAX_GENERATIONS} times; use another name");
        Err(Error::new(ErrorKind::Conflict, "named_records", message))
    }

    /// Replaces a record that has not changed since it was read.
    pub(crate) async fn replace(&self, record: Record) -> Result<WriteOutcome> {
        let revision = record.revision;
        match self.engine.store(&self.scope, vec![record], PutMode::Update { revision }).await {
            Ok(_) => Ok(WriteOutcome::Done),
            Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => Ok(WriteOutcome::Conflict),
            Err(e) => Err(e),
        }
    }

    /// Gives a record another name, unless it has changed since it was read or the name is taken.
    ///
    /// The id of the record stays the one of its first name. So a record of the new name that is created at the same
    /// time has another id, and is found only after both are stored. Then the record gets its former name back. `fill`
    /// sets its text and further metadata.
    pub(crate) async fn rename(&self, former: &Record, name: &str, fill: impl Fn(&mut Record)) -> Result<WriteOutcome> {
        let mut record = former.clone();
        record.metadata.insert(self.key.into(), json!(name));
        fill(&mut record);
        if self.replace(record).await? == WriteOutcome::Conflict {
            return Ok(WriteOutcome::Conflict);
        }
        let namesakes = self.matching(Filter::meta(self.key, name)).await?;
        if namesakes.len() <= 1 {
            return Ok(WriteOutcome::Done);
        }
        if let Some(renamed) = self.engine.get(&self.scope, former.id).await? {
            let mut restored = former.clone();
            restored.revision = renamed.revision;
            self.replace(restored).await?;
        }
        Ok(WriteOutcome::Conflict)
    }

    /// Deletes records for good.
    pub(crate) async fn delete(&self, ids: Vec<RecordId>) -> Result<()> {
        self.engine.forget(&self.scope, Forget::Ids(ids)).await?;
        Ok(())
    }
}
