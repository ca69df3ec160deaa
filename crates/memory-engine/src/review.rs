//! The review of memories before they count: listing, accepting and rejecting the pending ones.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Cursor, Error, ErrorKind, Field, Filter, Kind, Op, Outcome, PutMode, Record, RecordId, Result, RuleId, ScanQuery,
    Scope, State, Timestamp, Write, WriteResult, history::Edit,
};
use serde::Serialize;
use serde_json::Value;
use tracing::{Span, field::Empty};

pub use memory_engine_core::{ReviewMode, ReviewPolicy, ReviewSource, review_keys};

use crate::{
    engine::MemoryEngine,
    operations::Admin,
    retraction::{Retraction, note_retraction},
    turn::Turn,
    update::{EDITS_MAX_BYTES, MAX_EDITS},
    verb::verb,
};

/// Maximum number of retries after another writer changed the same records.
const MAX_RETRIES: usize = 5;
/// Maximum number of records that are accepted in one transaction.
const ACCEPT_BATCH_RECORDS: usize = 500;

/// A query for pending records. [`MemoryEngine::pending_reviews`] runs it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReviewQuery {
    /// Restricts to records of this source. Default: all.
    pub source: Option<ReviewSource>,
    /// Restricts to records of this kind. Default: all.
    pub kind: Option<Kind>,
    /// Restricts to records that occurred at this time or later. Default: all.
    pub since: Option<Timestamp>,
    /// Restricts to records that occurred before this time. Default: all.
    pub until: Option<Timestamp>,
    /// Maximum number of records of a page. Default: 100.
    pub limit: usize,
    /// Position after which the page begins. Default: the beginning.
    pub after: Option<Cursor>,
}

impl Default for ReviewQuery {
    fn default() -> Self {
        Self { source: None, kind: None, since: None, until: None, limit: 100, after: None }
    }
}

impl ReviewQuery {
    /// Restricts to records of this source.
    #[must_use]
    pub fn from_source(mut self, source: ReviewSource) -> Self {
        self.source = Some(source);
        self
    }

    /// Restricts to records of this kind.
    #[must_use]
    pub fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Restricts to records that occurred at this time or later.
    #[must_use]
    pub fn since(mut self, time: impl Into<Timestamp>) -> Self {
        self.since = Some(time.into());
        self
    }

    /// Restricts to records that occurred before this time.
    #[must_use]
    pub fn until(mut self, time: impl Into<Timestamp>) -> Self {
        self.until = Some(time.into());
        self
    }

    /// Sets the maximum number of records of a page.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Begins the page after this position, as in [`ReviewPage::next`].
    #[must_use]
    pub fn with_after(mut self, after: Option<Cursor>) -> Self {
        self.after = after;
        self
    }

    fn filter(&self) -> Filter {
        let mut filter = Filter::eq(Field::State, State::Pending.as_str());
        if let Some(source) = self.source {
            filter = filter.and(Filter::eq(Field::Metadata(review_keys::SOURCE.into()), source.as_str()));
        }
        if let Some(kind) = &self.kind {
            filter = filter.and(Filter::eq(Field::Kind, kind.as_str()));
        }
        if let Some(since) = self.since {
            filter = filter.and(Filter::compare(Field::OccurredAt, Op::Ge, since));
        }
        if let Some(until) = self.until {
            filter = filter.and(Filter::compare(Field::OccurredAt, Op::Lt, until));
        }
        filter
    }
}

/// A record that waits for a review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PendingMemory {
    /// The record.
    pub record: Record,
    /// Its source. `None` if it was stored as pending by an application.
    pub source: Option<ReviewSource>,
    /// The rule that made it, or `model`. Only facts have one.
    pub rule: Option<RuleId>,
    /// The records that it was derived from, as far as they are within the scope of the query.
    pub evidence: Vec<Evidence>,
}

/// A record that a pending one was derived from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// Its id.
    pub id: RecordId,
    /// Its text.
    pub text: String,
}

/// A page of pending records.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ReviewPage {
    /// The records, oldest first.
    pub pending: Vec<PendingMemory>,
    /// The position after which the next page begins; `None` for the last page.
    pub next: Option<Cursor>,
    /// Number of records that match the query, on all pages.
    pub total: u64,
}

/// The result of [`MemoryEngine::accept`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct ReviewReport {
    /// The records that count from now on. A fact among them may be superseded at once, by a later one.
    pub accepted: Vec<RecordId>,
    /// The ids that are not of pending records within the scope.
    pub skipped: Vec<RecordId>,
    /// The records that stay pending, because a text like theirs was [forgotten](MemoryEngine::forget).
    pub blocked: Vec<RecordId>,
}

/// The outcome of storing a record of a source that may be reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredRecord {
    /// The outcome of the write. `Unchanged` for a record that a person rejected or edited before.
    pub result: WriteResult,
    /// True if the write was made and the record waits for a review.
    pub is_pending: bool,
}

impl MemoryEngine {
    /// Returns the mode of each source of memories. [`Builder::review`](crate::Builder::review) sets it.
    pub fn review_policy(&self) -> &ReviewPolicy {
        self.policy_of_reviews()
    }

    /// Returns a page of the records within `scope` that wait for a review, oldest first. They are stored, and neither
    /// indexed nor recalled.
    ///
    /// ```
    /// use memory_engine::{
    ///     EnrichmentOptions, MemoryEngine, Scope,
    ///     review::{ReviewMode, ReviewPolicy, ReviewQuery, ReviewSource},
    /// };
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let policy = ReviewPolicy::default().with(ReviewSource::RuleFacts, ReviewMode::Review);
    /// let builder = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).review(policy);
    /// let memory = builder.build().await?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember(&lin, "I'm allergic to seafood. I live in Porto.").await?;
    /// memory.drain(&lin, |_| ()).await?;
    /// assert!(memory.facts(&lin).await?.is_empty());
    ///
    /// let page = memory.pending_reviews(&lin, &ReviewQuery::default()).await?;
    /// assert_eq!(page.total, 2);
    /// let (allergy, home) = (&page.pending[0], &page.pending[1]);
    /// assert_eq!(allergy.evidence[0].text, "I'm allergic to seafood. I live in Porto.");
    /// memory.accept(&lin, &[allergy.record.id]).await?;
    /// let rejection = memory.reject(&lin, &[home.record.id], "she only visits").await?;
    /// assert_eq!(memory.facts(&lin).await?[0].value, "seafood");
    ///
    /// memory.restore(&lin, rejection.id).await?; // it waits again
    /// memory.accept_edited(&lin, home.record.id, "Lisbon").await?;
    /// assert_eq!(memory.facts(&lin).attribute("home").await?[0].value, "Lisbon");
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn pending_reviews(&self, scope: &Scope, query: &ReviewQuery) -> Result<ReviewPage> {
        let note = |span: &Span, page: &ReviewPage| _ = span.record("records", page.pending.len());
        let work = self.acting(self.list_pending(scope, query));
        verb!("pending_reviews", scope, { limit = query.limit, records = Empty }, work, note)
    }

    async fn list_pending(&self, scope: &Scope, query: &ReviewQuery) -> Result<ReviewPage> {
        let scan = ScanQuery::oldest(query.limit).with_filter(query.filter()).with_after(query.after).counted();
        let page = self.indexed_store().scan(scope, &scan).await?;
        let now = self.clock().now();
        let records: Vec<Record> = page.records.into_iter().filter(|record| !record.is_expired(now)).collect();
        let source_ids: BTreeSet<RecordId> =
            records.iter().flat_map(|record| record.derived_from.iter().copied()).collect();
        let source_ids: Vec<RecordId> = source_ids.into_iter().collect();
        let sources = self.indexed_store().get_all(scope, &source_ids).await?;
        let texts: BTreeMap<RecordId, String> =
            sources.into_iter().flatten().map(|source| (source.id, source.text)).collect();
        let to_pending = |record: Record| {
            let evidence = record.derived_from.iter();
            let evidence = evidence.filter_map(|id| Some(Evidence { id: *id, text: texts.get(id)?.clone() })).collect();
            let rule = record.metadata.get("rule").and_then(Value::as_str);
            let rule = rule.filter(|_| record.kind == Kind::FACT).and_then(|rule| RuleId::new(rule.to_owned()).ok());
            PendingMemory { source: ReviewSource::of(&record), rule, evidence, record }
        };
        let pending = records.into_iter().map(to_pending).collect();
        Ok(ReviewPage { pending, next: page.next, total: page.total.unwrap_or_default() })
    }

    /// Accepts pending records within `scope`: they are indexed and count from now on, as if they had never waited. A
    /// fact supersedes the facts that it contradicts, or is superseded by a later one. Up to 500 records are accepted
    /// in one transaction.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing the same records.
    pub async fn accept(&self, scope: &Scope, ids: &[RecordId]) -> Result<ReviewReport> {
        let note = |span: &Span, report: &ReviewReport| _ = span.record("records", report.accepted.len());
        let work = self.acting(self.accept_records(scope, ids));
        verb!("accept", scope, { ids = ids.len(), records = Empty }, work, note)
    }

    async fn accept_records(&self, scope: &Scope, ids: &[RecordId]) -> Result<ReviewReport> {
        let mut report = ReviewReport::default();
        for ids in ids.chunks(ACCEPT_BATCH_RECORDS) {
            let mut retries = 0;
            let batch = loop {
                match self.try_accept(scope, ids).await {
                    Err(error) if error.kind() == ErrorKind::Conflict && retries < MAX_RETRIES => retries += 1,
                    outcome => break outcome?,
                }
            };
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
        for (id, record) in ids.iter().zip(self.indexed_store().get_all(scope, ids).await?) {
            match record.filter(|record| record.state == State::Pending && !record.is_expired(now)) {
                Some(_) if !seen.insert(*id) => {}
                Some(record) => accepted.push(activated(record)),
                None => report.skipped.push(*id),
            }
        }
        let ids: Vec<RecordId> = accepted.iter().map(|record| record.id).collect();
        let writes = self.enrichment().turns().acceptance(accepted, Vec::new()).await?;
        let written = self.write_accepted(scope, writes).await?;
        let is_blocked = |id: &RecordId| written.iter().any(|written| written.id == *id && is_blocked(written));
        (report.blocked, report.accepted) = ids.into_iter().partition(is_blocked);
        Ok(report)
    }

    /// Writes accepted records, with their jobs. If a text like that of one was forgotten, the facts are reconciled
    /// without it.
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

    /// Rejects pending records within `scope`. Records that are not pending are skipped. The turns that they were
    /// derived from are not processed again. [`restore`](Self::restore) makes the records of the returned retraction
    /// wait again.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing the same records.
    pub async fn reject(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        let work = self.acting(self.reject_records(scope, ids, reason));
        verb!("reject", scope, { ids = ids.len(), records = Empty }, work, note_retraction)
    }

    async fn reject_records(&self, scope: &Scope, ids: &[RecordId], reason: &str) -> Result<Retraction> {
        let records = self.indexed_store().get_all(scope, ids).await?.into_iter().flatten();
        let pending: Vec<RecordId> =
            records.filter(|record| record.state == State::Pending).map(|record| record.id).collect();
        self.retract_records(scope, &pending, reason).await
    }

    /// Accepts a pending record within `scope` with another text. Returns the id of the record that states it.
    ///
    /// - A **fact** is rejected, and a new fact with the same evidence, subject and attribute counts instead. `text` is
    ///   its value ("Lisbon") or a sentence ("I live in Lisbon"), as for [`update`](Self::update).
    /// - **Any other record** gets the new text in place and keeps its id.
    ///
    /// # Errors
    /// `NotFound` if there is no such record within `scope`; `InvalidInput` for an empty text and for a record that is
    /// not pending; `Conflict` if others keep changing the record, or a text like the new one was forgotten;
    /// `Unsupported` for a fact if the feature `enrichment` is off; the store's error.
    pub async fn accept_edited(&self, scope: &Scope, id: RecordId, text: impl Into<String>) -> Result<RecordId> {
        verb!("accept_edited", scope, {}, self.acting(self.accept_with_text(scope, id, text.into())))
    }

    pub(crate) async fn accept_with_text(&self, scope: &Scope, id: RecordId, text: String) -> Result<RecordId> {
        if text.trim().is_empty() {
            return Err(Error::invalid("review", "the new text is empty; `reject` rejects a pending memory"));
        }
        let text = self.indexed_store().screened_text(text);
        let mut retries = 0;
        loop {
            match self.try_accept_edited(scope, id, &text).await {
                Err(error) if error.kind() == ErrorKind::Conflict && retries < MAX_RETRIES => retries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_accept_edited(&self, scope: &Scope, id: RecordId, text: &str) -> Result<RecordId> {
        let Some(mut record) = self.indexed_store().get_unexpired(scope, &[id]).await?.pop().flatten() else {
            return Err(Error::new(ErrorKind::NotFound, "review", format!("there is no record {id} in this scope")));
        };
        if record.state != State::Pending {
            let message = format!("record {id} is {}, not pending; `update` corrects a memory that counts", record.state);
            return Err(Error::invalid("review", message));
        }
        let mut writes = Vec::new();
        let accepted = if record.text != text
            && record.kind == Kind::FACT
            && let Some(new) = self.enrichment().edited_fact(&record, text).await?
        {
            let new_id = new.id;
            writes.extend(self.rejection_writes(scope, record, EDIT_REASON));
            writes.extend(self.enrichment().turns().acceptance(Vec::new(), vec![new]).await?);
            new_id
        } else {
            if record.text != text {
                Edit::add_to(&mut record, self.clock().now(), MAX_EDITS, EDITS_MAX_BYTES);
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

    /// As [`remember`](Self::remember), for a statement of this source: if the policy reviews the source, the record is
    /// pending.
    ///
    /// # Errors
    /// As [`remember`](Self::remember); `Unauthorized` if the policy rejects the source.
    pub async fn remember_from(
        &self,
        source: ReviewSource,
        scope: &Scope,
        turn: impl Into<Turn>,
    ) -> Result<RecordId> {
        if self.review_policy().mode(source) == ReviewMode::Automatic {
            return self.remember(scope, turn).await;
        }
        let record = turn.into().into_record(scope, self.clock());
        verb!("remember_from", scope, {}, self.acting(self.remember_reviewed(source, scope, record)))
    }

    async fn remember_reviewed(&self, source: ReviewSource, scope: &Scope, record: Record) -> Result<RecordId> {
        let id = record.id;
        let stored = self.store_from(source, scope, vec![record], PutMode::Upsert).await?;
        if stored.iter().any(|stored| is_blocked(&stored.result)) {
            let message = format!("record {id} was forgotten and stays away");
            return Err(Error::new(ErrorKind::Conflict, "remember", message));
        }
        Ok(id)
    }

    /// Stores records of this source, as [`Admin::store_from`].
    pub(crate) async fn store_from(
        &self,
        source: ReviewSource,
        scope: &Scope,
        records: Vec<Record>,
        mode: PutMode,
    ) -> Result<Vec<StoredRecord>> {
        self.require_accepted_source(source)?;
        if self.review_policy().mode(source) == ReviewMode::Automatic {
            let written = self.store_records(scope, records, mode).await?;
            return Ok(written.into_iter().map(|result| StoredRecord { result, is_pending: false }).collect());
        }
        let mut records = records;
        for record in &mut records {
            self.indexed_store().check(record)?;
            // The stored records are screened, too, so that equal texts stay equal.
            self.indexed_store().screen(record)?;
        }
        let mut retries = 0;
        loop {
            match self.try_store_reviewed(source, scope, &records, mode).await {
                Err(error) if error.kind() == ErrorKind::Conflict && retries < MAX_RETRIES => retries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_store_reviewed(
        &self,
        source: ReviewSource,
        scope: &Scope,
        records: &[Record],
        mode: PutMode,
    ) -> Result<Vec<StoredRecord>> {
        let stored = self.stored_versions(records).await?;
        let mut results = Vec::with_capacity(records.len());
        let mut writes = Vec::new();
        for (record, stored) in records.iter().zip(stored) {
            let Some(record) = self.reviewed(source, record.clone(), stored.as_ref()) else {
                let revision = stored.map_or(0, |stored| stored.revision);
                let result = WriteResult::new(record.id, Outcome::Unchanged, revision, Vec::new());
                results.push((Some(result), false));
                continue;
            };
            // A record that is accepted meanwhile must not wait again.
            let mode = match (mode, stored) {
                (PutMode::Upsert, Some(stored)) => PutMode::Update { revision: stored.revision },
                (mode, _) => mode,
            };
            results.push((None, record.state == State::Pending));
            writes.push(Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) });
        }
        let mut written = self.write(scope, writes).await?.into_iter();
        let to_stored = |(result, is_pending): (Option<WriteResult>, bool)| {
            let result = result.or_else(|| written.next())?;
            let is_pending = is_pending && matches!(result.outcome, Outcome::Created | Outcome::Updated);
            Some(StoredRecord { result, is_pending })
        };
        Ok(results.into_iter().filter_map(to_stored).collect())
    }

    /// Checks that the policy does not reject a source.
    ///
    /// # Errors
    /// `Unauthorized` if it does.
    pub(crate) fn require_accepted_source(&self, source: ReviewSource) -> Result<()> {
        match self.review_policy().mode(source) {
            ReviewMode::Reject => Err(rejected(source)),
            _ => Ok(()),
        }
    }

    /// Returns the stored version of each record, if there is one at the same address.
    async fn stored_versions(&self, records: &[Record]) -> Result<Vec<Option<Record>>> {
        let mut ids_by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for record in records {
            ids_by_user.entry(record.scope.namespace()).or_default().push(record.id);
        }
        let mut stored: BTreeMap<(Scope, RecordId), Record> = BTreeMap::new();
        for (user, ids) in ids_by_user {
            for record in self.indexed_store().get_all(&user, &ids).await?.into_iter().flatten() {
                stored.insert((record.scope.clone(), record.id), record);
            }
        }
        Ok(records.iter().map(|record| stored.get(&(record.scope.clone(), record.id)).cloned()).collect())
    }

    /// Returns a record of a reviewed source as it is stored. `None` if the stored one stays as it is.
    fn reviewed(&self, source: ReviewSource, record: Record, stored: Option<&Record>) -> Option<Record> {
        let Some(stored) = stored else { return self.review_policy().apply(source, record) };
        // A reviewer has changed the text.
        let was_edited = Edit::all_of(stored).iter().any(|edit| edit.text == record.text);
        if stored.content_hash() != record.content_hash() {
            return if was_edited { None } else { self.review_policy().apply(source, record) };
        }
        match stored.state {
            State::Revoked if is_rejected(stored) => None,
            State::Active => Some(record),
            _ => self.review_policy().apply(source, record),
        }
    }
}

impl Admin {
    /// As [`MemoryEngine::store`], for records of this source, such as an import. If the
    /// [policy](MemoryEngine::review_policy) reviews the source, new and changed records are pending, and those that a
    /// person accepted, rejected or edited stay so.
    ///
    /// # Errors
    /// As [`MemoryEngine::store`]; `Unauthorized` if the policy rejects the source.
    pub async fn store_from(
        &self,
        source: ReviewSource,
        scope: &Scope,
        records: Vec<Record>,
        mode: PutMode,
    ) -> Result<Vec<StoredRecord>> {
        let count = records.len();
        let work = self.engine.acting(self.engine.store_from(source, scope, records, mode));
        verb!("admin.store_from", scope, { records = count }, work)
    }
}

/// The reason of the rejection of a fact that was accepted with another text.
const EDIT_REASON: &str = "accepted with another text";

fn rejected(source: ReviewSource) -> Error {
    let message = format!(
        "the review policy rejects {source}; nothing was stored. Set it to automatic, or to review to decide on each"
    );
    Error::new(ErrorKind::Unauthorized, "review", message)
}

fn is_blocked(written: &WriteResult) -> bool {
    matches!(written.outcome, Outcome::Blocked(_))
}

/// Returns true for a record that a person rejected.
fn is_rejected(record: &Record) -> bool {
    record.metadata.get(review_keys::REJECTED) == Some(&Value::Bool(true))
}

/// Returns a pending record as it is after acceptance.
fn activated(mut record: Record) -> Record {
    record.state = State::Active;
    record.metadata.remove(review_keys::SOURCE);
    record.metadata.remove(review_keys::REJECTED);
    record
}
