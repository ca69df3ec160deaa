//! The six layers of a companion's context.

use jiff::tz::TimeZone;
use memory_engine_context::{ContextPlan, Item, Layer, Overflow};
use memory_engine_core::Record;
use memory_engine_summarizer::{Profile, conversation_line, folded, reserved_headings};

use crate::{
    moment::MomentRule,
    pack::Pack,
    profile::profile_text,
    state::CompanionState,
    words::{day, heading, words},
};

/// The input of a context.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ContextInput<'r> {
    /// The current state of the relationship.
    pub state: CompanionState,
    /// The profile of the user: a record of the kind `profile`.
    pub profile: Option<Record>,
    /// The latest key moments, in the order of time.
    pub moments: Vec<Record>,
    /// The recent conversation without the message itself, in the order of time.
    pub recent: Vec<Record>,
    /// Pinned records, the latest first, and then related earlier messages, best first.
    pub related: Vec<Record>,
    /// The key moments that the message may trigger.
    pub possible: Vec<&'r MomentRule>,
}

impl Pack {
    /// Returns the plan of the six layers and the section of a possible key moment.
    ///
    /// Layers that stay the same over many messages come first: persona, stage, profile and key memories.
    pub fn plan(&self, input: &ContextInput<'_>, zone: &TimeZone) -> ContextPlan {
        let budgets = self.budgets;
        let language = self.language;
        let words = words(language);
        let (chapter, stage) = self.stages.at(input.state.bond.affection);
        let layer = |name, budget, priority, title: &str| {
            Layer::new(name, budget).with_priority(priority).with_heading(heading(language, title))
        };
        let persona = Layer::text("persona", budgets.persona, self.persona.trim()).with_overflow(Overflow::NeverCut);
        let stage_text = Layer::text("stage", budgets.stage, stage.text.trim()).with_priority(50);
        let mut profile =
            layer("profile", budgets.profile, 40, words.profile).with_overflow(Overflow::TruncateAtSentence);
        if let Some(record) = &input.profile {
            // Shows the affection at the time of the profile, so that the text stays the same until the next profile.
            // After a change of the stage, the current affection is shown.
            let stored = record.metadata.get("affection").and_then(serde_json::Value::as_i64);
            let stored = stored.and_then(|points| i32::try_from(points).ok());
            let stored = stored.filter(|points| self.stages.at(*points).0 == chapter);
            let affection = stored.unwrap_or(input.state.bond.affection);
            let text = profile_text(&Profile::of(record), language, affection, (chapter, stage));
            profile = profile.with_items([Item::of(record, text)]);
        }
        let mut moments = layer("key_memories", budgets.key_memories, 30, words.key_memories).with_separator("\n\n");
        moments.heading.push('\n');
        moments =
            moments.with_items(input.moments.iter().map(|record| Item::of(record, self.key_memory(record, zone))));
        let recent = layer("recent", budgets.recent, 20, words.recent).with_items(
            input.recent.iter().map(|record| Item::of(record, conversation_line(record, &self.name, language))),
        );
        let mut ranked: Vec<(usize, &Record)> = input.related.iter().enumerate().collect();
        ranked.sort_by_key(|(_, record)| record.position());
        let related = layer("related", budgets.related, 10, words.related).with_overflow(Overflow::DropLowestScore);
        let related = related.with_items(ranked.into_iter().map(|(rank, record)| {
            let day = day(language, record.said_at(zone).date());
            let line = conversation_line(record, &self.name, language);
            Item::of(record, format!("[{day}] {line}")).with_score(-(rank as f64))
        }));
        let possible: Vec<String> = input.possible.iter().map(|rule| rule.section(language)).collect();
        let possible = Layer::text("key_moment", 0, possible.join("\n\n")).with_overflow(Overflow::NeverCut);
        ContextPlan::new(budgets.limit)
            .with_layer(persona.stable())
            .with_layer(stage_text.stable())
            .with_layer(profile.stable())
            .with_layer(moments.stable())
            .with_layer(recent)
            .with_layer(related)
            .with_layer(possible)
    }

    /// Returns a key moment: a line with its name and day, then its messages.
    fn key_memory(&self, record: &Record, zone: &TimeZone) -> String {
        let reserved = reserved_headings(self.language);
        let name = record.metadata.get("moment_name").and_then(serde_json::Value::as_str);
        let name = name.or(record.topic.as_deref()).unwrap_or_default();
        let name = memory_engine_context::quoted(&folded(name), &reserved).replace(['[', ']'], "");
        let day = day(self.language, record.said_at(zone).date());
        let words = words(self.language);
        let speakers = [format!("{}{}", words.user, words.colon), format!("{}{}", self.name, words.colon)];
        let mut text = format!("[{name} - {day}]");
        for line in record.text.lines().filter(|line| !line.trim().is_empty()) {
            let starts_message = speakers.iter().any(|speaker| line.starts_with(speaker.as_str()));
            text.push(if starts_message { '\n' } else { ' ' });
            text.push_str(&memory_engine_context::quoted(line, &reserved));
        }
        text
    }
}
