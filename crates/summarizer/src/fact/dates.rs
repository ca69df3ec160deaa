//! Future dates of appointments.

use std::{collections::BTreeMap, ops::Range};

use jiff::{ToSpan, civil::Date, tz::TimeZone};
use memory_engine_core::Timestamp;
use memory_engine_temporal::{Exactness, TimeWindow, windows};
use memory_engine_text::Words;

use crate::data::{DataPattern, data};

/// Maximum number of days of a date: "this year" is no date of an appointment.
const PLAN_MAX_DAYS: i64 = 31;

/// The day or days of an appointment, from the start of the first one to the end of the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatePhrase {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) label: String,
}

data! {
    DATA = "zh/weekdays.toml", "en/weekdays.toml";
    DataPattern: weekday, zh_weekday;
    BTreeMap<String, i64>: days;
    Words: others, leads;
}

/// Returns the future dates in a sentence, each with its byte range, in order.
pub(super) fn future_dates(sentence: &str, said_at: Timestamp, zone: &TimeZone) -> Vec<(Range<usize>, DatePhrase)> {
    let today = said_at.in_zone(zone).date();
    let mut found: Vec<(Range<usize>, DatePhrase)> = Vec::new();
    for window in windows(sentence, said_at, zone).into_iter().filter(|window| window.exactness != Exactness::Rough) {
        let days = days(&window, &sentence[window.range.clone()], today, zone);
        let future_days = days.filter(|(_, next)| *next > today);
        let is_dated =
            |(first, next): &(Date, Date)| first.checked_add(PLAN_MAX_DAYS.days()).is_ok_and(|end| *next <= end);
        let phrase = future_days.filter(is_dated).and_then(|(first, next)| date_phrase(first, next, zone));
        found.extend(phrase.map(|phrase| (window.range, phrase)));
    }
    for (range, weekday) in weekdays(sentence) {
        let overlaps = found.iter().any(|(known, _)| known.start < range.end && range.start < known.end);
        let day = next_weekday(weekday, today).filter(|_| !overlaps);
        let phrase = day.and_then(|day| date_phrase(day, day.tomorrow().ok()?, zone));
        found.extend(phrase.map(|phrase| (range, phrase)));
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// Returns the first day of a window and the day after its last.
fn days(window: &TimeWindow, words: &str, today: Date, zone: &TimeZone) -> Option<(Date, Date)> {
    let first = window.from.in_zone(zone).date();
    let next = window.until.in_zone(zone).date();
    let year_later = first.checked_add(1.year());
    // The windows of `temporal` take a day without a year as the latest past one. A plan is for the next one.
    let is_named_month = next.since(first).is_ok_and(|length| length.get_days() >= 28) && !words.contains("month");
    let is_past_without_year = window.relative
        && next <= today
        && year_later.as_ref().is_ok_and(|later| *later >= today)
        && (is_named_month || words.contains(|c: char| c.is_ascii_digit() || "月号日".contains(c)));
    if is_past_without_year { year_later.ok().zip(next.checked_add(1.year()).ok()) } else { Some((first, next)) }
}

/// Returns the next day of that weekday, today included. Monday is 0.
fn next_weekday(weekday: i64, today: Date) -> Option<Date> {
    let ahead = (weekday - i64::from(today.weekday().to_monday_zero_offset())).rem_euclid(7);
    today.checked_add(ahead.days()).ok()
}

/// Returns the weekdays without a week, such as "on Friday". A plan means the next one. Monday is 0.
fn weekdays(sentence: &str) -> impl Iterator<Item = (Range<usize>, i64)> {
    let all = DATA.zh_weekday.captures_iter(sentence).chain(DATA.weekday.captures_iter(sentence));
    all.filter_map(|found| {
        let lead = found.name("lead").map_or("", |lead| lead.as_str()).trim().to_lowercase();
        let day = *DATA.days.get(&found["day"].to_lowercase())?;
        let whole = found.get(0)?;
        let named = found.name("named")?;
        let start = if DATA.leads.contains(&lead) { whole.start() } else { named.start() };
        (!DATA.others.contains(&lead)).then_some((start..whole.end(), day))
    })
}

fn date_phrase(first: Date, next: Date, zone: &TimeZone) -> Option<DatePhrase> {
    let moment = |date: Date| Timestamp::parse_in(&date.to_string(), zone).ok();
    let last = next.yesterday().ok()?;
    let label = if last <= first { first.to_string() } else { format!("{first}/{last}") };
    Some(DatePhrase { from: moment(first)?, until: moment(next.max(first.tomorrow().ok()?))?, label })
}
