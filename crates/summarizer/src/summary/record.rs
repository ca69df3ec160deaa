//! Summaries as records.

use memory_engine_core::{Error, Kind, ManualClock, Record, RecordId, Result, Scope, Timestamp, Trust};

use crate::{summary::types::Summary, window::majority};

impl Summary {
    /// The summary as a record: derived from exactly the turns that it covers, of the scene that most of them have, as
    /// old as the last of them, with the largest of their sequence numbers.
    ///
    /// The id follows from the ids of the turns and from what they say, so that the same work done twice makes one
    /// summary, and a turn that is edited makes another. `turns` are those that were summarized; others among them do
    /// not matter.
    ///
    /// # Errors
    /// `InvalidInput` when the summary is empty, or a turn that it covers is not among `turns`.
    pub fn to_record(&self, turns: &[Record], scope: &Scope, recorded_at: Timestamp) -> Result<Record> {
        let find = |id: &RecordId| {
            let missing = || {
                Error::invalid(
                    "summary",
                    "a turn that the summary covers is missing; hand over those that were summarized",
                )
            };
            turns.iter().find(|turn| turn.id == *id).ok_or_else(missing)
        };
        let covered: Vec<&Record> = self.covered.iter().map(find).collect::<Result<_>>()?;
        let Some(last) = covered.iter().max_by_key(|turn| turn.position()).filter(|_| !self.text.is_empty()) else {
            return Err(Error::invalid("summary", "the summary is empty; there is nothing to keep"));
        };
        let mut record = Record::new(scope.clone(), Kind::SUMMARY, self.text.clone(), &ManualClock::new(recorded_at));
        record.id = summary_id(scope, covered.iter().copied());
        record.trust = Trust::Derived;
        record.derived_from.clone_from(&self.covered);
        record.scene = majority(covered.iter().copied());
        record.topic.clone_from(&self.topic);
        record.entities.clone_from(&self.entities);
        record.occurred_at = last.occurred_at;
        record.source.sequence = covered.iter().filter_map(|turn| turn.source.sequence).max();
        record.source.round = covered.iter().filter_map(|turn| turn.source.round).max();
        Ok(record)
    }
}

/// The id of the summary of these turns.
pub(crate) fn summary_id<'r>(scope: &Scope, turns: impl Iterator<Item = &'r Record>) -> RecordId {
    let mut hasher = blake3::Hasher::new();
    for turn in turns {
        hasher.update(turn.id.as_bytes());
        hasher.update(turn.content_hash().as_bytes());
    }
    RecordId::named(scope, &format!("summary {}", hasher.finalize().to_hex()))
}
