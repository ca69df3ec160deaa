//! Key moments, which are stored permanently: their rules, and the coarse filter that selects one for the model.

use std::collections::BTreeSet;

use memory_engine_core::{Language, Phrases, phrases::fold};
use serde::{Deserialize, Serialize};

use crate::{
    stage::MAX_AFFECTION,
    words::{heading, words},
};

/// Number of messages before the current one in which the coarse filter looks for the words of a key moment: three
/// rounds. The word that announces a moment and the sentence that completes it are often in different messages.
pub const FILTER_EARLIER_MESSAGES: usize = 6;

/// Maximum number of key moments that one prompt asks about.
pub const MAX_CANDIDATES: usize = 3;

/// The rule of a key moment: its conditions and outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MomentRule {
    /// The id, such as `first_meet`.
    pub id: String,
    /// The number by which the prompt refers to it.
    pub number: u32,
    /// The name.
    pub name: String,
    /// Minimum affection. Default: 0.
    #[serde(default)]
    pub from: i32,
    /// Maximum affection. Default: [`MAX_AFFECTION`].
    #[serde(default = "max_affection")]
    pub until: i32,
    /// The message, or one of the [`FILTER_EARLIER_MESSAGES`] before it, must contain one of these words. Default:
    /// empty, which allows any message.
    #[serde(default)]
    pub words: Vec<String>,
    /// The condition that the model judges.
    pub condition: String,
    /// Instructions for the model if the condition is met.
    pub guidance: String,
    /// The possible outcomes. If the model only says that the moment happened, the first one counts.
    pub outcomes: Vec<MomentOutcome>,
    /// Number of rounds of the conversation that are stored with the moment, including the last one. Default: 1.
    #[serde(default = "one_round")]
    pub rounds: usize,
}

/// An outcome of a key moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MomentOutcome {
    /// The name.
    pub name: String,
    /// Points of affection; may be negative.
    pub affection: i32,
    /// The status of the moment in the state, `completed` or `failed`. Default: `completed`.
    #[serde(default = "completed")]
    pub status: String,
}

fn max_affection() -> i32 {
    MAX_AFFECTION
}

fn one_round() -> usize {
    1
}

fn completed() -> String {
    "completed".into()
}

/// A key moment that the coarse filter selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MomentCandidate<'r> {
    /// The rule.
    pub rule: &'r MomentRule,
    /// Number of messages from the earliest one with a word of the rule to the current one. 0 means the current
    /// message.
    pub messages_back: usize,
}

impl MomentRule {
    /// Returns the key moments that a message may trigger, at most [`MAX_CANDIDATES`]: affection is within their range,
    /// they have not happened yet, and one of their words is in the message or in one of the last
    /// [`FILTER_EARLIER_MESSAGES`] of `earlier` (in the order of time, both speakers).
    ///
    /// Moments with more recent words come first. A rule without words is returned if no other one is.
    pub fn candidates<'r>(
        rules: &'r [Self],
        affection: i32,
        happened: &BTreeSet<String>,
        message: &str,
        earlier: &[&str],
    ) -> Vec<MomentCandidate<'r>> {
        let is_possible = |rule: &&Self| (rule.from..=rule.until).contains(&affection) && !happened.contains(&rule.id);
        let newest_first = [message].into_iter().chain(earlier.iter().rev().take(FILTER_EARLIER_MESSAGES).copied());
        let folded: Vec<String> = newest_first.map(fold).collect();
        let mut candidates: Vec<(usize, MomentCandidate<'r>)> = Vec::new();
        for rule in rules.iter().filter(is_possible) {
            let latest = folded.iter().position(|text| rule.has_word_in(text));
            let earliest = folded.iter().rposition(|text| rule.has_word_in(text));
            if let (Some(latest), Some(messages_back)) = (latest, earliest) {
                candidates.push((latest, MomentCandidate { rule, messages_back }));
            }
        }
        candidates.sort_by_key(|(latest, _)| *latest);
        candidates.truncate(MAX_CANDIDATES);
        if candidates.is_empty() {
            let fallback = rules.iter().filter(is_possible).find(|rule| rule.words.is_empty());
            return fallback.map(|rule| MomentCandidate { rule, messages_back: 0 }).into_iter().collect();
        }
        candidates.into_iter().map(|(_, candidate)| candidate).collect()
    }

    fn has_word_in(&self, folded: &str) -> bool {
        Phrases::new(&self.words).find_folded(folded).is_some()
    }

    /// Returns the section of the prompt about this moment. It ends with the format of the verdict.
    pub fn section(&self, language: Language) -> String {
        let words = words(language);
        let colon = words.colon;
        let mut text = format!(
            "{}{}{colon}#{} {}\n\n{}{colon}{}\n{}\n\n{}",
            heading(language, words.possible),
            words.possible_now,
            self.number,
            self.name,
            words.condition,
            self.condition.trim(),
            self.guidance.trim(),
            words.verdict,
        );
        let names = self.outcomes.iter().map(|outcome| (outcome.name.as_str(), outcome.name.as_str()));
        for (name, meaning) in names.chain([("none", words.otherwise)]) {
            let moment = serde_json::json!(self.id);
            let outcome = serde_json::json!(name);
            let quote = if meaning == name { ",\"quote\":\"…\"" } else { "" };
            let verdict = format!("{{\"moment\":{moment},\"outcome\":{outcome}{quote}}}");
            let meaning = if meaning == name { String::new() } else { format!(" ({meaning})") };
            text.push_str(&format!("\n<verdict>{verdict}</verdict>{meaning}"));
        }
        text
    }
}
