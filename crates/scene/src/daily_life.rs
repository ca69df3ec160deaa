//! Recognises long plain messages about daily life, which do not belong to a play.

use std::collections::BTreeSet;

use memory_engine_core::{Phrases, text::is_han};
use memory_engine_text::data;
use serde::Deserialize;

use crate::message::Message;

/// Minimum length of a long message: Chinese characters count 1, other words count [`WORD_WEIGHT`].
const MIN_LENGTH: usize = 36;
const WORD_WEIGHT: usize = 2;
/// Minimum number of different topics of daily life.
const MIN_TOPICS: usize = 3;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LifeFile {
    /// Words of topics that a message about daily life names.
    topics: Vec<Topic>,
    /// Words of stories. A message with one of them is not about daily life.
    story_words: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Topic {
    id: String,
    words: Vec<String>,
}

#[derive(Debug)]
struct DailyLife {
    topics: Vec<(String, Phrases)>,
    story_words: Phrases,
}

data!(LIFE: LifeFile = "en/life.toml", "zh/life.toml");

static DAILY_LIFE: std::sync::LazyLock<DailyLife> = std::sync::LazyLock::new(|| DailyLife {
    topics: LIFE.topics.iter().map(|topic| (topic.id.clone(), Phrases::new(&topic.words))).collect(),
    story_words: Phrases::new(&LIFE.story_words),
});

/// Returns true for a message without speech, actions and parentheses that has some length, names several topics of
/// daily life and has no word of a story.
pub(crate) fn is_long_daily_life(message: &Message) -> bool {
    let text = message.sentences.iter().map(|sentence| sentence.text.as_str()).collect::<Vec<_>>().join(" ");
    if message.has_marks || length(&text) < MIN_LENGTH {
        return false;
    }
    let topics: BTreeSet<&str> = DAILY_LIFE
        .topics
        .iter()
        .filter(|(_, words)| words.find_folded(&text).is_some())
        .map(|(id, _)| id.as_str())
        .collect();
    topics.len() >= MIN_TOPICS && DAILY_LIFE.story_words.find_folded(&text).is_none()
}

fn length(text: &str) -> usize {
    let han = text.chars().filter(|c| is_han(*c)).count();
    let words = text.split_whitespace().filter(|word| word.chars().any(|c| c.is_alphabetic() && !is_han(c))).count();
    han + words * WORD_WEIGHT
}

#[cfg(test)]
mod tests;
