//! The metadata of a turn, and the contract of its extraction.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Error, Record, Result};
use serde::{Deserialize, Serialize};

/// Maximum number of entities of a turn.
pub(super) const MAX_ENTITIES: usize = 12;
/// Maximum length of an entity, in characters.
pub(super) const MAX_ENTITY_CHARS: usize = 60;
/// Maximum length of a topic, in characters. Rules may join two topics.
pub(super) const MAX_TOPIC_CHARS: usize = 40;

/// Topic, entities and emotion of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TurnMetadata {
    /// The topic, in a few words.
    pub topic: Option<String>,
    /// The people, places and things that the turn names.
    pub entities: Vec<String>,
    /// The emotion of the speaker, by the names that injection rules use: `想念`, `难过`, `生气`, `开心` …
    pub emotion: Option<String>,
}

impl TurnMetadata {
    /// Fills the empty fields of a record. Returns true if that changed the record. Labels that a record cannot have
    /// ([`Record::is_valid_label`]) are left out.
    pub fn fill(&self, record: &mut Record) -> bool {
        let before = (record.topic.clone(), record.entities.clone(), record.emotion.clone());
        record.topic = record.topic.take().or_else(|| valid(self.topic.as_ref()));
        record.emotion = record.emotion.take().or_else(|| valid(self.emotion.as_ref()));
        if record.entities.is_empty() {
            record.entities = valid_labels(&self.entities);
        }
        before != (record.topic.clone(), record.entities.clone(), record.emotion.clone())
    }
}

/// Returns a label if a record can have it.
pub(crate) fn valid(label: Option<&String>) -> Option<String> {
    label.filter(|label| Record::is_valid_label(label)).cloned()
}

/// Returns the labels that a record can have.
pub(crate) fn valid_labels(labels: &[String]) -> Vec<String> {
    labels.iter().filter(|label| Record::is_valid_label(label)).cloned().collect()
}

/// The metadata of some turns.
#[derive(Debug, Default)]
pub struct Described {
    /// One for each turn, in their order.
    pub turns: Vec<TurnMetadata>,
    /// The reason why the model failed, in which case the rules were used.
    pub degraded: Option<Error>,
}

/// Extracts topic, entities and emotion of turns.
///
/// # Cancel safety
/// Dropping the future loses nothing.
#[async_trait]
pub trait MetadataExtractor: Debug + Send + Sync + 'static {
    /// Returns the metadata of each turn, in the order given. A turn without content gets empty metadata.
    ///
    /// # Errors
    /// None that turns could cause. An extractor whose service fails falls back to rules and sets
    /// [`Described::degraded`].
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
