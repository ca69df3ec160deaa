//! The words of Chinese dates.

use memory_engine_text::{Words, data};
use serde::Deserialize;

use crate::{
    calendar::{DayPart, Season},
    date_starts::{DateStart, first_characters},
    scan::Scan,
    units::UnitWords,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DateWords {
    pub(super) nights: Vec<NightWord>,
    pub(super) days: Vec<OffsetWord>,
    pub(super) weeks: Vec<OffsetWord>,
    pub(super) months: Vec<OffsetWord>,
    pub(super) years: Vec<OffsetWord>,
    pub(super) parts: Vec<PartWords>,
    pub(super) seasons: Vec<SeasonWords>,
    pub(super) units: Vec<UnitWords>,
    pub(super) weekdays: Words,
    pub(super) week_nouns: Words,
    pub(super) day_marks: Words,
    pub(super) ago: Words,
    pub(super) before: Words,
    pub(super) after: Words,
    pub(super) few: Words,
    pub(super) just_now: Words,
    pub(super) last_counted: Words,
    pub(super) lately: Words,
    pub(super) recent_days: Words,
    pub(super) recent_months: Words,
    pub(super) characters: BoundaryCharacters,
}

/// Characters next to a word that show whether it is a date; see the data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundaryCharacters {
    pub(super) after_week: String,
    pub(super) before_night: String,
    pub(super) after_month: String,
    pub(super) after_day_of_month: String,
    pub(super) after_year: String,
    pub(super) after_written_year: String,
    pub(super) before_unread_year: String,
    pub(super) before_month: String,
    pub(super) after_month_number: String,
    pub(super) before_ago: String,
    pub(super) after_ago: String,
    pub(super) after_just: String,
    pub(super) before_near: String,
    pub(super) before_lately: String,
    pub(super) after_nearest: String,
    pub(super) before_nearest: String,
    pub(super) sentence_start: String,
    pub(super) counted: String,
    pub(super) after_monday: String,
    pub(super) after_sunday: String,
    pub(super) after_sunday_as_heaven: String,
}

/// A word for a night, such as 昨晚, with the number of days from today.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NightWord {
    pub(super) word: String,
    pub(super) offset: i64,
    pub(super) part: DayPart,
}

/// A word for a day, week, month or year, with its offset from the current one in that unit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OffsetWord {
    word: String,
    pub(super) offset: i64,
    /// Characters before the word that make it part of another word: 目 before 前天.
    #[serde(default)]
    not_after: String,
    /// Characters after the word that make it part of another word.
    #[serde(default)]
    not_before: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartWords {
    pub(super) words: Words,
    pub(super) part: DayPart,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeasonWords {
    pub(super) words: Words,
    pub(super) season: Season,
}

data!(pub(super) WORDS: DateWords = "zh/dates.toml");

/// Returns the entry of the word at an index, and the index after it.
pub(super) fn offset_word<'w>(scan: &Scan, at: usize, words: &'w [OffsetWord]) -> Option<(&'w OffsetWord, usize)> {
    words.iter().find_map(|word| Some((word, scan.word(at, &word.word)?)))
}

/// Returns the starts of such words.
pub(super) fn offset_word_starts(words: &'static [OffsetWord]) -> Vec<DateStart> {
    first_characters(words.iter().map(|word| word.word.as_str()))
}

impl OffsetWord {
    /// Returns false if a character before or after the word makes it part of another word.
    pub(super) fn stands_alone(&self, scan: &Scan, at: usize, end: usize) -> bool {
        !scan.has_any_before(at, &self.not_after) && !scan.has_any(end, &self.not_before)
    }
}
