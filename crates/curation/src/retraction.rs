//! Retracts records, so that they can be restored.
//!
//! Reasons: `docs/design/decisions/0023-retraction-marks-records.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use memory_engine_core::{
    Error, ErrorKind, Field, Filter, Job, Kind, Op, Order, PutMode, Record, RecordId, Result, ScanQuery, Scope, State,
    Timestamp, Trust, Write,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
    review_keys,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::curation::{Curation, PAGE_ROWS};

/// Maximum number of rounds that retract records derived meanwhile.
const MAX_ROUNDS: usize = 5;
/// Maximum number of records in one entry of the ledger.
const ENTRY_MAX_RECORDS: usize = 3000;

/// The part of a conversation that `History::rewind` retracts. In JSON `{"last": 2}`
/// or `{"to": 7}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rewind {
    /// Retracts this number of turns at the end.
    Last(usize),
    /// Retracts everything after this sequence number.
    To(i64),
}

/// Records that were retracted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Retraction {
    /// The id that `History::restore` takes.
    pub id: RecordId,
    /// The reason that the caller gave.
    pub reason: String,
    /// The time of the retraction.
    pub at: Timestamp,
    /// The retracted records, and those derived from them.
    pub records: Vec<RecordId>,
    /// The time at which the records are deleted unless they are restored; `None` for never. Listed retractions do not
    /// have it.
    #[serde(skip)]
    pub(crate) expires_at: Option<Timestamp>,
}

/// A retracted record in the ledger.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct RetractedRecord {
    id: RecordId,
    /// The state before the retraction.
    state: State,
    /// The expiry before a retraction that ends with the deletion of its records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expiry: Option<FormerExpiry>,
}

/// The expiry of a record before it was retracted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct FormerExpiry {
    pinned: bool,
    expires_at: Option<Timestamp>,
}

impl RetractedRecord {
    /// Changes the record to a retracted one. Returns its entry in the ledger.
    fn retract(record: &mut Record, retraction: &Retraction) -> Self {
        let expiry = retraction.expires_at.map(|end| {
            let former = FormerExpiry { pinned: record.pinned, expires_at: record.expires_at };
            // The expiry of a pinned record does not apply.
            let own_end = record.expires_at.filter(|_| !record.pinned);
            record.expires_at = Some(own_end.map_or(end, |own_end| own_end.min(end)));
            record.pinned = false;
            former
        });
        let retracted = Self { id: record.id, state: record.state, expiry };
        record.state = State::Revoked;
        record.metadata.insert(RETRACTION.into(), json!(retraction.id));
        retracted
    }

    /// Changes the retracted record to what it was before.
    fn restore(self, record: &mut Record) {
        record.state = self.state;
        record.metadata.remove(RETRACTION);
        if let Some(FormerExpiry { pinned, expires_at }) = self.expiry {
            record.pinned = pinned;
            record.expires_at = expires_at;
        }
    }
}

/// The metadata key of the retraction's id, in ledger entries and in retracted records. A record that was written again
/// does not have it. Unlike a revision, it is also valid in a copied store, where revisions begin at 1.
pub const RETRACTION: &str = "retraction";
/// The metadata key of the reason, in ledger entries.
const REASON_KEY: &str = "reason";
/// The reason of a rewind. It is not the text of a caller.
const REWIND_REASON: &str = "rewind";
/// The reason of the retraction of turns that state a deleted fact.
const FACT_DELETED_REASON: &str = "a fact from it was deleted";
/// The reason of the retraction of a topic that a person asked to forget. It is not the text of a caller.
pub(crate) const TOPIC_REASON: &str = "the person asked to forget it";

/// The treatment of facts that are derived from retracted records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Facts {
    Retracted,
    Kept,
}

impl Curation {
    /// Retracts the end of a conversation and everything derived from it.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn rewind(&self, scope: &Scope, rewind: Rewind) -> Result<Retraction> {
        let is_of_conversation = |record: &Record| record.scope == *scope && !record.kind.is_ledger();
        let (filter, limit) = match rewind {
            Rewind::Last(count) => (Filter::eq(Field::Kind, Kind::TURN.as_str()), count),
            Rewind::To(sequence) => (Filter::compare(Field::Sequence, Op::Gt, sequence as f64), usize::MAX),
        };
        let filter = filter.and(Filter::eq(Field::State, State::Active.as_str()));
        let mut ids = Vec::new();
        let mut pages = self.indexed_store().pages(scope, ScanQuery::newest(PAGE_ROWS).with_filter(filter));
        while ids.len() < limit
            && let Some(page) = pages.next().await?
        {
            ids.extend(page.records.iter().filter(|record| is_of_conversation(record)).map(|record| record.id));
        }
        ids.truncate(limit);
        self.retract(scope, &ids, REWIND_REASON).await
    }

    /// Retracts records within `scope`, and everything derived from them.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn retract(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        self.retract_records(scope, ids, reason, Facts::Retracted, None).await
    }

    /// Retracts turns that state deleted facts, and what is derived from them except for other facts.
    pub(crate) async fn retract_fact_sources(&self, scope: &Scope, turns: &[RecordId]) -> Result<Retraction> {
        self.retract_records(scope, turns, FACT_DELETED_REASON, Facts::Kept, None).await
    }

    /// Retracts records within `scope`, and what is derived from them. After `undo_period`, they are deleted.
    pub(crate) async fn retract_records(
        &self,
        scope: &Scope,
        ids: &[RecordId],
        reason: &str,
        facts: Facts,
        undo_period: Option<Duration>,
    ) -> Result<Retraction> {
        let at = self.clock().now();
        let mut retraction = Retraction {
            id: RecordId::new(),
            reason: reason.to_owned(),
            at,
            records: Vec::new(),
            expires_at: undo_period.map(|period| at.after(period)),
        };
        let user = scope.namespace();
        self.retract_with_retries([scope, scope], ids, facts, &mut retraction).await?;
        // A job may have derived records meanwhile. Once the sources are not active, no job derives more.
        for _ in 0..MAX_ROUNDS {
            let derived = self.record_store().derived(&user, &retraction.records).await?;
            let mut new: Vec<RecordId> = derived.into_iter().filter(|id| !retraction.records.contains(id)).collect();
            self.keep_facts(facts, &user, &mut new).await?;
            if new.is_empty() || !self.retract_with_retries([scope, &user], &new, facts, &mut retraction).await? {
                break;
            }
        }
        self.indexed_store().wake();
        Ok(retraction)
    }

    /// Retracts the records that are within `source_scope`, and stores the ledger entry at `scope`. Returns true if
    /// there were any.
    async fn retract_with_retries(
        &self,
        [scope, source_scope]: [&Scope; 2],
        ids: &[RecordId],
        facts: Facts,
        retraction: &mut Retraction,
    ) -> Result<bool> {
        let current: &Retraction = retraction;
        let retracted =
            retry_on_conflict(WRITE_ATTEMPTS, || self.try_retract([scope, source_scope], ids, facts, current)).await?;
        retraction.records.extend(&retracted);
        Ok(!retracted.is_empty())
    }

    /// Returns the ids of the retracted records.
    async fn try_retract(
        &self,
        [scope, source_scope]: [&Scope; 2],
        ids: &[RecordId],
        facts: Facts,
        retraction: &Retraction,
    ) -> Result<Vec<RecordId>> {
        // Later rounds are for records derived from those of the first one, which the caller did not name.
        let is_first_round = retraction.records.is_empty();
        let mut source_ids: Vec<RecordId> = Vec::new();
        for source in self.retractable_records(source_scope, ids).await? {
            if !source_ids.contains(&source.id) {
                source_ids.push(source.id);
            }
        }
        if source_ids.is_empty() {
            return Ok(Vec::new());
        }
        // Records derived from them may be in another scope of the same user.
        let user = scope.namespace();
        let mut derived = self.record_store().derived(&user, &source_ids).await?;
        self.keep_facts(facts, &user, &mut derived).await?;
        let new_ids = derived.into_iter().filter(|id| !source_ids.contains(id));
        let all_ids: Vec<RecordId> = source_ids.iter().copied().chain(new_ids).collect();
        let records = self.retractable_records(&user, &all_ids).await?;
        // The other sources of derived records: their jobs run again, without the retracted sources.
        let mut remaining_sources: BTreeMap<Job, BTreeSet<RecordId>> = BTreeMap::new();
        let mut retracted = Vec::new();
        // The reason is deleted with any of these. The engine replaces profiles and summaries soon.
        let mut reason_sources = Vec::new();
        let mut writes = Vec::new();
        for mut record in records {
            let is_named = is_first_round && source_ids.contains(&record.id);
            if is_named || !self.is_rewritten(&record) {
                reason_sources.push(record.id);
            }
            if is_named && record.state == State::Pending {
                // Its sources are not processed again.
                record.metadata.insert(review_keys::REJECTED.into(), json!(true));
            } else if let Some(job) = Job::making(&record.kind) {
                let remaining = record.derived_from.iter().filter(|id| !all_ids.contains(id));
                remaining_sources.entry(job).or_default().extend(remaining);
            }
            let revision = record.revision;
            retracted.push(RetractedRecord::retract(&mut record, retraction));
            writes.push(Write::new(record, PutMode::Update { revision }));
        }
        for records in retracted.chunks(ENTRY_MAX_RECORDS) {
            writes.push(Write::new(self.ledger_entry(scope, retraction, records), PutMode::Create));
        }
        let is_of_caller = !retraction.reason.is_empty() && !is_own_reason(&retraction.reason);
        if is_of_caller && !reason_sources.is_empty() {
            writes.push(Write::new(self.reason_entry(scope, retraction, reason_sources), PutMode::Create));
        }
        let profiles = self.enrichment().turns().people_with_profiles(&user, &all_ids).await?;
        self.write(&user, writes).await?;
        self.enrichment().turns().renew_profiles(&profiles).await?;
        let retracted_ids: Vec<RecordId> = retracted.iter().map(|record| record.id).collect();
        for person in self.enrichment().turns().people_with_facts(scope, &retracted_ids).await? {
            self.enrichment().turns().reconcile_facts(&person).await?;
        }
        for (job, sources) in remaining_sources.into_iter().filter(|(job, _)| self.enrichment().does(*job)) {
            for page in sources.into_iter().collect::<Vec<_>>().chunks(PAGE_ROWS) {
                self.indexed_store().queue().enqueue(&user, page, job).await?;
            }
        }
        Ok(retracted_ids)
    }

    /// Removes facts from the derived records if the retraction keeps them.
    async fn keep_facts(&self, facts: Facts, user: &Scope, derived: &mut Vec<RecordId>) -> Result<()> {
        if facts == Facts::Kept {
            let records = self.indexed_store().get_all(user, derived).await?;
            let kept: Vec<RecordId> =
                records.iter().flatten().filter(|record| record.kind == Kind::FACT).map(|record| record.id).collect();
            derived.retain(|id| !kept.contains(id));
        }
        Ok(())
    }

    /// Returns the writes that reject one pending record.
    pub(crate) fn rejection_writes(&self, scope: &Scope, mut record: Record, reason: &str) -> [Write; 3] {
        let (id, at) = (RecordId::new(), self.clock().now());
        let retraction = Retraction { id, reason: reason.to_owned(), at, records: vec![record.id], expires_at: None };
        let mode = PutMode::Update { revision: record.revision };
        let entry = self.ledger_entry(scope, &retraction, &[RetractedRecord::retract(&mut record, &retraction)]);
        let reason = self.reason_entry(scope, &retraction, retraction.records.clone());
        record.metadata.insert(review_keys::REJECTED.into(), json!(true));
        [Write::new(record, mode), Write::new(entry, PutMode::Create), Write::new(reason, PutMode::Create)]
    }

    /// Returns the records with these ids that can be retracted.
    async fn retractable_records(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Record>> {
        let records = self.indexed_store().get_all(scope, ids).await?;
        Ok(records.into_iter().flatten().filter(is_retractable).collect())
    }

    /// Returns the entry of the ledger that stores a part of a retraction.
    fn ledger_entry(&self, scope: &Scope, retraction: &Retraction, records: &[RetractedRecord]) -> Record {
        let mut entry = self.empty_entry(scope, retraction, "records were taken back");
        if is_own_reason(&retraction.reason) {
            entry.metadata.insert(REASON_KEY.into(), json!(retraction.reason));
        }
        entry.metadata.insert("records".into(), json!(records));
        entry
    }

    /// Returns the entry of the ledger that stores the reason of a retraction. It is derived from the retracted
    /// records, so that every store deletes it together with any of them.
    fn reason_entry(&self, scope: &Scope, retraction: &Retraction, records: Vec<RecordId>) -> Record {
        let mut entry = self.empty_entry(scope, retraction, "the reason of a retraction");
        entry.metadata.insert(REASON_KEY.into(), json!(retraction.reason));
        entry.derived_from = records;
        entry
    }

    fn empty_entry(&self, scope: &Scope, retraction: &Retraction, text: &str) -> Record {
        let mut entry = Record::new(scope.clone(), Kind::ledger("retraction"), text, self.clock());
        entry.trust = Trust::Tool;
        entry.expires_at = retraction.expires_at;
        entry.metadata.insert(RETRACTION.into(), json!(retraction.id));
        entry
    }

    /// Restores the records of a retraction that have not changed since. Returns their number.
    ///
    /// # Errors
    /// `NotFound` if there is no such retraction within `scope`; the store's error.
    pub async fn restore(&self, scope: &Scope, retraction: RecordId) -> Result<u64> {
        let entries = self.ledger_entries(scope, Some(retraction)).await?;
        if entries.is_empty() {
            let message = format!("there is no retraction {retraction} here; `retractions` lists them");
            return Err(Error::new(ErrorKind::NotFound, "restore", message));
        }
        let retracted: Vec<RetractedRecord> = entries.iter().flat_map(records_of_entry).collect();
        let user = scope.namespace();
        let ids: Vec<RecordId> = retracted.iter().map(|record| record.id).collect();
        let stored = self.indexed_store().get_all(&user, &ids).await?;
        let is_unchanged = |record: &Record| {
            record.state == State::Revoked && record.metadata.get(RETRACTION) == Some(&json!(retraction))
        };
        let mut writes = Vec::new();
        for (record, retracted) in stored.into_iter().zip(&retracted) {
            let Some(mut record) = record.filter(is_unchanged) else { continue };
            // Summaries and profiles are written again, because newer ones may cover the same turns.
            let is_rewritten = self.is_rewritten(&record);
            let was_rejected = record.metadata.remove(review_keys::REJECTED).is_some();
            if is_rewritten && !was_rejected {
                continue;
            }
            let mode = PutMode::Update { revision: record.revision };
            retracted.restore(&mut record);
            writes.push(Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) });
        }
        let count = writes.len() as u64;
        self.write(&user, writes).await?;
        for person in self.enrichment().turns().people_with_facts(scope, &ids).await? {
            self.enrichment().turns().reconcile_facts(&person).await?;
        }
        let entry_ids: Vec<RecordId> = entries.iter().map(|entry| entry.id).collect();
        self.record_store().delete(&user, &entry_ids).await?;
        Ok(count)
    }

    /// Returns true for a summary or a profile that the engine derives again when its sources change.
    fn is_rewritten(&self, record: &Record) -> bool {
        let is_summary = record.kind == Kind::SUMMARY && record.trust == Trust::Derived;
        (is_summary && self.enrichment().does(Job::Summary)) || self.enrichment().turns().writes_profile(record)
    }

    /// Returns at most `limit` retractions that can be restored, the latest first.
    ///
    /// # Errors
    /// The store's error.
    pub async fn retractions(&self, scope: &Scope, limit: usize) -> Result<Vec<Retraction>> {
        let mut found: Vec<Retraction> = Vec::new();
        for entry in self.ledger_entries(scope, None).await? {
            let Some(id) = entry.metadata.get(RETRACTION).and_then(|id| serde_json::from_value(id.clone()).ok()) else {
                continue;
            };
            let records = records_of_entry(&entry).into_iter().map(|record| record.id);
            let reason = entry.metadata.get(REASON_KEY).and_then(Value::as_str).map(str::to_owned);
            match found.iter_mut().find(|retraction| retraction.id == id) {
                Some(retraction) => {
                    retraction.records.extend(records);
                    retraction.reason = reason.unwrap_or(std::mem::take(&mut retraction.reason));
                }
                None => {
                    let reason = reason.unwrap_or_default();
                    let records = records.collect();
                    found.push(Retraction { id, reason, at: entry.occurred_at, records, expires_at: None });
                }
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Returns the entries of one retraction, or of all of them, the latest first.
    async fn ledger_entries(&self, scope: &Scope, retraction: Option<RecordId>) -> Result<Vec<Record>> {
        let mut filter = Filter::eq(Field::Kind, Kind::ledger("retraction").as_str());
        if let Some(id) = retraction {
            filter = filter.and(Filter::eq(Field::Metadata(RETRACTION.into()), id.to_string().as_str()));
        }
        self.indexed_store().scan_all(scope, filter, Order::NewestFirst).await
    }
}

/// Returns true for a reason that is not the text of a caller.
fn is_own_reason(reason: &str) -> bool {
    matches!(reason, REWIND_REASON | TOPIC_REASON)
}

fn is_retractable(record: &Record) -> bool {
    matches!(record.state, State::Active | State::Superseded | State::Pending) && !record.kind.is_ledger()
}

fn records_of_entry(entry: &Record) -> Vec<RetractedRecord> {
    let records = entry.metadata.get("records").cloned().unwrap_or_default();
    serde_json::from_value(records).unwrap_or_default()
}
