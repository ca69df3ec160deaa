//! Changes of active records that wait for a review. Each is a pending record that is derived from the one it changes,
//! so that it is deleted with it, and when the text of that record changes otherwise.

use memory_engine_core::{Record, RecordId, Result, State, Trust, review_keys};
use serde_json::{Value, json};

use crate::curation::Curation;

impl Curation {
    /// Returns an active record as it will be once a person accepts the change of it that waits. `None` if none waits.
    ///
    /// # Errors
    /// The store's error.
    pub async fn waiting_change(&self, current: &Record) -> Result<Option<Record>> {
        let id = waiting_id(current);
        let change = self.indexed_store().get_unexpired(&current.scope, &[id]).await?.pop().flatten();
        let change = change.filter(|change| change.state == State::Pending);
        Ok(change.map(|change| changed_record(current.clone(), change)))
    }
}

/// Returns the record in which the change of `current` to `changed` waits: one for each revision, so that a later
/// change takes the place of an earlier one. Returns `changed` if there is no active record to change, or no
/// difference.
pub(super) fn waiting_record(current: Option<&Record>, changed: &Record) -> Record {
    let mut changed = changed.clone();
    let Some(current) = current.filter(|current| current.state == State::Active) else { return changed };
    if (&current.text, &current.metadata) == (&changed.text, &changed.metadata) {
        return changed;
    }
    changed.id = waiting_id(current);
    changed.derived_from = vec![current.id];
    changed.pinned = false;
    if changed.trust == Trust::Import {
        changed.trust = Trust::Tool;
    }
    changed.metadata.insert(review_keys::REPLACES.to_owned(), json!(current.id));
    changed
}

/// Returns the id of the record that a waiting change replaces; `None` for any other record.
pub(super) fn replaced_id(record: &Record) -> Option<RecordId> {
    let id = record.metadata.get(review_keys::REPLACES).and_then(Value::as_str)?.parse().ok()?;
    // A caller can write the metadata, and not the sources.
    (record.derived_from == [id]).then_some(id)
}

/// Returns a record as it is after a change of it was accepted.
pub(super) fn changed_record(mut current: Record, change: Record) -> Record {
    current.text = change.text;
    current.trust = change.trust;
    current.occurred_at = change.occurred_at;
    current.metadata = change.metadata;
    for key in [review_keys::SOURCE, review_keys::REJECTED, review_keys::REPLACES] {
        current.metadata.remove(key);
    }
    current
}

fn waiting_id(current: &Record) -> RecordId {
    RecordId::named(&current.scope, &format!("waiting change/{}/{}", current.id, current.revision))
}
