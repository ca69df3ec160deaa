//! Converts summaries to records.

use memory_engine_core::{Error, Kind, ManualClock, Record, RecordId, Result, Scope, Timestamp, Trust};

use crate::{
    metadata::{valid, valid_labels},
    summary::types::Summary,
    window::majority_scene,
};

impl Summary {
    /// Returns the summary as a record, derived from exactly the turns that it covers. The record has the scene of most
    /// of them, the time of the last one and their largest sequence number.
    ///
    /// The id is computed from the ids and the texts of the turns: summarizing them twice gives one record, and an
    /// edited turn gives another. `turns` contains at least the turns that were summarized.
    ///
    /// # Errors
    /// `InvalidInput` if the summary is empty, or if it covers a turn that is not in `turns`.
    pub fn to_record(&self, turns: &[Record], scope: &Scope, recorded_at: Timestamp) -> Result<Record> {
        let find = |id: &RecordId| {
            let message = "a turn that the summary covers is missing; pass all turns that were summarized";
            let missing = || Error::invalid("summary", message);
            turns.iter().find(|turn| turn.id == *id).ok_or_else(missing)
        };
        let covered: Vec<&Record> = self.covered.iter().map(find).collect::<Result<_>>()?;
        let Some(last) = covered.iter().max_by_key(|turn| turn.position()).filter(|_| !self.text.is_empty()) else {
            return Err(Error::invalid("summary", "the summary is empty and cannot be stored"));
        };
        let mut record = Record::new(scope.clone(), Kind::SUMMARY, self.text.clone(), &ManualClock::new(recorded_at));
        record.id = summary_id(scope, covered.iter().copied());
        record.trust = Trust::Derived;
        record.derived_from.clone_from(&self.covered);
        record.scene = majority_scene(covered.iter().copied());
        record.topic = valid(self.topic.as_ref());
        record.entities = valid_labels(&self.entities);
        record.occurred_at = last.occurred_at;
        record.source.sequence = covered.iter().filter_map(|turn| turn.source.sequence).max();
        record.source.round = covered.iter().filter_map(|turn| turn.source.round).max();
        Ok(record)
    }
}

/// Returns the id of the summary of these turns.
pub(crate) fn summary_id<'r>(scope: &Scope, turns: impl Iterator<Item = &'r Record>) -> RecordId {
    let mut hasher = blake3::Hasher::new();
    for turn in turns {
        hasher.update(turn.id.as_bytes());
        hasher.update(turn.content_hash().as_bytes());
    }
    RecordId::named(scope, &format!("summary {}", hasher.finalize().to_hex()))
}
