//! How much of a story is kept and told.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine::EnrichmentOptions;
use memory_engine_context::StorySections;
use memory_engine_summarizer::{Chunker, ExtractiveSummarizer, SummaryTrigger};

/// How much of a story is kept and told.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope};
/// use memory_engine_story::{MemoryMode, StoryMemory, StoryMessage, StoryOptions, StoryTurn, Wait, story_digest};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let engine = MemoryEngine::builder().in_memory().enrichment(story_digest(10)).build().await?;
/// let options = StoryOptions::default().with_kinds(["system_report"]).with_min_confidence(0.5).with_hops(1);
/// let memory = StoryMemory::new(engine, MemoryMode::Vector, options);
/// let branch = Scope::user("lin")?.with_session("story")?.with_branch("main")?;
///
/// let rumour = StoryMessage::timeline("m1", 1, "They say the ship sank.").with_kind("system_report");
/// assert!(memory.index(&branch, rumour.with_confidence(0.3), Wait::No).await.record.is_some());
/// let aside = StoryMessage::intervention("m2", 2, "Nobody may know.");
/// assert!(memory.index(&branch, aside, Wait::No).await.record.is_none()); // a kind that is not kept
/// let turn = StoryTurn::default().with_pending(["Did the ship sink?"]);
/// assert_eq!(memory.context(&branch, &turn).await.text, ""); // not sure enough to be told
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoryOptions {
    /// How many snippets, entities and relations, and how long all of it.
    pub sections: StorySections,
    /// Which kinds of messages are kept; all, when there is no list.
    pub kinds: Option<BTreeSet<String>>,
    /// How many sentences are asked with, and so how often it is searched for one message.
    pub questions: usize,
    /// How many relations far the graph is looked at from what is named: 1 or 2, and no farther than 3.
    pub hops: u32,
    /// What is less sure than that is not told.
    pub min_confidence: f64,
    /// In which time half of what age can cost a snippet is lost.
    pub half_life: Duration,
    /// How much a snippet counts that is as old as can be, beside one of now; 1 leaves age out.
    pub oldest: f64,
}

impl Default for StoryOptions {
    fn default() -> Self {
        Self {
            sections: StorySections::default(),
            kinds: None,
            questions: 4,
            hops: 2,
            min_confidence: 0.0,
            half_life: Duration::from_secs(30 * 24 * 60 * 60),
            oldest: 0.8,
        }
    }
}

impl StoryOptions {
    /// With these sections.
    #[must_use]
    pub fn with_sections(mut self, sections: StorySections) -> Self {
        self.sections = sections;
        self
    }

    /// Keeps messages of these kinds, and passes over the others.
    #[must_use]
    pub fn with_kinds<T: Into<String>>(mut self, kinds: impl IntoIterator<Item = T>) -> Self {
        self.kinds = Some(kinds.into_iter().map(Into::into).collect());
        self
    }

    /// Asks with so many sentences.
    #[must_use]
    pub fn with_questions(mut self, questions: usize) -> Self {
        self.questions = questions;
        self
    }

    /// Looks so many relations far.
    #[must_use]
    pub fn with_hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// Tells nothing that is less sure.
    #[must_use]
    pub fn with_min_confidence(mut self, confidence: f64) -> Self {
        self.min_confidence = confidence;
        self
    }

    /// Prefers the new: what is older by `half_life` loses half of what age can cost, and the oldest counts `oldest`.
    #[must_use]
    pub fn with_freshness(mut self, half_life: Duration, oldest: f64) -> Self {
        (self.half_life, self.oldest) = (half_life, oldest);
        self
    }

    /// Whether messages of this kind are kept.
    pub(crate) fn keeps(&self, kind: &str) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
    }
}

/// Returns the background jobs that a story memory needs: long messages in chunks, and a summary every `messages`
/// messages, both without a model.
pub fn story_digest(messages: usize) -> EnrichmentOptions {
    EnrichmentOptions::default()
        .with_chunks(Chunker::default())
        .with_summaries(Arc::new(ExtractiveSummarizer::default()))
        .with_trigger(SummaryTrigger::every_turns(messages))
}
