//! Options of a story memory.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine::EnrichmentOptions;
use memory_engine_context::StorySections;
use memory_engine_summarizer::{Chunker, ExtractiveSummarizer, SummaryTrigger};

/// Options of a [`StoryMemory`](crate::StoryMemory).
///
/// ```
/// use memory_engine::{MemoryEngine, Scope};
/// use memory_engine_story::{MemoryMode, StoryMemory, StoryMessage, StoryOptions, StoryTurn, Wait, story_enrichment};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let engine = MemoryEngine::builder().in_memory().enrichment(story_enrichment(10)).build().await?;
/// let options = StoryOptions::default().with_kinds(["system_report"]).with_min_confidence(0.5).with_hops(1);
/// let memory = StoryMemory::new(engine, MemoryMode::Vector, options);
/// let branch = Scope::user("lin")?.with_session("story")?.with_branch("main")?;
///
/// let rumour = StoryMessage::timeline("m1", 1, "They say the ship sank.").with_kind("system_report");
/// assert!(memory.index(&branch, rumour.with_confidence(0.3), Wait::No).await.record.is_some());
/// let aside = StoryMessage::intervention("m2", 2, "Tell no one.");
/// assert!(memory.index(&branch, aside, Wait::No).await.record.is_none()); // not one of the kinds
/// let turn = StoryTurn::default().with_pending(["Did the ship sink?"]);
/// assert_eq!(memory.context(&branch, &turn).await.text, ""); // below the minimum confidence
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoryOptions {
    /// Limits of the sections in the prompt. Default: [`StorySections::default`], 1200 tokens.
    pub sections: StorySections,
    /// Kinds of messages that are indexed. Default: `None`, all kinds.
    pub kinds: Option<BTreeSet<String>>,
    /// Maximum number of relations between a named entity and a found one, 1 to 3. Default: 2.
    pub hops: u32,
    /// Minimum confidence of a snippet or relation, 0 to 1. Default: 0.
    pub min_confidence: f64,
    /// Half-life of the recency weight of a snippet. Default: 30 days.
    pub half_life: Duration,
    /// Lower limit of the recency weight, 0 to 1. With 1, age does not matter. Default: 0.8.
    pub min_recency_weight: f64,
}

impl Default for StoryOptions {
    fn default() -> Self {
        Self {
            sections: StorySections::default(),
            kinds: None,
            hops: 2,
            min_confidence: 0.0,
            half_life: Duration::from_secs(30 * 24 * 60 * 60),
            min_recency_weight: 0.8,
        }
    }
}

impl StoryOptions {
    /// Restricts the memory to messages of these kinds.
    #[must_use]
    pub fn with_kinds<T: Into<String>>(mut self, kinds: impl IntoIterator<Item = T>) -> Self {
        self.kinds = Some(kinds.into_iter().map(Into::into).collect());
        self
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the limits of the sections in the prompt.
        with_sections(sections: StorySections);
        /// Sets the maximum number of relations between a named entity and a found one.
        with_hops(hops: u32);
        /// Sets the minimum confidence.
        with_min_confidence(confidence: f64) => min_confidence = confidence;
    }

    /// Sets the half-life and the lower limit of the recency weight.
    #[must_use]
    pub fn with_recency(mut self, half_life: Duration, min_recency_weight: f64) -> Self {
        self.half_life = half_life;
        self.min_recency_weight = min_recency_weight;
        self
    }

    /// Returns true if messages of this kind are indexed.
    pub(crate) fn includes_kind(&self, kind: &str) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
    }
}

/// Returns the background jobs that a story memory needs: long messages in chunks, and a summary every `messages`
/// messages, both without a model.
pub fn story_enrichment(messages: usize) -> EnrichmentOptions {
    EnrichmentOptions::default()
        .with_chunks(Chunker::default())
        .with_summaries(Arc::new(ExtractiveSummarizer::default()))
        .with_trigger(SummaryTrigger::every_turns(messages))
}
