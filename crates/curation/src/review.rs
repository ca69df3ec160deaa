//! The review of pending memories: listing, accepting and rejecting them.

mod change;
pub(crate) mod query;
pub(crate) mod source;

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Error, ErrorKind, Kind, PutMode, Record, RecordId, Result, ReviewSource, RuleId, ScanQuery, Scope, State, Write,
    WriteResult,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
    review_keys,
};
use serde_json::Value;

use self::{
    change::{changed_record, replaced_id},
    query::{PendingMemory, ReviewEvidence, ReviewPage, ReviewQuery, ReviewReport},
    source::is_blocked,
};
use crate::{correction::push_edit, curation::Curation, retraction::Retraction};

/// Maximum number of records that are accepted in one transaction.
const ACCEPT_BATCH_RECORDS: usize = 500;

impl Curation {
    /// Returns a page of the records within `scope` that wait for a review, oldest first.
    ///
    /// # Errors
    /// The store's error.
    pub async fn pending(&self, scope: &Scope, query: &ReviewQuery) -> Result<ReviewPage> {
        let scan = ScanQuery::oldest(query.limit).with_filter(query.filter()).with_after(query.after).counted();
        let page = self.indexed_store().scan_unexpired(scope, &scan).await?;
        let records = page.records;
        let source_ids: BTreeSet<RecordId> =
            records.iter().flat_map(|record| record.derived_from.iter().copied()).collect();
        let source_ids: Vec<RecordId> = source_ids.into_iter().collect();
        let sources = self.indexed_store().get_unexpired(scope, &source_ids).await?;
        let texts: BTreeMap<RecordId, String> =
            sources.into_iter().flatten().map(|source| (source.id, source.text)).collect();
        let to_pending = |record: Record| {
            let evidence = record.derived_from.iter();
            let evidence =
                evidence.filter_map(|id| Some(ReviewEvidence { id: *id, text: texts.get(id)?.clone() })).collect();
            let rule = record.metadata.get("rule").and_then(Value::as_str);
            let rule = rule.filter(|_| record.kind == Kind::FACT).and_then(|rule| RuleId::new(rule.to_owned()).ok());
            PendingMemory { source: ReviewSource::of(&record), rule, evidence, record }
        };
        let pending = records.into_iter().map(to_pending).collect();
        Ok(ReviewPage { pending, next: page.next, total: page.total.unwrap_or_default() })
    }

    /// Accepts pending records within `scope`, in batches.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing the same records.
    pub async fn accept(&self, scope: &Scope, ids: &[RecordId]) -> Result<ReviewReport> {
        let mut report = ReviewReport::default();
        for ids in ids.chunks(ACCEPT_BATCH_RECORDS) {
            let batch = retry_on_conflict(WRITE_ATTEMPTS, || self.try_accept(scope, ids)).await?;
            report.accepted.extend(batch.accepted);
            report.skipped.extend(batch.skipped);
            report.blocked.extend(batch.blocked);
        }
        Ok(report)
    }

    async fn try_accept(&self, scope: &Scope, ids: &[RecordId]) -> Result<ReviewReport> {
        let now = self.clock().now();
        let mut seen = BTreeSet::new();
        let mut report = ReviewReport::default();
        let mut accepted = Vec::new();
        let mut changes = Vec::new();
        // The ids of the pending records, by those of the records that they become.
        let mut pending_ids: BTreeMap<RecordId, RecordId> = BTreeMap::new();
        for (id, record) in ids.iter().zip(self.indexed_store().get_all(scope, ids).await?) {
            match record.filter(|record| record.state == State::Pending && !record.is_expired(now)) {
                Some(_) if !seen.insert(*id) => {}
                Some(record) => match replaced_id(&record) {
                    // The second of two changes of one record is skipped: it was made of the same text.
                    Some(target) if pending_ids.contains_key(&target) => report.skipped.push(*id),
                    Some(target) => match self.change_writes(target, record).await? {
                        Some(writes) => {
                            pending_ids.insert(target, *id);
                            changes.extend(writes);
                        }
                        None => report.skipped.push(*id),
                    },
                    None => {
                        pending_ids.insert(*id, *id);
                        accepted.push(activated(record));
                    }
                },
                None => report.skipped.push(*id),
            }
        }
        let mut writes = self.enrichment().turns().acceptance(accepted, Vec::new()).await?;
        writes.extend(changes);
        let written = self.write_accepted(scope, writes).await?;
        let is_blocked = |id: &RecordId| written.iter().any(|written| written.id == *id && is_blocked(written));
        for (id, pending_id) in pending_ids {
            match is_blocked(&id) {
                true => report.blocked.push(pending_id),
                false => report.accepted.push(pending_id),
            }
        }
        Ok(report)
    }

    /// Returns the writes that apply a waiting change to the record `target`; `None` if that is not active any more.
    async fn change_writes(&self, target: RecordId, mut change: Record) -> Result<Option<Vec<Write>>> {
        let current = self.indexed_store().get_unexpired(&change.scope, &[target]).await?.pop().flatten();
        let Some(current) = current.filter(|current| current.state == State::Active) else { return Ok(None) };
        let has_same_text = current.text == change.text;
        let changed = changed_record(current, change.clone());
        let mode = PutMode::Update { revision: changed.revision };
        let mut writes = vec![Write::new(changed, mode)];
        if has_same_text {
            // The change of a text deletes what was derived from the old one, and with it the waiting record.
            change.state = State::Revoked;
            let mode = PutMode::Update { revision: change.revision };
            writes.push(Write::new(change, mode));
        }
        Ok(Some(writes))
    }

    /// Writes accepted records, with their jobs. If a tombstone blocks one of them, the facts of its person are
    /// reconciled without it.
    async fn write_accepted(&self, scope: &Scope, mut writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        for write in &mut writes {
            write.jobs.extend(self.jobs_for(&write.record));
        }
        let user = scope.namespace();
        let written = self.write(&user, writes).await?;
        let blocked: Vec<RecordId> = written.iter().filter(|written| is_blocked(written)).map(|w| w.id).collect();
        if !blocked.is_empty() {
            for person in self.enrichment().turns().people_with_facts(scope, &blocked).await? {
                self.enrichment().turns().reconcile_facts(&person).await?;
            }
        }
        Ok(written)
    }

    /// Rejects the pending ones among these records.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing the same records.
    pub async fn reject(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        let records = self.indexed_store().get_all(scope, ids).await?.into_iter().flatten();
        let pending: Vec<RecordId> =
            records.filter(|record| record.state == State::Pending).map(|record| record.id).collect();
        self.retract(scope, &pending, reason).await
    }

    /// Accepts a pending record within `scope` with another text. Returns the id of the record that states it.
    ///
    /// # Errors
    /// `NotFound` if there is no such record within `scope`; `InvalidInput` for an empty text and for a record that is
    /// not pending; `Conflict` if others keep changing the record, or a text like the new one was forgotten;
    /// `Unsupported` for a fact if the feature `enrichment` is off; the store's error.
    pub async fn accept_edited(&self, scope: &Scope, id: RecordId, text: String) -> Result<RecordId> {
        if text.trim().is_empty() {
            return Err(Error::invalid("review", "the new text is empty; `reject` rejects a pending memory"));
        }
        let text = self.indexed_store().masked_text(scope, text).await?;
        retry_on_conflict(WRITE_ATTEMPTS, || self.try_accept_edited(scope, id, &text)).await
    }

    async fn try_accept_edited(&self, scope: &Scope, id: RecordId, text: &str) -> Result<RecordId> {
        let Some(mut record) = self.indexed_store().get_one_unexpired(scope, id).await? else {
            return Err(Error::new(ErrorKind::NotFound, "review", format!("there is no record {id} in this scope")));
        };
        if record.state != State::Pending {
            let message = format!("record {id} is {}, not pending; `update` corrects an active memory", record.state);
            return Err(Error::invalid("review", message));
        }
        let mut writes = Vec::new();
        let accepted = if let Some(target) = replaced_id(&record) {
            text.clone_into(&mut record.text);
            let Some(changes) = self.change_writes(target, record).await? else {
                let message = format!("record {target}, which {id} changes, is not active any more");
                return Err(Error::invalid("review", message));
            };
            writes.extend(changes);
            target
        } else if record.text != text
            && record.kind == Kind::FACT
            && let Some(new) = self.enrichment().edited_fact(&record, text).await?
        {
            let new_id = new.id;
            writes.extend(self.rejection_writes(scope, record, EDIT_REASON));
            writes.extend(self.enrichment().turns().acceptance(Vec::new(), vec![new]).await?);
            new_id
        } else {
            if record.text != text {
                push_edit(&mut record, self.clock().now());
                text.clone_into(&mut record.text);
            }
            writes.extend(self.enrichment().turns().acceptance(vec![activated(record)], Vec::new()).await?);
            id
        };
        let written = self.write_accepted(scope, writes).await?;
        if written.iter().any(|written| written.id == accepted && is_blocked(written)) {
            let message = "a text like this one was forgotten and stays away; write it differently";
            return Err(Error::new(ErrorKind::Conflict, "review", message));
        }
        Ok(accepted)
    }
}

/// The reason of the rejection of a fact that was accepted with another text.
const EDIT_REASON: &str = "accepted with another text";

/// Returns a pending record as it is after acceptance.
fn activated(mut record: Record) -> Record {
    record.state = State::Active;
    record.metadata.remove(review_keys::SOURCE);
    record.metadata.remove(review_keys::REJECTED);
    record
}
