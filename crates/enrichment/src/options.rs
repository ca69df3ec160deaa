//! Settings of the background jobs.

use std::sync::Arc;

use memory_engine_core::Result;
use memory_engine_llm::ChatModel;
use memory_engine_summarizer::{
    ChatFacts, ChatMetadata, ChatProfiles, ChatSummarizer, Chunker, ExtractiveSummarizer, FactExtractor,
    MetadataExtractor, ProfileSummarizer, RuleFacts, RuleMetadata, Summarizer, SummaryTrigger,
};

/// The background jobs of an engine, other than indexing. Default: none.
///
/// Each job works by rules, or by a model with the rules as fallback. No write waits for one.
///
/// ```
/// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "I'm allergic to seafood.").await?;
/// memory.drain(&lin, |_| ()).await?;
/// let known = memory.facts(&lin).await?;
/// assert_eq!(known[0].value, "seafood");
/// assert_eq!(known[0].evidence[0].quote, "I'm allergic to seafood.");
/// # Ok::<(), memory_engine::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct EnrichmentOptions {
    pub(crate) chunker: Option<Chunker>,
    pub(crate) metadata: Option<Arc<dyn MetadataExtractor>>,
    pub(crate) facts: Option<Arc<dyn FactExtractor>>,
    pub(crate) summarizer: Option<Arc<dyn Summarizer>>,
    pub(crate) trigger: SummaryTrigger,
    pub(crate) profile_writer: Option<Arc<dyn ProfileSummarizer>>,
    pub(crate) profile_every: Option<usize>,
}

impl EnrichmentOptions {
    /// Creates options for chunks, metadata, facts and summaries, all by rules.
    ///
    /// # Errors
    /// `Internal` when the built-in patterns cannot be read.
    pub fn rules() -> Result<Self> {
        Ok(Self::default()
            .with_chunks(Chunker::default())
            .with_metadata(RuleMetadata::default())
            .with_facts(RuleFacts::built_in()?)
            .with_summaries(ExtractiveSummarizer::default()))
    }

    /// Creates options for extraction by a model, with the rules as fallback.
    ///
    /// # Errors
    /// `Internal` when the built-in patterns cannot be read.
    pub fn model(model: impl ChatModel) -> Result<Self> {
        let model = Arc::new(model);
        Ok(Self::default()
            .with_chunks(Chunker::default())
            .with_metadata(ChatMetadata::new(Arc::clone(&model), RuleMetadata::default()))
            .with_facts(ChatFacts::new(Arc::clone(&model), RuleFacts::built_in()?))
            .with_summaries(ChatSummarizer::new(Arc::clone(&model)))
            .with_profile_writer(ChatProfiles::new(model)))
    }

    memory_engine_core::setters! {
        /// Splits long turns into chunks, each a record of the kind [`Kind::CHUNK`](memory_engine_core::Kind::CHUNK)
        /// that cites the turn. Searches find a chunk by itself: one sentence of a page may be similar to a query that
        /// the page is not.
        with_chunks(chunker: Chunker) => chunker = Some(chunker);

        /// Extracts topic, entities and emotion of turns.
        with_metadata(metadata: impl MetadataExtractor) => metadata = Some(Arc::new(metadata));
        /// Extracts facts.
        with_facts(facts: impl FactExtractor) => facts = Some(Arc::new(facts));
        /// Summarizes conversations.
        with_summaries(summarizer: impl Summarizer) => summarizer = Some(Arc::new(summarizer));
        /// Sets when a summary is due.
        with_trigger(trigger: SummaryTrigger);

        /// Writes one record of the kind [`Kind::PROFILE`](memory_engine_core::Kind::PROFILE) for each user (and
        /// agent), in a few lines, from the current facts and the latest 60 messages. It is written again after this
        /// many messages (at least 1), at the next message if one of its sources is no longer active, and at once if
        /// one is deleted. The model of [`model`](Self::model) writes it, or the writer of
        /// [`with_profile_writer`](Self::with_profile_writer), or the rules. A companion keeps profiles of its own and
        /// needs none of these.
        with_profile(messages: usize) => profile_every = Some(messages.max(1));

        /// Sets the writer of profiles, with the rules as fallback. Without [`with_profile`](Self::with_profile) none
        /// are written.
        with_profile_writer(writer: impl ProfileSummarizer) => profile_writer = Some(Arc::new(writer));
    }
}
