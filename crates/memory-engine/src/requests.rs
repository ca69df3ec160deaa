//! Acts on what a person says about the memory itself: "don't remember this", "forget what I said about my ex".

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use memory_engine_context::RequestNotice;
use memory_engine_core::{
    ContentHash, Field, Filter, FilterValue, Kind, Record, RecordId, Result, Role, ScanQuery, Scope, State, Tombstone,
};
use memory_engine_summarizer::NamedTopic;
use serde::{Deserialize, Serialize};

pub use memory_engine_summarizer::MemoryRequest;

use crate::{
    engine::MemoryEngine,
    history::retraction::{Facts, Retraction, TOPIC_REASON},
    verbs::{forget::Forget, verb::verb},
};

/// The kinds of records that can name a topic.
const NAMED_KINDS: [Kind; 3] = [Kind::TURN, Kind::FACT, Kind::NOTE];
/// Number of records that are read at a time.
const PAGE_ROWS: usize = 500;
/// Maximum number of samples of a notice.
const MAX_SAMPLES: usize = 3;
/// Number of latest retractions among which that of a topic is looked for.
const MAX_RETRACTIONS: usize = 200;
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
    /// message before it.
    pub fn find(enabled: &[Self], message: &str, previous: Option<&str>) -> Option<MemoryRequest> {
        if enabled.is_empty() {
            return None;
        }
        MemoryRequest::of_message(message, previous).filter(|request| enabled.contains(&Self::of(request)))
    }
}

/// Acts on requests of a person about the memory itself. [`MemoryEngine::requests`] returns it.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, context::RequestNotice};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "My landlord is called Otto.").await?;
/// let forgotten = memory.requests().forget_topic(&lin, "landlord", false).await?;
/// assert_eq!(forgotten, RequestNotice::Forgotten { topic: "landlord".into(), count: 1 });
/// assert!(memory.recall(&lin, "landlord").await?.hits.is_empty());
/// assert_eq!(memory.requests().restore_topic(&lin).await?, RequestNotice::Restored { count: 1 });
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct ChatRequests {
    pub(crate) engine: MemoryEngine,
}

/// The records that name a topic.
#[derive(Debug, Default)]
struct NamedRecords {
    ids: BTreeSet<RecordId>,
    /// Number of those that are not superseded.
    count: usize,
    samples: Vec<String>,
}

impl ChatRequests {
    /// Maximum number of memories that are forgotten without asking.
    pub const MAX_UNASKED: usize = 10;
    /// Time in which forgotten memories can be brought back. Then they are deleted.
    pub const UNDO_PERIOD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    /// Acts on a request within `scope`, and returns what the model is told. Records are not taken out here: the caller
    /// knows which ones belong to a message ([`block`](Self::block), [`take_out_latest`](Self::take_out_latest)).
    ///
    /// # Errors
    /// As [`forget_topic`](Self::forget_topic) and [`restore_topic`](Self::restore_topic).
    pub async fn act(&self, scope: &Scope, request: &MemoryRequest) -> Result<RequestNotice> {
        match request {
            MemoryRequest::OffTheRecord => Ok(RequestNotice::OffTheRecord),
            MemoryRequest::TakeOutPrevious => Ok(RequestNotice::PreviousTakenOut),
            MemoryRequest::Forget { topic, is_confirmed } => self.forget_topic(scope, topic, *is_confirmed).await,
            MemoryRequest::Undo => self.restore_topic(scope).await,
        }
    }

    /// Retracts the facts, notes and messages of the person within `scope` that name a topic by its words, the messages
    /// that state such facts, and the replies to them that name the topic. Other facts of these messages stay.
    ///
    /// More than [`MAX_UNASKED`](Self::MAX_UNASKED) are not retracted unless the person `is_confirmed` to agree. After
    /// [`UNDO_PERIOD`](Self::UNDO_PERIOD), they are deleted. All messages of the person are read.
    ///
    /// # Errors
    /// The store's; `Conflict` if others keep writing to the same records.
    pub async fn forget_topic(&self, scope: &Scope, topic: &str, is_confirmed: bool) -> Result<RequestNotice> {
        let work = self.engine.acting(self.forget_named(scope, topic, is_confirmed));
        verb!("forget_topic", scope, {}, work)
    }

    async fn forget_named(&self, scope: &Scope, topic: &str, is_confirmed: bool) -> Result<RequestNotice> {
        let named_topic = NamedTopic::new(topic);
        let topic = topic.to_owned();
        let NamedRecords { ids, count, samples } = self.named_records(scope, &named_topic).await?;
        if count == 0 {
            let count = self.lately_forgotten(scope, &named_topic).await?;
            return Ok(match count {
                0 => RequestNotice::NothingFound { topic },
                _ => RequestNotice::Forgotten { topic, count },
            });
        }
        if count > Self::MAX_UNASKED && !is_confirmed {
            return Ok(RequestNotice::AsksToForget { topic, count, samples });
        }
        let ids: Vec<RecordId> = ids.into_iter().collect();
        let undo_period = Some(Self::UNDO_PERIOD);
        self.engine.retract_records(scope, &ids, TOPIC_REASON, Facts::Kept, undo_period).await?;
        Ok(RequestNotice::Forgotten { topic, count })
    }

    /// Restores what was forgotten last within `scope`, if that is not longer ago than
    /// [`UNDO_PERIOD`](Self::UNDO_PERIOD).
    ///
    /// # Errors
    /// The store's.
    pub async fn restore_topic(&self, scope: &Scope) -> Result<RequestNotice> {
        verb!("restore_topic", scope, {}, self.engine.acting(self.restore_latest(scope)))
    }

    async fn restore_latest(&self, scope: &Scope) -> Result<RequestNotice> {
        let Some(latest) = self.latest_retraction(scope, Self::UNDO_PERIOD).await? else {
            return Ok(RequestNotice::NothingToRestore);
        };
        self.engine.restore_records(scope, latest.id).await?;
        let records = self.engine.get_all(&scope.namespace(), &latest.records).await?;
        // As many as were forgotten: chunks and summaries, and facts that another one supersedes, do not count.
        let is_counted = |record: &&Record| record.state == State::Active && NAMED_KINDS.contains(&record.kind);
        Ok(RequestNotice::Restored { count: records.iter().flatten().filter(is_counted).count() })
    }

    /// Keeps texts out of the memory: deletes the records with these ids at `address`, and blocks the ids for good, and
    /// the texts for imports and derived records.
    ///
    /// # Errors
    /// The store's.
    pub async fn block(&self, address: &Scope, texts: &[(RecordId, &str)]) -> Result<()> {
        let now = self.engine.settings().clock().now();
        let tombstone = |(id, text): &(RecordId, &str)| {
            let stored_text = self.engine.screening().mask(*text);
            Tombstone::new(*id, address.clone(), ContentHash::of(&stored_text), now)
        };
        let tombstones: Vec<Tombstone> =
            texts.iter().filter(|(_, text)| !text.trim().is_empty()).map(tombstone).collect();
        let work = self.engine.acting(self.engine.import_tombstones(address, &tombstones));
        verb!("block", address, { ids = texts.len() }, work).map(drop)
    }

    /// Deletes the latest message of the person at exactly this address, and what followed it.
    ///
    /// # Errors
    /// The store's.
    pub async fn take_out_latest(&self, address: &Scope) -> Result<()> {
        const MAX_REPLIES: usize = 20;
        let filter = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let mut newest = self.engine.scan(address, &ScanQuery::newest(MAX_REPLIES).with_filter(filter)).await?.records;
        newest.retain(|record| record.scope == *address);
        let Some(message) = newest.iter().position(is_from_person) else { return Ok(()) };
        let ids: Vec<RecordId> = newest[..=message].iter().map(|record| record.id).collect();
        self.engine.forget(address, Forget::Ids(ids)).await.map(drop)
    }

    /// Returns the records of a person that name a topic.
    async fn named_records(&self, scope: &Scope, topic: &NamedTopic) -> Result<NamedRecords> {
        let kinds = NAMED_KINDS.map(|kind| FilterValue::from(kind.as_str()));
        let states = [State::Active, State::Superseded, State::Pending].map(|state| FilterValue::from(state.as_str()));
        let filter = Filter::any_of(Field::Kind, kinds).and(Filter::any_of(Field::State, states));
        let mut query = ScanQuery::oldest(PAGE_ROWS).with_filter(filter);
        let mut named = NamedRecords::default();
        let mut sources: BTreeSet<RecordId> = BTreeSet::new();
        // By conversation: true if the latest message of the person names the topic.
        let mut is_answered: BTreeMap<Scope, bool> = BTreeMap::new();
        loop {
            let page = self.engine.scan(scope, &query).await?;
            for record in &page.records {
                let is_named =
                    if record.kind == Kind::FACT { topic.is_of_fact(record) } else { topic.is_named_in(&record.text) };
                let is_reply = record.kind == Kind::TURN && !is_from_person(record);
                if is_from_person(record) {
                    is_answered.insert(record.scope.clone(), is_named);
                }
                if is_named && (!is_reply || is_answered.get(&record.scope) == Some(&true)) {
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
        for source in self.engine.get_all(&scope.namespace(), &sources).await?.into_iter().flatten() {
            if source.kind == Kind::TURN && source.state == State::Active && scope.covers(&source.scope) {
                named.add(&source);
            }
        }
        Ok(named)
    }

    /// Returns the number of records that name a topic in the latest retraction, if it was just now.
    async fn lately_forgotten(&self, scope: &Scope, topic: &NamedTopic) -> Result<usize> {
        let Some(latest) = self.latest_retraction(scope, REPETITION_WINDOW).await? else { return Ok(0) };
        let records = self.engine.get_all(&scope.namespace(), &latest.records).await?;
        Ok(records.iter().flatten().filter(|record| topic.is_of_fact(record)).count())
    }

    /// Returns the latest retraction of a topic, if it is at most this long ago.
    async fn latest_retraction(&self, scope: &Scope, age: Duration) -> Result<Option<Retraction>> {
        let since = self.engine.settings().clock().now().before(age);
        let retractions = self.engine.list_retractions(scope, MAX_RETRACTIONS).await?;
        Ok(retractions.into_iter().find(|retraction| retraction.reason == TOPIC_REASON && retraction.at >= since))
    }
}

impl NamedRecords {
    fn add(&mut self, record: &Record) {
        if !self.ids.insert(record.id) || record.state == State::Superseded {
            return;
        }
        self.count += 1;
        if self.samples.len() < MAX_SAMPLES {
            self.samples.push(record.text.clone());
        }
    }
}

fn is_from_person(record: &Record) -> bool {
    record.kind == Kind::TURN && record.role.as_ref() == Some(&Role::USER)
}
