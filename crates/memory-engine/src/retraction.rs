//! Verbs that retract records, so that they can be restored.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Error, ErrorKind, Field, Filter, Job, Kind, Op, Order, PutMode, Record, RecordId, Result, ScanQuery, Scope, State,
    Timestamp, Trust, Write,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::{Span, field::Empty};

use crate::{engine::MemoryEngine, verb::verb};

/// Maximum number of retries after another writer changed the same records.
const MAX_RETRIES: usize = 5;
/// Number of records that one entry of the ledger names.
const ENTRY_MAX_RECORDS: usize = 3000;
const PAGE_ROWS: usize = 500;

/// The part of a conversation to retract. In JSON `{"last": 2}` or `{"to": 7}`.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, Turn, history::Rewind};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let story = Scope::user("lin")?.with_session("story")?;
/// for (n, text) in [(1, "桥还在"), (2, "桥烧着了"), (3, "桥塌了")] {
///     memory.remember(&story, Turn::assistant(text).with_sequence(n)).await?;
/// }
///
/// memory.rewind(&story, Rewind::Last(1)).await?;
/// let retraction = memory.rewind(&story, Rewind::To(1)).await?;
/// assert_eq!(memory.recall(&story, "桥").await?.hits.len(), 1);
/// assert_eq!(memory.restore(&story, retraction.id).await?, 1); // undone
/// assert_eq!(memory.recall(&story, "桥").await?.hits.len(), 2);
///
/// let wrong = memory.remember(&story, "It was a ferry").await?;
/// let taken = memory.retract(&story, &[wrong], "a mistake").await?;
/// assert_eq!(memory.retractions(&story, 9).await?[0].reason, taken.reason);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rewind {
    /// Retract this many of its last turns.
    Last(usize),
    /// Retract everything after this sequence number.
    To(i64),
}

/// Records that were retracted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Retraction {
    /// The id that [`restore`](MemoryEngine::restore) takes.
    pub id: RecordId,
    /// The reason that the caller gave.
    pub reason: String,
    /// The time of the retraction.
    pub at: Timestamp,
    /// The retracted records, and those derived from them.
    pub records: Vec<RecordId>,
}

/// A retracted record in the ledger.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct RetractedRecord {
    id: RecordId,
    /// Its state before.
    state: State,
}

/// The metadata key under which an entry of the ledger, and every retracted record, names its retraction. A record
/// that was written again since no longer has it, also in a copy, where revisions begin at 1.
const RETRACTION: &str = "retraction";

impl MemoryEngine {
    /// Retracts the end of a conversation and everything derived from it. None of it is recalled once this returns.
    /// `scope` is an address (with session and branch, if there are any). If there is nothing to retract, the
    /// retraction is empty.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn rewind(&self, scope: &Scope, rewind: Rewind) -> Result<Retraction> {
        verb!("rewind", scope, { records = Empty }, self.retract_end(scope, rewind), note_retraction)
    }

    async fn retract_end(&self, scope: &Scope, rewind: Rewind) -> Result<Retraction> {
        let here = |record: &Record| record.scope == *scope && !record.kind.is_ledger();
        let (query, most) = match rewind {
            Rewind::Last(count) => (Filter::eq(Field::Kind, Kind::TURN.as_str()), count),
            Rewind::To(sequence) => (Filter::compare(Field::Sequence, Op::Gt, sequence as f64), usize::MAX),
        };
        let query = query.and(Filter::eq(Field::State, State::Active.as_str()));
        let mut ids = Vec::new();
        let mut scan = ScanQuery::newest(PAGE_ROWS).with_filter(query);
        while ids.len() < most {
            let page = self.indexed_store().scan(scope, &scan).await?;
            ids.extend(page.records.iter().filter(|record| here(record)).map(|record| record.id));
            match page.next {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        ids.truncate(most);
        self.retract_records(scope, &ids, "rewind").await
    }

    /// Retracts records within `scope` that are wrong, and everything derived from them: they stay stored, as
    /// [`State::Revoked`], and are no longer recalled. Records that are not there, or not active, are skipped.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn retract(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        let work = self.retract_records(scope, ids, reason);
        verb!("retract", scope, { ids = ids.len(), records = Empty }, work, note_retraction)
    }

    async fn retract_records(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        let mut retraction =
            Retraction { id: RecordId::new(), reason: reason.to_owned(), at: self.clock().now(), records: Vec::new() };
        let (user, mut meant) = (scope.namespace(), ids.to_vec());
        self.retract_some(scope, scope, &meant, &mut retraction).await?;
        // What was being derived from them meanwhile; nothing is derived from records that are not active.
        for _ in 0..MAX_RETRIES {
            meant.clone_from(&retraction.records);
            let late = self.record_store().derived(&user, &meant).await?;
            let late: Vec<RecordId> = late.into_iter().filter(|id| !meant.contains(id)).collect();
            if late.is_empty() || !self.retract_some(scope, &user, &late, &mut retraction).await? {
                break;
            }
        }
        self.indexed_store().wake();
        Ok(retraction)
    }

    /// Retracts those of these records that are within `reach` and notes them at `scope`. Returns true if there were
    /// any.
    async fn retract_some(
        &self,
        scope: &Scope,
        reach: &Scope,
        ids: &[RecordId],
        retraction: &mut Retraction,
    ) -> Result<bool> {
        let mut retries = 0;
        loop {
            match self.try_retract(scope, reach, ids, retraction).await {
                Err(error) if error.kind() == ErrorKind::Conflict && retries < MAX_RETRIES => retries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_retract(
        &self,
        scope: &Scope,
        reach: &Scope,
        ids: &[RecordId],
        retraction: &mut Retraction,
    ) -> Result<bool> {
        let mut meant: Vec<RecordId> = Vec::new();
        for record in self.indexed_store().get_all(reach, ids).await?.into_iter().flatten().filter(takes_part) {
            if !meant.contains(&record.id) {
                meant.push(record.id);
            }
        }
        if meant.is_empty() {
            return Ok(false);
        }
        // Records derived from them may live elsewhere in the memory of the same user.
        let user = scope.namespace();
        let derived = self.record_store().derived(&user, &meant).await?;
        let all: Vec<RecordId> =
            meant.iter().copied().chain(derived.into_iter().filter(|id| !meant.contains(id))).collect();
        let records: Vec<Record> =
            self.indexed_store().get_all(&user, &all).await?.into_iter().flatten().filter(takes_part).collect();
        let mut writes = Vec::new();
        let mut taken = Vec::new();
        let mut sources: BTreeMap<Job, BTreeSet<RecordId>> = BTreeMap::new();
        for mut record in records {
            if let Some(job) = Job::making(&record.kind) {
                sources.entry(job).or_default().extend(record.derived_from.iter().filter(|id| !all.contains(id)));
            }
            let revision = record.revision;
            taken.push(RetractedRecord { id: record.id, state: record.state });
            record.state = State::Revoked;
            record.metadata.insert(RETRACTION.into(), json!(retraction.id));
            writes.push(Write::new(record, PutMode::Update { revision }));
        }
        for taken in taken.chunks(ENTRY_MAX_RECORDS) {
            let mut entry =
                Record::new(scope.clone(), Kind::ledger("retraction"), "records were taken back", self.clock());
            entry.trust = Trust::Tool;
            entry.metadata.insert(RETRACTION.into(), json!(retraction.id));
            entry.metadata.insert("reason".into(), json!(retraction.reason));
            entry.metadata.insert("records".into(), json!(taken));
            writes.push(Write::new(entry, PutMode::Create));
        }
        let profiles = self.enrichment().turns().people_with_profiles(&user, &all).await?;
        self.write(&user, writes).await?;
        self.enrichment().turns().renew_profiles(&profiles).await?;
        let now: Vec<RecordId> = taken.iter().map(|taken| taken.id).collect();
        for person in self.enrichment().turns().people_with_facts(scope, &now).await? {
            self.enrichment().turns().reconcile_facts(&person).await?;
        }
        for (job, sources) in sources.into_iter().filter(|(job, _)| self.enrichment().does(*job)) {
            for page in sources.into_iter().collect::<Vec<_>>().chunks(PAGE_ROWS) {
                self.indexed_store().queue().enqueue(&user, page, job).await?;
            }
        }
        retraction.records.extend(now);
        Ok(true)
    }

    /// Restores the records of a retraction that were not changed since. Returns their number. Summaries that the
    /// engine writes by itself are queued instead.
    ///
    /// # Errors
    /// `NotFound` if there is no such retraction within `scope`; the store's error.
    pub async fn restore(&self, scope: &Scope, retraction: RecordId) -> Result<u64> {
        let note = |span: &Span, records: &u64| _ = span.record("records", *records);
        verb!("restore", scope, { records = Empty }, self.restore_records(scope, retraction), note)
    }

    async fn restore_records(&self, scope: &Scope, retraction: RecordId) -> Result<u64> {
        let entries = self.entries(scope, Some(retraction)).await?;
        if entries.is_empty() {
            let message = format!("there is no retraction {retraction} here; `retractions` lists them");
            return Err(Error::new(ErrorKind::NotFound, "restore", message));
        }
        let taken: Vec<RetractedRecord> = entries.iter().flat_map(read).collect();
        let user = scope.namespace();
        let ids: Vec<RecordId> = taken.iter().map(|taken| taken.id).collect();
        let found = self.indexed_store().get_all(&user, &ids).await?;
        let mut writes = Vec::new();
        for (record, taken) in found.into_iter().zip(&taken) {
            let by_this = |r: &Record| r.metadata.get(RETRACTION) == Some(&json!(retraction));
            let Some(mut record) = record.filter(|r| r.state == State::Revoked && by_this(r)) else {
                continue;
            };
            // Summaries and profiles are written again: others may cover by now what they covered.
            let made = record.kind == Kind::SUMMARY && record.trust == Trust::Derived;
            if (made && self.enrichment().does(Job::Summary)) || self.enrichment().turns().writes_profile(&record) {
                continue;
            }
            let mode = PutMode::Update { revision: record.revision };
            record.state = taken.state;
            record.metadata.remove(RETRACTION);
            writes.push(Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) });
        }
        let count = writes.len() as u64;
        self.write(&user, writes).await?;
        for person in self.enrichment().turns().people_with_facts(scope, &ids).await? {
            self.enrichment().turns().reconcile_facts(&person).await?;
        }
        let entries: Vec<RecordId> = entries.iter().map(|entry| entry.id).collect();
        self.record_store().delete(&user, &entries).await?;
        Ok(count)
    }

    /// Returns the retractions within `scope` that can be restored, the latest first, at most `limit`.
    ///
    /// # Errors
    /// The store's error.
    pub async fn retractions(&self, scope: &Scope, limit: usize) -> Result<Vec<Retraction>> {
        verb!("retractions", scope, { limit = limit }, self.list_retractions(scope, limit))
    }

    async fn list_retractions(&self, scope: &Scope, limit: usize) -> Result<Vec<Retraction>> {
        let mut found: Vec<Retraction> = Vec::new();
        for entry in self.entries(scope, None).await? {
            let Some(id) = entry.metadata.get(RETRACTION).and_then(|id| serde_json::from_value(id.clone()).ok()) else {
                continue;
            };
            let records = read(&entry).into_iter().map(|taken| taken.id);
            match found.iter_mut().find(|retraction| retraction.id == id) {
                Some(retraction) => retraction.records.extend(records),
                None => {
                    let reason = entry.metadata.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
                    found.push(Retraction { id, reason, at: entry.occurred_at, records: records.collect() });
                }
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn entries(&self, scope: &Scope, retraction: Option<RecordId>) -> Result<Vec<Record>> {
        let mut filter = Filter::eq(Field::Kind, Kind::ledger("retraction").as_str());
        if let Some(id) = retraction {
            filter = filter.and(Filter::eq(Field::Metadata(RETRACTION.into()), id.to_string().as_str()));
        }
        self.indexed_store().scan_all(scope, filter, Order::NewestFirst).await
    }
}

fn note_retraction(span: &Span, retraction: &Retraction) {
    span.record("records", retraction.records.len());
}

fn takes_part(record: &Record) -> bool {
    matches!(record.state, State::Active | State::Superseded) && !record.kind.is_ledger()
}

fn read(entry: &Record) -> Vec<RetractedRecord> {
    let records = entry.metadata.get("records").cloned().unwrap_or_default();
    serde_json::from_value(records).unwrap_or_default()
}
