//! Facts: statements about a person, with the time in which each holds and the records that state it.

mod contradiction;

use std::future::IntoFuture;

use futures_util::{FutureExt, future::BoxFuture};
use memory_engine_core::{Record, RecordId, Result, RuleId, Scope, State, Timestamp};
use memory_engine_indexing::verb;
use memory_engine_summarizer::fact_keys;
use serde::{Deserialize, Serialize};
use tracing::{Span, field::Empty};

pub use memory_engine_summarizer::{FactEvidence, FactKind, Polarity, render};

pub use self::contradiction::contradict;

use crate::engine::MemoryEngine;

/// A statement about a person, with the time in which it holds.
///
/// ```
/// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope, facts::Fact};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "I'm allergic to seafood.").await?;
/// memory.drain(&lin, |_| ()).await?;
///
/// let facts: Vec<Fact> = memory.facts(&lin).await?;
/// assert_eq!((facts[0].subject.as_str(), facts[0].attribute.as_str()), ("user", "allergy"));
/// assert_eq!(facts[0].value, "seafood");
/// assert_eq!(facts[0].evidence[0].quote, "I'm allergic to seafood.");
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fact {
    /// The id of its record.
    pub id: RecordId,
    /// The fact as a sentence, in the language in which it was said.
    pub text: String,
    /// The person: `user` or a name, with a relative after a dot, as in `user.sister`.
    pub subject: String,
    /// The attribute: `home`, `allergy`, `favorite.food` …; `note` for a fact that was written by hand.
    pub attribute: String,
    /// The value of the attribute.
    pub value: String,
    /// Positive if the value holds, negative if it is denied.
    pub polarity: Polarity,
    /// The kind of fact.
    pub kind: FactKind,
    /// The time from which it holds: the stated time, or the time at which it was said.
    pub valid_from: Timestamp,
    /// The time at which it ended or will end; `None` if no end is known.
    pub valid_until: Option<Timestamp>,
    /// The newer fact that superseded it, if there is one.
    pub superseded_by: Option<RecordId>,
    /// The records that state it, with quotations.
    pub evidence: Vec<FactEvidence>,
    /// Confidence, 0 to 1.
    pub confidence: f64,
    /// The rule that extracted it, or `model`. `None` for facts that were written by hand or before rules had names.
    pub rule: Option<RuleId>,
}

impl Fact {
    /// Returns true if the fact holds at this time.
    pub fn holds_at(&self, time: Timestamp) -> bool {
        self.valid_from <= time && self.valid_until.is_none_or(|until| time < until)
    }

    /// Returns the fact that a record of kind `fact` states. A fact that was written by hand has the attribute `note`,
    /// and its text is the value.
    pub fn from_record(record: &Record) -> Self {
        let superseded_by = record.metadata.get(fact_keys::SUPERSEDED_BY).cloned();
        let superseded_by = superseded_by.and_then(|id| serde_json::from_value(id).ok());
        let evidence_of = |id: &RecordId| FactEvidence { record: *id, quote: String::new() };
        let mut fact = Self {
            id: record.id,
            text: record.text.clone(),
            subject: memory_engine_summarizer::ExtractedFact::USER.to_owned(),
            attribute: "note".to_owned(),
            value: record.text.clone(),
            polarity: Polarity::Positive,
            kind: FactKind::Fact,
            valid_from: record.valid_from.unwrap_or(record.occurred_at),
            valid_until: record.valid_until,
            superseded_by,
            evidence: record.derived_from.iter().map(evidence_of).collect(),
            confidence: record.confidence,
            rule: None,
        };
        if let Some(extracted) = memory_engine_summarizer::ExtractedFact::from_record(record) {
            fact.valid_from = extracted.begins();
            fact.subject = extracted.subject;
            fact.attribute = extracted.slot;
            fact.value = extracted.value;
            fact.polarity = extracted.polarity;
            fact.kind = extracted.kind;
            fact.evidence = extracted.evidence;
            fact.rule = extracted.rule;
        }
        fact
    }
}

/// A query for facts. [`MemoryEngine::facts`] creates one; awaiting it runs it.
#[derive(Debug, Clone)]
#[must_use = "a query does nothing until it is awaited"]
pub struct FactQuery {
    engine: MemoryEngine,
    scope: Scope,
    subject: Option<String>,
    attribute: Option<String>,
    validity: Validity,
}

/// The restriction of a query by time.
#[derive(Debug, Clone, Copy)]
enum Validity {
    /// Facts that hold now.
    Current,
    /// Facts that held at this time.
    At(Timestamp),
    /// Facts that hold, and facts that held before.
    Ever,
}

impl MemoryEngine {
    /// Returns the facts that hold now within `scope`, oldest first. The returned query can be narrowed down before
    /// it is awaited.
    ///
    /// ```
    /// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope, Timestamp, Turn, testing::ManualClock};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
    /// let lin = Scope::user("lin")?;
    /// let may: Timestamp = "2024-05-01".parse()?;
    /// let august: Timestamp = "2024-08-29".parse()?;
    /// memory.remember(&lin, Turn::user("I live in Porto.").at(may)).await?;
    /// memory.remember(&lin, Turn::user("I moved to Lisbon.").at(august)).await?;
    /// memory.drain(&lin, |_| ()).await?;
    ///
    /// assert_eq!(memory.facts(&lin).await?[0].value, "Lisbon");
    /// let then = memory.facts(&lin).about("user").as_of("2024-06-15".parse::<Timestamp>()?).await?;
    /// assert_eq!(then[0].value, "Porto");
    /// assert_eq!(then[0].valid_until, Some(august));
    /// assert_eq!(memory.facts(&lin).attribute("home").history().await?.len(), 2);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub fn facts(&self, scope: &Scope) -> FactQuery {
        FactQuery {
            engine: self.clone(),
            scope: scope.clone(),
            subject: None,
            attribute: None,
            validity: Validity::Current,
        }
    }
}

impl FactQuery {
    memory_engine_core::setters! {
        /// Restricts to facts about this subject: `user`, or a name. Default: everyone.
        about(subject: impl Into<String>) => subject = Some(subject.into());
        /// Restricts to facts of this attribute, as in [`Fact::attribute`]; `favorite` also means `favorite.food`.
        /// Default: all.
        attribute(attribute: impl Into<String>) => attribute = Some(attribute.into());
        /// Returns the facts that held at this time. Default: those that hold now, by the engine's clock.
        as_of(time: impl Into<Timestamp>) => validity = Validity::At(time.into());
    }

    /// Returns the facts that hold and those that held before, without facts that were merged into another one,
    /// retracted or corrected.
    pub fn history(mut self) -> Self {
        self.validity = Validity::Ever;
        self
    }

    /// Returns the records of the facts instead of the facts: with metadata, address and state.
    ///
    /// # Errors
    /// The store's error.
    pub async fn records(self) -> Result<Vec<Record>> {
        let pairs = self.run().await?;
        Ok(pairs.into_iter().map(|(record, _)| record).collect())
    }

    async fn run(self) -> Result<Vec<(Record, Fact)>> {
        let scope = self.scope.clone();
        let note = |span: &Span, facts: &Vec<(Record, Fact)>| _ = span.record("records", facts.len());
        verb!("facts", &scope, { records = Empty }, self.read(), note)
    }

    async fn read(self) -> Result<Vec<(Record, Fact)>> {
        let facts = self.engine.enrichment().turns().facts();
        let records = match self.validity {
            Validity::Current => facts.current(&self.scope).await?,
            Validity::At(_) | Validity::Ever => facts.history(&self.scope).await?,
        };
        let now = self.engine.settings().clock().now();
        let pairs = records.into_iter().filter(|record| !record.is_expired(now)).map(|record| {
            let fact = Fact::from_record(&record);
            (record, fact)
        });
        Ok(pairs.filter(|(record, fact)| self.includes(record, fact)).collect())
    }

    fn includes(&self, record: &Record, fact: &Fact) -> bool {
        let has_attribute = |name: &String| {
            let rest = fact.attribute.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_valid = match self.validity {
            Validity::Current => {
                let now = self.engine.settings().clock().now();
                record.state == State::Active && fact.valid_until.is_none_or(|end| end > now)
            }
            Validity::At(time) => fact.holds_at(time),
            Validity::Ever => true,
        };
        is_valid
            && self.subject.as_ref().is_none_or(|subject| fact.subject == *subject)
            && self.attribute.as_ref().is_none_or(has_attribute)
    }
}

impl IntoFuture for FactQuery {
    type Output = Result<Vec<Fact>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        async move { Ok(self.run().await?.into_iter().map(|(_, fact)| fact).collect()) }.boxed()
    }
}
