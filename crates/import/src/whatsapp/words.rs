//! Words of WhatsApp in the languages of its app.

use memory_engine_text::data;
use serde::Deserialize;

/// Words that WhatsApp writes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatWords {
    pub(super) placeholders: Vec<String>,
    pub(super) joiners: Vec<String>,
    pub(super) after_time: Vec<String>,
    pub(super) day_parts: DayParts,
    pub(super) notices: Notices,
}

/// Words for a part of the day.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DayParts {
    morning: Vec<String>,
    evening: Vec<String>,
    noon: Vec<String>,
    night: Vec<String>,
}

/// Parts of notices, in lower case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notices {
    pub(super) parts: Vec<String>,
}

/// A part of the day, which decides the hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayPart {
    Morning,
    Evening,
    Noon,
    Night,
}

data!(pub(super) WORDS: ChatWords = "whatsapp.toml");

impl DayParts {
    /// Takes a part of the day from the beginning of a text.
    pub(super) fn take(&self, text: &mut &str) -> Option<DayPart> {
        let parts = [
            (&self.morning, DayPart::Morning),
            (&self.evening, DayPart::Evening),
            (&self.noon, DayPart::Noon),
            (&self.night, DayPart::Night),
        ];
        let found = parts.into_iter().flat_map(|(words, part)| words.iter().map(move |word| (word, part)));
        let (length, part) = found
            .filter_map(|(word, part)| Some((word_length(text, word)?, part)))
            .max_by_key(|(length, _)| *length)?;
        *text = &text[length..];
        Some(part)
    }
}

impl DayPart {
    /// Returns the hour of the day.
    pub(super) fn hour(self, hour: i8) -> i8 {
        match self {
            Self::Morning | Self::Night if hour == 12 => 0,
            Self::Evening if hour < 12 => hour + 12,
            Self::Noon if hour < 10 => hour + 12,
            Self::Night if (6..12).contains(&hour) => hour + 12,
            Self::Morning | Self::Evening | Self::Noon | Self::Night => hour,
        }
    }
}

/// Takes one of these words from the beginning of a text.
pub(super) fn take_word(text: &mut &str, words: &[String]) -> bool {
    let length = words.iter().filter_map(|word| word_length(text, word)).max();
    *text = &text[length.unwrap_or(0)..];
    length.is_some()
}

/// Returns the length of a word at the beginning of a text, without regard to case; `None` if the text begins with
/// another word.
fn word_length(text: &str, word: &str) -> Option<usize> {
    let mut rest = text.chars();
    for expected in word.chars() {
        let found = rest.next()?;
        if found != expected && !found.to_lowercase().eq(expected.to_lowercase()) {
            return None;
        }
    }
    let rest = rest.as_str();
    let continues = |c: char| c.is_alphabetic() && !is_ideograph(c);
    let is_cut = word.ends_with(continues) && rest.starts_with(continues);
    (!is_cut).then(|| text.len() - rest.len())
}

/// Returns true for characters that are written without spaces between words.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}
