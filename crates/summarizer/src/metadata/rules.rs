//! Topic, entities and emotion by rules.

use async_trait::async_trait;
use memory_engine_core::{Language, Record, Result, text::normalize};
use memory_engine_intake::without_injected;

use crate::{
    metadata::{
        emotion::Emotions,
        entities::entities,
        types::{Described, MAX_TOPIC_CHARS, MetadataExtractor, TurnMetadata},
    },
    terms::key_phrases,
};

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
    pub(super) emotions: Emotions,
}

/// Maximum length of a text, in characters. The rest is ignored.
const TEXT_MAX_CHARS: usize = 8000;

impl RuleMetadata {
    /// Returns topic, entities and emotion of a text.
    pub fn describe(&self, text: &str) -> TurnMetadata {
        let text: String = without_injected(text).chars().take(TEXT_MAX_CHARS).collect();
        let separator = Language::of(&text).pick("、", ", ");
        let entities = entities(&text);
        // Names are often only forms of address. They are the topic only if there is no other key phrase.
        let is_name = |phrase: &String| entities.iter().any(|name| normalize(name) == *phrase);
        let phrases = key_phrases(&text, 4).into_iter().filter(|phrase| phrase.chars().count() <= MAX_TOPIC_CHARS);
        let (names, mut topics): (Vec<String>, Vec<String>) = phrases.partition(is_name);
        topics.extend(names);
        topics.truncate(2);
        let topic = topics.join(separator);
        TurnMetadata {
            topic: (!topic.is_empty()).then_some(topic),
            entities,
            emotion: self.emotions.of(&text).map(str::to_owned),
        }
    }
}

#[async_trait]
impl MetadataExtractor for RuleMetadata {
    async fn extract(&self, turns: &[Record]) -> Result<Described> {
        Ok(Described { turns: turns.iter().map(|turn| self.describe(&turn.text)).collect(), degraded: None })
    }
}
