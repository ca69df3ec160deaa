//! Facts that a question asks for in other words than those of the fact.

use memory_engine_context::is_question;
use memory_engine_core::{Record, Result, Scope, Timestamp};
use memory_engine_summarizer::{ExtractedFact, FactTopic};

use crate::engine::MemoryEngine;

impl MemoryEngine {
    /// Returns the facts that hold now and that a question asks for by its topic, newest first: the jobs of the user's
    /// sister for "What does my sister do?". The topics and their words are built in, in Chinese and English; no model
    /// is used. A question without such a topic gets no facts.
    ///
    /// ```
    /// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember(&lin, "My sister is a nurse in Lyon.").await?;
    /// memory.drain(&lin, |_| ()).await?;
    ///
    /// let facts = memory.topic_facts(&lin, "What does my sister do for a living?").await?;
    /// assert_eq!(facts[0].text, "The user's sister works as a nurse.");
    /// assert!(memory.topic_facts(&lin, "What does a plumber do?").await?.is_empty());
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn topic_facts(&self, scope: &Scope, question: &str) -> Result<Vec<Record>> {
        let topics = topics_of(question);
        if topics.is_empty() {
            return Ok(Vec::new());
        }
        let mut facts = self.facts(scope).records().await?;
        facts.reverse();
        Ok(facts_of_topics(facts, &topics, self.clock().now()))
    }
}

/// Returns the topics of a message about the user. Most topics only count in a question.
pub(crate) fn topics_of(message: &str) -> Vec<FactTopic> {
    if is_question(message) { FactTopic::of_question(message) } else { FactTopic::of_request(message) }
}

/// Returns the facts that hold at this time and belong to one of the topics, in their order.
pub(crate) fn facts_of_topics(facts: Vec<Record>, topics: &[FactTopic], now: Timestamp) -> Vec<Record> {
    let is_asked = |record: &Record| {
        record.valid_until.is_none_or(|until| now < until)
            && ExtractedFact::from_record(record).is_some_and(|fact| topics.iter().any(|topic| topic.includes(&fact)))
    };
    facts.into_iter().filter(is_asked).collect()
}
