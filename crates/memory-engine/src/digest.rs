//! What the background makes of turns beside indexing them.

use std::{collections::BTreeMap, sync::Arc};

use memory_core::{
    Error, ErrorKind, Field, Filter, Job, Kind, Record, RecordId, Result, Role, ScanQuery, Scope, State, Trust,
};
use memory_llm::ChatModel;
use memory_summarizer::{
    ChatFacts, ChatMetadata, ChatSummarizer, Chunker, ExtractiveSummarizer, FactExtractor, MetadataExtractor,
    RuleFacts, RuleMetadata, Summarizer, SummaryRequest, SummaryTrigger,
};

use crate::MemoryEngine;

const PAGE: usize = 500;

/// What the background makes of turns beside indexing them: nothing, unless told otherwise.
///
/// Each part works by rules, or by a model, whose failure leaves it to the rules. None of it is on the way of a write.
///
/// ```
/// use memory_engine::{Digest, MemoryEngine, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().digest(Digest::by_rules()?).build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "I'm allergic to seafood.").await?;
/// memory.drain(&lin, |_| ()).await?;
/// let known = memory.facts(&lin).await?;
/// assert_eq!(known[0].source.message_id, None);
/// assert_eq!(known[0].derived_from.len(), 1);
/// # Ok::<(), memory_engine::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Digest {
    pub(crate) chunker: Option<Chunker>,
    pub(crate) metadata: Option<Arc<dyn MetadataExtractor>>,
    pub(crate) facts: Option<Arc<dyn FactExtractor>>,
    pub(crate) summarizer: Option<Arc<dyn Summarizer>>,
    pub(crate) trigger: SummaryTrigger,
    pub(crate) request: SummaryRequest,
}

impl Digest {
    /// Long turns in parts, topic, entities and emotion of each turn, facts, and summaries: all by rules.
    ///
    /// # Errors
    /// `Internal` when the built-in patterns cannot be read.
    pub fn by_rules() -> Result<Self> {
        Ok(Self::default()
            .with_chunks(Chunker::default())
            .with_metadata(Arc::new(RuleMetadata::default()))
            .with_facts(Arc::new(RuleFacts::built_in()?))
            .with_summaries(Arc::new(ExtractiveSummarizer::default())))
    }

    /// The same by a model; where it fails, by rules.
    ///
    /// # Errors
    /// `Internal` when the built-in patterns cannot be read.
    pub fn by_model(model: &Arc<dyn ChatModel>) -> Result<Self> {
        Ok(Self::default()
            .with_chunks(Chunker::default())
            .with_metadata(Arc::new(ChatMetadata::new(Arc::clone(model), RuleMetadata::default())))
            .with_facts(Arc::new(ChatFacts::new(Arc::clone(model), RuleFacts::built_in()?)))
            .with_summaries(Arc::new(ChatSummarizer::new(Arc::clone(model)))))
    }

    /// Cuts long turns into parts, each a record of the kind [`Kind::CHUNK`] that is found by itself and cites the turn: what
    /// a page says in one sentence is near to a question, and the page as a whole is not.
    pub fn with_chunks(mut self, chunker: Chunker) -> Self {
        self.chunker = Some(chunker);
        self
    }

    /// Finds topic, entities and emotion of turns with this.
    pub fn with_metadata(mut self, metadata: Arc<dyn MetadataExtractor>) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Finds facts with this.
    pub fn with_facts(mut self, facts: Arc<dyn FactExtractor>) -> Self {
        self.facts = Some(facts);
        self
    }

    /// Summarizes with this.
    pub fn with_summaries(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// When a summary is due.
    pub fn with_trigger(mut self, trigger: SummaryTrigger) -> Self {
        self.trigger = trigger;
        self
    }

    /// How a summary is to be.
    pub fn with_request(mut self, request: SummaryRequest) -> Self {
        self.request = request;
        self
    }

    /// The jobs that this is.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = Job> {
        let jobs = [
            self.chunker.is_some().then_some(Job::Chunks),
            self.metadata.is_some().then_some(Job::Metadata),
            self.facts.is_some().then_some(Job::Facts),
            self.summarizer.is_some().then_some(Job::Summary),
        ];
        jobs.into_iter().flatten()
    }
}

impl MemoryEngine {
    /// Queues every turn within `scope` to be digested as if it were new, and counts them: for what was stored before there
    /// was a digest, or what was given up. What is known already is not found twice. [`drain`](Self::drain) waits for it.
    ///
    /// # Errors
    /// `Unsupported` when this engine digests nothing; the store's.
    pub async fn redigest(&self, scope: &Scope) -> Result<u64> {
        let jobs: Vec<Job> = self.jobs().into_iter().filter(|job| !Job::INDEXING.contains(job)).collect();
        if jobs.is_empty() {
            let message = "this engine makes nothing of turns; build it with a digest or a graph";
            return Err(Error::new(ErrorKind::Unsupported, "redigest", message));
        }
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let (mut count, mut scan) = (0, ScanQuery::oldest(PAGE).with_filter(turns));
        loop {
            let page = self.scan(scope, &scan).await?;
            // Conversation by conversation: what is digested together then belongs together.
            let mut conversations: BTreeMap<&Scope, Vec<RecordId>> = BTreeMap::new();
            for record in page.records.iter().filter(|record| is_said(record)) {
                conversations.entry(&record.scope).or_default().push(record.id);
            }
            for (address, ids) in conversations {
                for job in &jobs {
                    self.records().enqueue(address, &ids, *job).await?;
                }
                count += ids.len() as u64;
            }
            match page.next {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        self.wake();
        Ok(count)
    }
}

/// Whether a record is something that was said: only that is digested, no instructions, no tool's answer, nothing derived.
pub(crate) fn is_said(record: &Record) -> bool {
    let role = record.role.as_ref().map(Role::as_str);
    let instructs = matches!(role, Some("system" | "tool" | "developer" | "function"));
    record.kind == Kind::TURN && !instructs && !matches!(record.trust, Trust::Derived | Trust::Tool)
}
