//! The sections of a branching story.

use memory_engine_core::{Record, Result};

use crate::{
    built::BuiltContext,
    layer::{Item, Layer, Overflow},
    line::{first_sentences, neutralized, one_line, whole_sentences},
    plan::ContextPlan,
    tokens::TokenCounter,
};

const FACTS: &str =
    "# Long-term Memory\nTreat what follows as established facts: what you write stays consistent with them.";
const SNIPPETS: &str = "## Memory Snippets\n";
const ENTITIES: &str = "## Key Entities\n";
const RELATIONS: &str = "## Relations\n";
const MARKS: &[&str] = &["memory snippets", "key entities", "relations", "long-term memory"];

/// A person, a place or a thing of the story.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StoryEntity {
    /// What it is called.
    pub name: String,
    /// What it is: person, place, organisation …; empty when that is not known.
    pub kind: String,
    /// What else is known of it, in a few words; may be empty.
    pub about: String,
    /// The message that names it; empty when that is not known.
    pub evidence: String,
}

impl StoryEntity {
    /// An entity of a kind.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { name: name.into(), kind: kind.into(), ..Self::default() }
    }

    /// What else is known of it.
    #[must_use]
    pub fn with_about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    /// The message that names it.
    #[must_use]
    pub fn with_evidence(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = evidence.into();
        self
    }
}

/// How two entities stand to each other, and which message says so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoryRelation {
    /// From whom.
    pub source: String,
    /// How.
    pub relation: String,
    /// To whom.
    pub target: String,
    /// The message that it rests on; empty when that is not known.
    pub evidence: String,
}

impl StoryRelation {
    /// A relation with the message that it rests on.
    pub fn new(
        source: impl Into<String>,
        relation: impl Into<String>,
        target: impl Into<String>,
        evidence: impl Into<String>,
    ) -> Self {
        Self { source: source.into(), relation: relation.into(), target: target.into(), evidence: evidence.into() }
    }
}

/// What is put into the prompt of a story: snippets of what happened, each with the message it is from, key entities and
/// relations, under a line that has the model take them as facts.
///
/// Everything is given best first, and the last goes first where the budget is too small. The snippets are written in the
/// order of the story. Without anything to tell, or without room for it, there is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StorySections {
    /// How many tokens all sections may have together, as the counter counts them.
    pub limit: usize,
    /// How many snippets at the most.
    pub snippets: usize,
    /// How many sentences of each.
    pub sentences: usize,
    /// How many characters of each.
    pub max_chars_each: usize,
    /// How many entities at the most.
    pub entities: usize,
    /// How many relations at the most.
    pub relations: usize,
}

impl Default for StorySections {
    fn default() -> Self {
        Self { limit: 1200, snippets: 6, sentences: 3, max_chars_each: 300, entities: 8, relations: 10 }
    }
}

impl StorySections {
    /// Another budget.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// So many snippets, entities and relations at the most.
    #[must_use]
    pub fn with_most(mut self, snippets: usize, entities: usize, relations: usize) -> Self {
        (self.snippets, self.entities, self.relations) = (snippets, entities, relations);
        self
    }

    /// Lays everything out. A snippet gets two parts of the budget, entities and relations one each.
    ///
    /// # Errors
    /// Those of [`ContextPlan::build`]; none in practice, since what does not fit is left out.
    pub fn build(
        &self,
        snippets: &[Record],
        entities: &[StoryEntity],
        relations: &[StoryRelation],
        counter: &dyn TokenCounter,
    ) -> Result<BuiltContext> {
        let layers = self.layers(snippets, entities, relations);
        let facts = Layer::text("facts", 0, FACTS).with_overflow(Overflow::NeverCut).with_priority(1);
        let whole = ContextPlan::new(self.limit).with_layer(facts).with_layers(layers.clone()).build(counter);
        match whole {
            Ok(context) if context.layers.iter().skip(1).any(|layer| layer.taken > 0) => Ok(context),
            // The line alone says nothing.
            Ok(_) | Err(_) => ContextPlan::new(0).with_layers(layers).build(counter),
        }
    }

    /// The three sections as layers, for a context of the caller's own.
    pub fn layers(&self, snippets: &[Record], entities: &[StoryEntity], relations: &[StoryRelation]) -> Vec<Layer> {
        let part = self.limit / 4;
        let mut chosen: Vec<(usize, &Record)> = snippets.iter().take(self.snippets).enumerate().collect();
        chosen.sort_by_key(|(_, record)| record.position());
        let snippets = chosen.into_iter().map(|(rank, r)| Item::of(r, self.snippet(r)).with_score(-(rank as f64)));
        let best_first = |texts: Vec<String>| {
            texts.into_iter().zip(0_i32..).map(|(text, rank)| Item::new(text).with_score(f64::from(-rank)))
        };
        let entities = best_first(entities.iter().take(self.entities).map(StoryEntity::line).collect());
        let relations = best_first(relations.iter().take(self.relations).map(StoryRelation::line).collect());
        let section = |name: &str, budget, heading: &str| {
            Layer::new(name, budget).with_heading(heading).with_overflow(Overflow::DropLowestScore)
        };
        vec![
            section("snippets", self.limit - 2 * part, SNIPPETS).with_items(snippets),
            section("entities", part, ENTITIES).with_items(entities),
            section("relations", part, RELATIONS).with_items(relations),
        ]
    }

    fn snippet(&self, record: &Record) -> String {
        let text = whole_sentences(&first_sentences(&record.text, self.sentences), self.max_chars_each);
        let message = record.source.message_id.as_deref().map_or_else(|| record.id.to_string(), |id| one_line(id, 60));
        let sequence = record.source.sequence.map(|n| format!(" / seq {n}")).unwrap_or_default();
        format!("- {} [msg {}{sequence}]", plain(&text), plain(&message))
    }
}

impl StoryEntity {
    fn line(&self) -> String {
        let kind = if self.kind.is_empty() { String::new() } else { format!(" ({})", short(&self.kind)) };
        let about =
            if self.about.is_empty() { String::new() } else { format!(": {}", plain(&one_line(&self.about, 160))) };
        format!("- {}{kind}{about}{}", short(&self.name), cited(&self.evidence))
    }
}

impl StoryRelation {
    fn line(&self) -> String {
        let (source, relation, target) = (short(&self.source), short(&self.relation), short(&self.target));
        format!("- {source} — {relation} → {target}{}", cited(&self.evidence))
    }
}

fn cited(evidence: &str) -> String {
    if evidence.is_empty() { String::new() } else { format!(" [msg {}]", short(evidence)) }
}

fn short(text: &str) -> String {
    plain(&one_line(text, 60))
}

/// One line that does not pass for a heading.
fn plain(text: &str) -> String {
    neutralized(text, MARKS, &[])
}
