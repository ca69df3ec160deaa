//! The memory sections in the prompt of a branching story: snippets, key entities and relations.

use memory_engine_core::{Record, Result};

use crate::{
    built::BuiltContext,
    layer::{Item, Layer, Overflow},
    line::{first_sentences, neutralized, one_line, whole_sentences},
    plan::ContextPlan,
    tokens::TokenCounter,
};

const INSTRUCTION: &str =
    "# Long-term Memory\nTreat what follows as established facts: what you write stays consistent with them.";
const SNIPPETS_HEADING: &str = "## Memory Snippets\n";
const ENTITIES_HEADING: &str = "## Key Entities\n";
const RELATIONS_HEADING: &str = "## Relations\n";
/// Headings that a memory must not contain in brackets.
const RESERVED_HEADINGS: &[&str] = &["memory snippets", "key entities", "relations", "long-term memory"];

/// A person, a place or a thing of the story.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StoryEntity {
    /// The name.
    pub name: String,
    /// The kind, such as `person`, `place` or `organisation`. Empty if unknown.
    pub kind: String,
    /// A short description. May be empty.
    pub about: String,
    /// The id of the message that names the entity. Empty if unknown.
    pub evidence: String,
}

impl StoryEntity {
    /// Creates an entity of this kind.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { name: name.into(), kind: kind.into(), ..Self::default() }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the description.
        with_about(about: impl Into<String>) => about = about.into();
        /// Sets the id of the message that names the entity.
        with_evidence(evidence: impl Into<String>) => evidence = evidence.into();
    }
}

/// A relation between two entities, with the message that states it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoryRelation {
    /// The name of the entity that the relation starts from.
    pub source: String,
    /// The relation, such as `friend of`.
    pub relation: String,
    /// The name of the entity that the relation points to.
    pub target: String,
    /// The id of the message that states the relation. Empty if unknown.
    pub evidence: String,
}

impl StoryRelation {
    /// Creates a relation with the id of the message that states it.
    pub fn new(
        source: impl Into<String>,
        relation: impl Into<String>,
        target: impl Into<String>,
        evidence: impl Into<String>,
    ) -> Self {
        Self { source: source.into(), relation: relation.into(), target: target.into(), evidence: evidence.into() }
    }
}

/// The form of a story's memories in a prompt: snippets of past events with the messages they are from, key entities
/// and relations, under an instruction to treat them as established facts.
///
/// Every input is given best first; if the budget is too small, the last are left out first. Snippets are written in
/// the order of the story. If nothing fits, the text is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StorySections {
    /// Maximum number of tokens of all sections together. Default: 1200.
    pub limit: usize,
    /// Maximum number of snippets. Default: 6.
    pub snippets: usize,
    /// Maximum number of sentences of one snippet. Default: 3.
    pub sentences: usize,
    /// Maximum number of characters of one snippet. Default: 300.
    pub max_chars_each: usize,
    /// Maximum number of entities. Default: 8.
    pub entities: usize,
    /// Maximum number of relations. Default: 10.
    pub relations: usize,
}

impl Default for StorySections {
    fn default() -> Self {
        Self { limit: 1200, snippets: 6, sentences: 3, max_chars_each: 300, entities: 8, relations: 10 }
    }
}

impl StorySections {
    /// Sets the maximum number of tokens of all sections together.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the maximum numbers of snippets, entities and relations.
    #[must_use]
    pub fn with_max_entries(mut self, snippets: usize, entities: usize, relations: usize) -> Self {
        self.snippets = snippets;
        self.entities = entities;
        self.relations = relations;
        self
    }

    /// Builds the sections. Snippets get half of the budget, entities and relations a quarter each.
    ///
    /// # Errors
    /// As [`ContextPlan::build`]. Not expected, since entries that do not fit are left out.
    pub fn build(
        &self,
        snippets: &[Record],
        entities: &[StoryEntity],
        relations: &[StoryRelation],
        counter: &dyn TokenCounter,
    ) -> Result<BuiltContext> {
        let layers = self.layers(snippets, entities, relations);
        let instruction = Layer::text("facts", 0, INSTRUCTION).with_overflow(Overflow::NeverCut).with_priority(1);
        let context = ContextPlan::new(self.limit).with_layer(instruction).with_layers(layers.clone()).build(counter);
        match context {
            Ok(context) if context.layers.iter().skip(1).any(|layer| layer.taken > 0) => Ok(context),
            // The instruction alone is useless.
            Ok(_) | Err(_) => ContextPlan::new(0).with_layers(layers).build(counter),
        }
    }

    /// Returns the three sections as layers, for a context that the caller builds.
    pub fn layers(&self, snippets: &[Record], entities: &[StoryEntity], relations: &[StoryRelation]) -> Vec<Layer> {
        let quarter = self.limit / 4;
        let mut selected: Vec<(usize, &Record)> = snippets.iter().take(self.snippets).enumerate().collect();
        selected.sort_by_key(|(_, record)| record.position());
        let snippets = selected.into_iter().map(|(rank, r)| Item::of(r, self.snippet(r)).with_score(-(rank as f64)));
        let best_first = |texts: Vec<String>| {
            texts.into_iter().zip(0_i32..).map(|(text, rank)| Item::new(text).with_score(f64::from(-rank)))
        };
        let entities = best_first(entities.iter().take(self.entities).map(StoryEntity::line).collect());
        let relations = best_first(relations.iter().take(self.relations).map(StoryRelation::line).collect());
        let section = |name: &str, budget, heading: &str| {
            Layer::new(name, budget).with_heading(heading).with_overflow(Overflow::DropLowestScore)
        };
        vec![
            section("snippets", self.limit - 2 * quarter, SNIPPETS_HEADING).with_items(snippets),
            section("entities", quarter, ENTITIES_HEADING).with_items(entities),
            section("relations", quarter, RELATIONS_HEADING).with_items(relations),
        ]
    }

    fn snippet(&self, record: &Record) -> String {
        let text = whole_sentences(&first_sentences(&record.text, self.sentences), self.max_chars_each);
        let message = record.source.message_id.as_deref().map_or_else(|| record.id.to_string(), |id| one_line(id, 60));
        let sequence = record.source.sequence.map(|n| format!(" / seq {n}")).unwrap_or_default();
        format!("- {} [msg {}{sequence}]", without_headings(&text), without_headings(&message))
    }
}

impl StoryEntity {
    fn line(&self) -> String {
        let kind = if self.kind.is_empty() { String::new() } else { format!(" ({})", short_line(&self.kind)) };
        let about = if self.about.is_empty() {
            String::new()
        } else {
            format!(": {}", without_headings(&one_line(&self.about, 160)))
        };
        format!("- {}{kind}{about}{}", short_line(&self.name), citation(&self.evidence))
    }
}

impl StoryRelation {
    fn line(&self) -> String {
        let source = short_line(&self.source);
        let relation = short_line(&self.relation);
        let target = short_line(&self.target);
        format!("- {source} — {relation} → {target}{}", citation(&self.evidence))
    }
}

/// Returns the id of a message as a suffix of a line. Empty without an id.
fn citation(evidence: &str) -> String {
    if evidence.is_empty() { String::new() } else { format!(" [msg {}]", short_line(evidence)) }
}

fn short_line(text: &str) -> String {
    without_headings(&one_line(text, 60))
}

/// Returns the text without anything that imitates a heading.
fn without_headings(text: &str) -> String {
    neutralized(text, RESERVED_HEADINGS, &[])
}
