//! What the background makes of turns beside indexing them.

use std::sync::Arc;

use memory_engine_core::{Job, Result};
use memory_engine_llm::ChatModel;
use memory_engine_summarizer::{
    ChatFacts, ChatMetadata, ChatProfiles, ChatSummarizer, Chunker, ExtractiveSummarizer, FactExtractor,
    MetadataExtractor, ProfileSummarizer, RuleFacts, RuleMetadata, Summarizer, SummaryRequest, SummaryTrigger,
};

use crate::background::ProfileKeeper;

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
    profile_writer: Option<Arc<dyn ProfileSummarizer>>,
    profile_every: Option<usize>,
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
            .with_summaries(Arc::new(ChatSummarizer::new(Arc::clone(model))))
            .with_profile_writer(Arc::new(ChatProfiles::new(Arc::clone(model)))))
    }

    /// Cuts long turns into parts, each a record of the kind [`Kind::CHUNK`](crate::Kind::CHUNK) that is found by itself and cites the turn: what
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

    /// Keeps one record of the kind [`Kind::PROFILE`](memory_engine_core::Kind::PROFILE) for each user (and agent): what is known of
    /// them in a few lines, from the facts that hold and their latest 60 messages. It is made anew after every so many messages
    /// (1 at the least), and at the next message when something that it was made from holds no more; when that is deleted, at
    /// once. `by_model` has the model write it, everything else the rules, unless
    /// [`with_profile_writer`](Self::with_profile_writer) names somebody. The companion of `memory-engine-companion` keeps
    /// profiles of its own and needs none of these.
    pub fn with_profile(mut self, messages: usize) -> Self {
        self.profile_every = Some(messages.max(1));
        self
    }

    /// Who writes the profiles, where [`with_profile`](Self::with_profile) has them kept. Where it fails, the rules do.
    pub fn with_profile_writer(mut self, writer: Arc<dyn ProfileSummarizer>) -> Self {
        self.profile_writer = Some(writer);
        self
    }

    /// Who keeps profiles, if anybody does.
    pub(crate) fn keeper(&self) -> Option<ProfileKeeper> {
        let writer = self.profile_writer.clone();
        self.profile_every.map(|every| ProfileKeeper { writer, every })
    }

    /// The jobs that this is.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = Job> {
        let jobs = [
            self.chunker.is_some().then_some(Job::Chunks),
            self.metadata.is_some().then_some(Job::Metadata),
            self.facts.is_some().then_some(Job::Facts),
            self.summarizer.is_some().then_some(Job::Summary),
            self.profile_every.is_some().then_some(Job::Profile),
        ];
        jobs.into_iter().flatten()
    }
}
