//! Notes with a name that is unique within their scope.

use memory_engine::{
    Error, ErrorKind, Field, Filter, Forget, Kind, MemoryEngine, PutMode, Record, RecordId, Result, Scope, State,
    review::{ReviewSource, StoredRecord},
    store::Outcome,
};
use serde_json::json;

/// Maximum number of records that one name can have had. Each deletion uses one up.
const MAX_GENERATIONS: usize = 10_000;

/// The outcome of a write that another writer can prevent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    Done,
    /// The record, or its change, waits until a person accepts it.
    Waiting,
    /// The name is taken, or the record has changed or disappeared.
    Conflict,
}

impl WriteOutcome {
    fn of(stored: &StoredRecord) -> Self {
        if stored.is_pending { Self::Waiting } else { Self::Done }
    }
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
            let mut record = Record::new(self.scope.clone(), Kind::NOTE, "", self.engine.settings().clock().as_ref());
            record.id = RecordId::named(&self.scope, &format!("{}/{generation}/{name}", self.key));
            record.metadata.insert(self.key.into(), json!(name));
            fill(&mut record);
            match self.store(record.clone(), PutMode::Create).await {
                Ok(stored) if matches!(stored.result.outcome, Outcome::Blocked(_)) => {}
                Ok(stored) => return Ok(WriteOutcome::of(&stored)),
                Err(e) if e.kind() == ErrorKind::Conflict => {
                    let stored = self.engine.get(&self.scope, record.id).await?;
                    match stored.filter(|stored| self.name(stored) == Some(name)) {
                        // The latest text is the one that waits.
                        Some(stored) if stored.state == State::Pending => {
                            record.revision = stored.revision;
                            return self.replace(record).await;
                        }
                        Some(stored) if stored.state == State::Active => return Ok(WriteOutcome::Conflict),
                        Some(_) | None => {}
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
        match self.store(record, PutMode::Update { revision }).await {
            Ok(stored) => Ok(WriteOutcome::of(&stored)),
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
        let outcome = self.replace(record).await?;
        if outcome != WriteOutcome::Done {
            return Ok(outcome);
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

    /// Stores a record, which waits for a person if the policy reviews tools.
    async fn store(&self, record: Record, mode: PutMode) -> Result<StoredRecord> {
        let stored = self.engine.review().store_from(ReviewSource::Tools, &self.scope, vec![record], mode).await?;
        let missing = || Error::new(ErrorKind::Internal, "named_records", "the store gave no answer for the record");
        stored.into_iter().next().ok_or_else(missing)
    }

    /// Deletes records for good.
    pub(crate) async fn delete(&self, ids: Vec<RecordId>) -> Result<()> {
        self.engine.forget(&self.scope, Forget::Ids(ids)).await?;
        Ok(())
    }
}
