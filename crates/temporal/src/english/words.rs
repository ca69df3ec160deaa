//! The words of English dates.

use std::collections::BTreeMap;

use jiff::civil::Weekday;
use memory_engine_text::{Words, data};
use serde::Deserialize;

use crate::{
    calendar::{DayPart, Season, Unit},
    units::UnitWords,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DateWords {
    pub(crate) units: Vec<UnitWords>,
    pub(crate) recent: Vec<RecentWords>,
    weekdays: Words,
    months: Words,
    verb_months: Words,
    pub(crate) ordinals: Words,
    pub(crate) before_month: Words,
    pub(crate) only_before_month: Words,
    pub(crate) before_year: Words,
    pub(crate) counted: Words,
    pub(crate) grammar: Words,
    pub(crate) numbers: BTreeMap<String, i64>,
    pub(crate) parts: BTreeMap<String, DayPart>,
    pub(crate) seasons: BTreeMap<String, Season>,
}

/// A phrase for a time shortly before now, with the longest time that it means: `count` units.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecentWords {
    pub(crate) phrase: Words,
    pub(crate) count: i64,
    pub(crate) unit: Unit,
}

data!(pub(crate) WORDS: DateWords = "en/dates.toml");

pub(crate) fn weekdays() -> impl Iterator<Item = &'static str> {
    WORDS.weekdays.iter()
}

pub(crate) fn weekday(word: &str) -> Option<Weekday> {
    let index = WORDS.weekdays.position(word)?;
    Weekday::from_monday_zero_offset(i8::try_from(index).ok()?).ok()
}

/// The name of a month.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Month {
    pub(crate) number: i8,
    /// True if the name is not abbreviated.
    pub(crate) full: bool,
    /// True if the name is also a verb.
    pub(crate) verb: bool,
}

/// Returns the spellings of a month: the name, its first three letters, and "sept".
fn spellings(month: &str) -> impl Iterator<Item = &str> {
    [Some(month), month.get(..3), (month == "september").then_some("sept")].into_iter().flatten()
}

/// Returns the spellings of all months.
pub(crate) fn month_names() -> impl Iterator<Item = &'static str> {
    WORDS.months.iter().flat_map(spellings)
}

pub(crate) fn month(word: &str) -> Option<Month> {
    let index = WORDS.months.iter().position(|month| spellings(month).any(|spelling| spelling == word))?;
    let full = WORDS.months.contains(word);
    Some(Month { number: i8::try_from(index).ok()? + 1, full, verb: WORDS.verb_months.contains(word) })
}
