//! What a turn is about, whom it names, and what feeling it shows.

mod chat;
mod emotion;
mod entities;

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Error, Record, Result, text::normalize};
use serde::{Deserialize, Serialize};

pub use chat::ChatMetadata;
pub use emotion::Emotions;

use crate::{Language, echo::without_injected, terms::key_phrases};

/// What a turn is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TurnMetadata {
    /// What it is about, in a few words.
    pub topic: Option<String>,
    /// The people, places and things it names.
    pub entities: Vec<String>,
    /// The feeling it shows, by the name that rules of injection know: `想念`, `难过`, `生气`, `开心` …
    pub emotion: Option<String>,
}

impl TurnMetadata {
    /// Writes it into a record, where the record says nothing itself; tells whether that changed anything.
    pub fn fill(&self, record: &mut Record) -> bool {
        let before = (record.topic.clone(), record.entities.clone(), record.emotion.clone());
        record.topic = record.topic.take().or_else(|| self.topic.clone());
        record.emotion = record.emotion.take().or_else(|| self.emotion.clone());
        if record.entities.is_empty() {
            record.entities.clone_from(&self.entities);
        }
        before != (record.topic.clone(), record.entities.clone(), record.emotion.clone())
    }
}

/// What was found of some turns.
#[derive(Debug, Default)]
pub struct Described {
    /// One for each turn, in their order.
    pub turns: Vec<TurnMetadata>,
    /// Why a model had no part in it, where one should have had: the rules have answered then.
    pub degraded: Option<Error>,
}

/// Finds out what turns are about.
///
/// # Cancel safety
/// Dropping the future loses nothing.
#[async_trait]
pub trait MetadataExtractor: Debug + Send + Sync + 'static {
    /// What each of some turns is about, aligned with them. A turn that says nothing gets empty metadata.
    ///
    /// # Errors
    /// None that turns could cause. An extractor that needs a service falls back and says so in [`Described::degraded`].
    async fn extract(&self, turns: &[Record]) -> Result<Described>;
}

const _: fn(&dyn MetadataExtractor) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: MetadataExtractor + ?Sized> MetadataExtractor for $pointer<T> {
            async fn extract(&self, turns: &[Record]) -> Result<Described> {
                (**self).extract(turns).await
            }
        }
    )*};
}

forward!(Arc, Box);

/// Finds topic, entities and emotion by rules and word lists, in Chinese and English.
///
/// ```
/// use memory_engine_summarizer::RuleMetadata;
///
/// let found = RuleMetadata::default().describe("今天不太开心，在虹桥火车站送走了小王");
/// assert_eq!(found.emotion.as_deref(), Some("难过"));
/// assert_eq!(found.entities, ["虹桥火车站", "小王"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct RuleMetadata {
    emotions: Emotions,
    known: Vec<String>,
}

/// How much of a long text is read.
const LONGEST: usize = 8000;
/// How many entities a turn has at the most.
pub(crate) const MOST_ENTITIES: usize = 12;

impl RuleMetadata {
    /// Other words for feelings.
    #[must_use]
    pub fn with_emotions(mut self, emotions: Emotions) -> Self {
        self.emotions = emotions;
        self
    }

    /// Names that are entities wherever they stand, such as the members of synonym groups.
    #[must_use]
    pub fn with_known(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.known = names.into_iter().map(Into::into).filter(|name: &String| !name.trim().is_empty()).collect();
        self
    }

    /// What a text is about.
    pub fn describe(&self, text: &str) -> TurnMetadata {
        let own = without_injected(text);
        let own: String = own.chars().take(LONGEST).collect();
        let separator = Language::of(&own).pick("、", ", ");
        let entities = entities::entities(&own, &self.known);
        // Who is addressed is not what is talked of; where nothing else is said, it is.
        let named = |phrase: &String| entities.iter().any(|name| normalize(name) == *phrase);
        let phrases = key_phrases(&own, 4);
        let (names, mut about): (Vec<String>, Vec<String>) = phrases.into_iter().partition(named);
        about.extend(names);
        about.truncate(2);
        let topic = about.join(separator);
        TurnMetadata {
            topic: (!topic.is_empty()).then_some(topic),
            entities,
            emotion: self.emotions.of(&own).map(str::to_owned),
        }
    }
}

#[async_trait]
impl MetadataExtractor for RuleMetadata {
    async fn extract(&self, turns: &[Record]) -> Result<Described> {
        Ok(Described { turns: turns.iter().map(|turn| self.describe(&turn.text)).collect(), degraded: None })
    }
}
