//! The words that English dates are made of.

use jiff::civil::Weekday;

use crate::calendar::{Part, Season};

pub(crate) fn part(word: &str) -> Option<Part> {
    match word {
        "morning" => Some(Part::Morning),
        "afternoon" => Some(Part::Afternoon),
        "evening" => Some(Part::Evening),
        "night" => Some(Part::Night),
        _ => None,
    }
}

pub(crate) fn season(word: &str) -> Option<Season> {
    match word {
        "spring" => Some(Season::Spring),
        "summer" => Some(Season::Summer),
        "autumn" | "fall" => Some(Season::Autumn),
        "winter" => Some(Season::Winter),
        _ => None,
    }
}

pub(crate) fn weekday(word: &str) -> Option<Weekday> {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let place = DAYS.iter().position(|day| *day == word)?;
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}

/// A month as it is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Month {
    pub(crate) number: i8,
    /// Not an abbreviation.
    pub(crate) full: bool,
    /// Whether the name is a verb, too.
    pub(crate) verb: bool,
}

pub(crate) fn month(word: &str) -> Option<Month> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let fits = |month: &&str| {
        *month == word || (word.len() == 3 && month.starts_with(word)) || (word == "sept" && *month == "september")
    };
    let place = MONTHS.iter().position(fits)?;
    let full = MONTHS[place] == word;
    Some(Month { number: i8::try_from(place).ok()? + 1, full, verb: matches!(word, "may" | "march" | "mar") })
}
