//! Entities and relations by rules, without a model.

mod chinese;
mod english;
mod sentences;
pub(crate) mod titles;
pub(crate) mod words;

use async_trait::async_trait;
use memory_engine_core::{Record, Result, phrases};

use crate::{EntityKind, Extraction, ExtractionLimits, GraphExtractor, Mention, Relation};

/// The relation between two entities of one sentence. It has no direction of its own: it goes from the lesser name to the
/// greater, so that the same two are always one edge.
pub const CO_OCCURS: &str = "appears with";

/// How many entities of one sentence are tied to each other; a list of more says nothing about any two of them.
const MAX_TIED: usize = 5;

/// Finds entities by rules, in Chinese and English, and calls those of one sentence connected.
///
/// Entities are what [`Record::entities`] says; works in `《》`; what is called by name ("名叫小石头"); English names, by their
/// capitals and titles, alone at the beginning of a sentence only when they stand inside another one, too; Chinese names by
/// surname and title (`王医生`), by surname where they come twice, and places and institutions by what they end with (`市`, `山`,
/// `公司` …). It would rather miss a name than invent one. It never fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleExtractor {
    limits: ExtractionLimits,
}

impl RuleExtractor {
    /// Takes at most so much from one record.
    #[must_use]
    pub fn with_limits(mut self, limits: ExtractionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What a text says, together with entities that are known to be in it.
    pub fn read(&self, text: &str, known: &[String]) -> Extraction {
        let mut mentions: Vec<Mention> = known.iter().map(|name| Mention::new(name, kind_of(name))).collect();
        mentions.extend(english::names(text));
        mentions.extend(chinese::names(text));
        let entities = Extraction { entities: mentions, relations: Vec::new() }.settled(&self.limits).entities;
        let mut relations = Vec::new();
        for sentence in sentences::of(text) {
            let folded = phrases::fold(sentence);
            let mut here: Vec<&Mention> = entities.iter().filter(|mention| stands_in(mention, &folded)).collect();
            if here.len() > MAX_TIED {
                continue;
            }
            here.sort_by_key(|mention| phrases::fold(&mention.name));
            for (n, one) in here.iter().enumerate() {
                relations.extend(here[n + 1..].iter().map(|other| Relation::new(&one.name, CO_OCCURS, &other.name)));
            }
        }
        Extraction { entities, relations }.settled(&self.limits)
    }
}

#[async_trait]
impl GraphExtractor for RuleExtractor {
    async fn extract(&self, record: &Record) -> Result<Extraction> {
        Ok(self.read(&record.text, &record.entities))
    }
}

fn stands_in(mention: &Mention, folded: &str) -> bool {
    [&mention.name].into_iter().chain(&mention.aliases).any(|name| {
        let name = phrases::fold(name);
        folded.match_indices(&name).any(|(start, found)| phrases::stands_alone(folded, start, start + found.len()))
    })
}

/// What sort of thing a name by itself says it is.
fn kind_of(name: &str) -> EntityKind {
    let by_chinese = chinese::kind_of(name);
    if by_chinese == EntityKind::Other { english::kind_of(name) } else { by_chinese }
}
