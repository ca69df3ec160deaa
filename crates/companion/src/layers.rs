//! The six layers of a companion's context.

use jiff::tz::TimeZone;
use memory_engine_context::{ContextPlan, Item, Layer, Overflow};
use memory_engine_core::Record;
use serde::{Deserialize, Serialize};

use crate::{CompanionState, MomentRule, Pack, Profile, moment};

/// How many tokens each layer may have, and all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Budgets {
    /// All together.
    pub limit: usize,
    /// Who the companion is. Never cut.
    pub persona: usize,
    /// How it is in this stage.
    pub stage: usize,
    /// What is known of the user.
    pub profile: usize,
    /// The key moments.
    pub key_memories: usize,
    /// The recent conversation.
    pub recent: usize,
    /// What else was said that belongs to the message.
    pub related: usize,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { limit: 15_000, persona: 1000, stage: 500, profile: 500, key_memories: 2000, recent: 5000, related: 3000 }
    }
}

impl Budgets {
    /// Another limit for all layers together.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// What a context is made of.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Material<'r> {
    /// How the relationship stands.
    pub state: CompanionState,
    /// What is known of the user: a record of the kind `profile`.
    pub profile: Option<Record>,
    /// The latest key moments, in the order of time.
    pub moments: Vec<Record>,
    /// The recent conversation without the message itself, in the order of time.
    pub recent: Vec<Record>,
    /// What was found for the message, best first.
    pub related: Vec<Record>,
    /// The key moment that may come.
    pub possible: Option<&'r MomentRule>,
}

impl Pack {
    /// The six layers, and the section of a key moment that may come behind them.
    ///
    /// The order in the text is the document's. What stays the same for many messages comes first: persona, stage, profile
    /// and key memories.
    pub fn plan(&self, material: &Material<'_>, zone: &TimeZone) -> ContextPlan {
        let (budgets, words, language) = (self.budgets, self.language.words(), self.language);
        let (chapter, stage) = self.stages.at(material.state.bond.affection);
        let layer = |name, budget, priority, heading: &str| {
            Layer::new(name, budget).with_priority(priority).with_heading(language.heading(heading))
        };
        let persona = Layer::text("persona", budgets.persona, self.persona.trim()).with_overflow(Overflow::NeverCut);
        let stage_text = Layer::text("stage", budgets.stage, stage.text.trim()).with_priority(50);
        let mut profile =
            layer("profile", budgets.profile, 40, words.profile).with_overflow(Overflow::TruncateAtSentence);
        if let Some(record) = &material.profile {
            let affection = record.metadata.get("affection").and_then(serde_json::Value::as_i64);
            // As it was when the profile was made, so that it stays the same until the next; not that of another stage.
            let affection = affection.and_then(|n| i32::try_from(n).ok()).filter(|n| self.stages.at(*n).0 == chapter);
            let affection = affection.unwrap_or(material.state.bond.affection);
            let text = Profile::of(record).section(language, affection, chapter, stage);
            profile = profile.with_items([Item::of(record, text)]);
        }
        let mut moments = layer("key_memories", budgets.key_memories, 30, words.key_memories).with_separator("\n\n");
        moments.heading.push('\n');
        moments =
            moments.with_items(material.moments.iter().map(|record| Item::of(record, self.key_memory(record, zone))));
        let recent = layer("recent", budgets.recent, 20, words.recent).with_items(
            material.recent.iter().map(|record| Item::of(record, moment::line(record, &self.name, language))),
        );
        let mut found: Vec<(usize, &Record)> = material.related.iter().enumerate().collect();
        found.sort_by_key(|(_, record)| record.position());
        let related = layer("related", budgets.related, 10, words.related).with_overflow(Overflow::DropLowestScore);
        let related = related.with_items(found.into_iter().map(|(rank, record)| {
            let day = language.day(record.occurred_at.in_zone(zone).date());
            let line = moment::line(record, &self.name, language);
            Item::of(record, format!("[{day}] {line}")).with_score(-(rank as f64))
        }));
        let possible = material.possible.map(|rule| rule.section(language)).unwrap_or_default();
        let possible = Layer::text("key_moment", 0, possible).with_overflow(Overflow::NeverCut);
        ContextPlan::new(budgets.limit)
            .with_layer(persona.stable())
            .with_layer(stage_text.stable())
            .with_layer(profile.stable())
            .with_layer(moments.stable())
            .with_layer(recent)
            .with_layer(related)
            .with_layer(possible)
    }

    /// A key moment with its name and its day above its messages.
    fn key_memory(&self, record: &Record, zone: &TimeZone) -> String {
        let marks = self.language.marks();
        let name = record.metadata.get("moment_name").and_then(serde_json::Value::as_str);
        let name = name.or(record.topic.as_deref()).unwrap_or_default();
        let name = memory_engine_context::quoted(&crate::profile::folded(name), &marks).replace(['[', ']'], "");
        let day = self.language.day(record.occurred_at.in_zone(zone).date());
        let (user, colon) = (self.language.words().user, self.language.words().colon);
        let begins = [format!("{user}{colon}"), format!("{}{colon}", self.name)];
        let mut text = format!("[{name} - {day}]");
        for line in record.text.lines().filter(|line| !line.trim().is_empty()) {
            let spoken = begins.iter().any(|begin| line.starts_with(begin.as_str()));
            text.push_str(if spoken { "\n" } else { "\n  " });
            text.push_str(&memory_engine_context::quoted(line, &marks));
        }
        text
    }
}
