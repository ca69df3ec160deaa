//! Acts on what a person says about the memory itself: "don't remember this", "forget what I said about my ex".

use std::{collections::BTreeSet, time::Duration};

use memory_engine_context::{RequestNotice, is_backchannel};
use memory_engine_core::{
    ContentHash, Field, Filter, FilterValue, Kind, PutMode, Record, RecordId, Result, Role, ScanQuery, Scope, State,
    Timestamp, Tombstone, fact_keys,
};
use memory_engine_summarizer::{MemoryRequest, NamedTopic};
use serde::{Deserialize, Serialize};

use crate::{
    curation::{Curation, PAGE_ROWS},
    retraction::{Facts, Retraction, TOPIC_REASON},
};

/// The kinds of records that can name a topic.
const NAMED_KINDS: [Kind; 3] = [Kind::TURN, Kind::FACT, Kind::NOTE];
/// Maximum number of memories that are forgotten without asking.
pub const MAX_UNASKED: usize = 10;
/// Time in which forgotten memories can be brought back. Then they are deleted.
pub const UNDO_PERIOD: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Maximum number of samples of a notice.
const MAX_SAMPLES: usize = 3;
/// Time in which a question of this program can be answered with a yes.
const QUESTION_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);
/// Time in which a repeated request counts as the same one, such as that of a client that retries.
const REPETITION_WINDOW: Duration = Duration::from_secs(600);

/// A kind of request that a person can make in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatCommand {
    /// Nothing of a message is stored, or the message before it is taken out.
    OffTheRecord,
    /// The memories of a topic are forgotten, and brought back.
    Forget,
}

impl ChatCommand {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::OffTheRecord, Self::Forget];

    /// Returns the kind of a request.
    #[must_use]
    pub fn of(request: &MemoryRequest) -> Self {
        match request {
            MemoryRequest::OffTheRecord | MemoryRequest::TakeOutPrevious => Self::OffTheRecord,
            MemoryRequest::Forget { .. } | MemoryRequest::Undo => Self::Forget,
        }
    }

    /// Returns the request in a message of a person, if its kind is one of `enabled`. `previous` is the person's
    /// message before it. It depends on the texts alone; in a chat, use [`Curation::find_request`].
    pub fn find(enabled: &[Self], message: &str, previous: Option<&str>) -> Option<MemoryRequest> {
        if enabled.is_empty() {
            return None;
        }
        MemoryRequest::of_message(message, previous).filter(|request| enabled.contains(&Self::of(request)))
    }
}

/// The records that name a topic.
#[derive(Debug, Default)]
struct NamedRecords {
    ids: BTreeSet<RecordId>,
    /// Number of those that are not superseded.
    count: usize,
    samples: Vec<String>,
}

impl Curation {
    /// Returns the request in a message of a person, as [`ChatCommand::find`] does. A yes is a request only if
    /// [`forget_topic`](Self::forget_topic) asked within `scope`: otherwise it answers something else.
    ///
    /// # Errors
    /// The store's.
    pub async fn find_request(
        &self,
        scope: &Scope,
        enabled: &[ChatCommand],
        message: &str,
        previous: Option<&str>,
    ) -> Result<Option<MemoryRequest>> {
        let found = ChatCommand::find(enabled, message, previous);
        if let Some(MemoryRequest::Forget { topic, is_confirmed: true }) = &found {
            let since = self.clock().now().before(QUESTION_PERIOD);
            let asked_at = self.marked_at(scope, &question_mark(topic)).await?;
            return Ok(found.filter(|_| asked_at.is_some_and(|at| at >= since)));
        }
        Ok(found)
    }

    /// Retracts the facts, notes and messages of the person within `scope` that name a topic by its words, the messages
    /// that state such facts, and the replies that name the topic. Other facts of these messages stay.
    ///
    /// If more than [`MAX_UNASKED`] memories name the topic, nothing is retracted unless
    /// `is_confirmed` is true; then the notice asks the person. After [`UNDO_PERIOD`], they are
    /// deleted. All messages of the person are read.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn forget_topic(&self, scope: &Scope, topic: &str, is_confirmed: bool) -> Result<RequestNotice> {
        let named_topic = NamedTopic::new(topic);
        let topic = topic.to_owned();
        let NamedRecords { ids, count, samples } = self.named_records(scope, &named_topic).await?;
        if ids.is_empty() {
            let count = self.lately_forgotten(scope, &named_topic).await?;
            return Ok(match count {
                0 => RequestNotice::NothingFound { topic },
                _ => RequestNotice::Forgotten { topic, count },
            });
        }
        if count > MAX_UNASKED && !is_confirmed {
            self.mark(scope, &question_mark(&topic)).await?;
            return Ok(RequestNotice::AsksToForget { topic, count, samples });
        }
        let ids: Vec<RecordId> = ids.into_iter().collect();
        let undo_period = Some(UNDO_PERIOD);
        self.retract_records(scope, &ids, TOPIC_REASON, Facts::Kept, undo_period).await?;
        Ok(RequestNotice::Forgotten { topic, count })
    }

    /// Restores what was forgotten last within `scope`, if that is not longer ago than [`UNDO_PERIOD`].
    ///
    /// # Errors
    /// The store's.
    pub async fn restore_topic(&self, scope: &Scope) -> Result<RequestNotice> {
        let Some(latest) = self.latest_retraction(scope, UNDO_PERIOD).await? else {
            return Ok(RequestNotice::NothingToRestore);
        };
        self.restore(scope, latest.id).await?;
        let records = self.indexed_store().get_unexpired(&scope.namespace(), &latest.records).await?;
        // As many as were forgotten: chunks and summaries, and facts that another one supersedes, do not count.
        let is_counted = |record: &&Record| NAMED_KINDS.contains(&record.kind) && !is_superseded(record);
        Ok(RequestNotice::Restored { count: records.iter().flatten().filter(is_counted).count() })
    }

    /// Keeps texts out of the memory: deletes the records with these ids at `address`, and blocks the ids for good, and
    /// the texts for imports and derived records. Empty texts and backchannels such as "ok" are not blocked. Returns
    /// the number of deleted records.
    ///
    /// # Errors
    /// The store's.
    pub async fn block_texts(&self, address: &Scope, texts: &[(RecordId, &str)]) -> Result<usize> {
        let now = self.clock().now();
        let mut tombstones = Vec::with_capacity(texts.len());
        for (id, text) in texts {
            // No record has an empty text.
            let text = if is_backchannel(text) { "" } else { *text };
            let stored_text = self.mask_within(address, text.to_owned()).await?;
            tombstones.push(Tombstone::new(*id, address.clone(), ContentHash::of(&stored_text), now));
        }
        let ids: Vec<RecordId> = texts.iter().map(|(id, _)| *id).collect();
        let stored = self.indexed_store().get_unexpired(address, &ids).await?.into_iter().flatten();
        let count = stored.filter(|record| record.scope == *address).count();
        self.import_tombstones(address, &tombstones).await?;
        Ok(count)
    }

    /// Returns the latest message of the person at exactly this address, and what followed it. Returns nothing if the
    /// same `request`, the words of the person, was [marked](Self::mark_taken_out) and the person has said nothing
    /// since: a client may repeat it.
    ///
    /// # Errors
    /// The store's.
    pub async fn latest_message(&self, address: &Scope, request: &str) -> Result<Vec<RecordId>> {
        let filter = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let mut query = ScanQuery::newest(PAGE_ROWS).with_filter(filter);
        let mut ids = Vec::new();
        let message = loop {
            let page = self.indexed_store().scan_unexpired(address, &query).await?;
            let mut turns = page.records.into_iter().filter(|record| record.scope == *address);
            if let Some(message) = turns.by_ref().inspect(|record| ids.push(record.id)).find(is_from_person) {
                break message;
            }
            match page.next {
                Some(next) => query = query.with_after(Some(next)),
                None => return Ok(Vec::new()),
            }
        };
        let handled_at = self.marked_at(address, &taken_out_mark(request)).await?;
        if handled_at.is_some_and(|at| message.recorded_at <= at) {
            return Ok(Vec::new());
        }
        Ok(ids)
    }

    /// Marks a request to take out a message as handled, together with all messages that are stored so far.
    ///
    /// # Errors
    /// The store's.
    pub async fn mark_taken_out(&self, address: &Scope, request: &str) -> Result<()> {
        self.mark(address, &taken_out_mark(request)).await
    }

    /// Stores the present time under a name.
    async fn mark(&self, scope: &Scope, name: &str) -> Result<()> {
        let clock = self.clock();
        let mut entry = Record::new(scope.clone(), Kind::ledger("request"), "a request was handled", clock);
        entry.id = RecordId::named(scope, name);
        let entries = self.fill_zones(vec![entry], PutMode::Upsert);
        self.store_records(scope, entries, PutMode::Upsert).await.map(drop)
    }

    async fn marked_at(&self, scope: &Scope, name: &str) -> Result<Option<Timestamp>> {
        let entry = self.indexed_store().get_one_unexpired(scope, RecordId::named(scope, name)).await?;
        Ok(entry.map(|entry| entry.occurred_at))
    }

    /// Returns the records of a person that name a topic.
    async fn named_records(&self, scope: &Scope, topic: &NamedTopic) -> Result<NamedRecords> {
        let kinds = NAMED_KINDS.map(|kind| FilterValue::from(kind.as_str()));
        let states = [State::Active, State::Superseded, State::Pending].map(|state| FilterValue::from(state.as_str()));
        let filter = Filter::any_of(Field::Kind, kinds).and(Filter::any_of(Field::State, states));
        let mut query = ScanQuery::oldest(PAGE_ROWS).with_filter(filter);
        let mut named = NamedRecords::default();
        let mut sources: BTreeSet<RecordId> = BTreeSet::new();
        loop {
            let page = self.indexed_store().scan_unexpired(scope, &query).await?;
            for record in &page.records {
                let is_named =
                    if record.kind == Kind::FACT { topic.is_of_fact(record) } else { topic.is_named_in(&record.text) };
                if is_named {
                    named.add(record);
                    if record.kind == Kind::FACT {
                        sources.extend(&record.derived_from);
                    }
                }
            }
            match page.next {
                Some(next) => query = query.with_after(Some(next)),
                None => break,
            }
        }
        let sources: Vec<RecordId> = sources.difference(&named.ids).copied().collect();
        for source in self.indexed_store().get_unexpired(&scope.namespace(), &sources).await?.into_iter().flatten() {
            let is_told = [Kind::TURN, Kind::NOTE].contains(&source.kind);
            if is_told && source.state == State::Active && scope.covers(&source.scope) {
                named.add(&source);
            }
        }
        Ok(named)
    }

    /// Returns the number of records that name a topic, with the sources of such facts, in the latest retraction, if it
    /// was just now.
    async fn lately_forgotten(&self, scope: &Scope, topic: &NamedTopic) -> Result<usize> {
        let Some(latest) = self.latest_retraction(scope, REPETITION_WINDOW).await? else { return Ok(0) };
        let mut records: Vec<Record> = self
            .indexed_store()
            .get_unexpired(&scope.namespace(), &latest.records)
            .await?
            .into_iter()
            .flatten()
            .collect();
        records.retain(|record| NAMED_KINDS.contains(&record.kind));
        let mut ids = BTreeSet::new();
        for record in records.iter().filter(|record| topic.is_of_fact(record)) {
            ids.insert(record.id);
            ids.extend(&record.derived_from);
        }
        let is_counted = |record: &&Record| ids.contains(&record.id) && !is_superseded(record);
        Ok(records.iter().filter(is_counted).count())
    }

    /// Returns the latest retraction of a topic, if it is at most this long ago.
    async fn latest_retraction(&self, scope: &Scope, age: Duration) -> Result<Option<Retraction>> {
        let since = self.clock().now().before(age);
        let retractions = self.retractions(scope, usize::MAX).await?;
        Ok(retractions.into_iter().find(|retraction| retraction.reason == TOPIC_REASON && retraction.at >= since))
    }
}

impl NamedRecords {
    fn add(&mut self, record: &Record) {
        if !self.ids.insert(record.id) || is_superseded(record) {
            return;
        }
        self.count += 1;
        if self.samples.len() < MAX_SAMPLES {
            self.samples.push(record.text.clone());
        }
    }
}

/// Returns true for a fact that another one replaces or repeats, also if it is retracted.
fn is_superseded(record: &Record) -> bool {
    let replacements = [fact_keys::SUPERSEDED_BY, fact_keys::MERGED_INTO];
    record.state == State::Superseded || replacements.iter().any(|key| record.metadata.contains_key(*key))
}

/// Names the mark of a question whether to forget a topic.
fn question_mark(topic: &str) -> String {
    format!("request/asked/{}", ContentHash::of(topic))
}

/// Names the mark of a request to take out the latest message.
fn taken_out_mark(request: &str) -> String {
    format!("request/taken-out/{}", ContentHash::of(request))
}

fn is_from_person(record: &Record) -> bool {
    record.kind == Kind::TURN && record.role.as_ref() == Some(&Role::USER)
}
