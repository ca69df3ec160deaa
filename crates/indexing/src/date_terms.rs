//! Dates as index terms.
//!
//! A record is found by its own day, month and year, and by the dates that its text names. Relative dates such as
//! "yesterday" are resolved against the time of the record. Days of a record are in the time zone in which it was said,
//! days of a query in the query's time zone: a day is a day of the user.
//!
//! Reasons: `docs/design/decisions/0009-dates-are-terms.md`.

use std::collections::BTreeSet;

use jiff::{ToSpan, civil::Date, tz::TimeZone};
use memory_engine_core::{Record, Terms, Timestamp};
use memory_engine_keyword_store::{Analyzer, Clause, WeightedTerm};
use memory_engine_temporal::{Exactness, TimeWindow, windows};

/// Maximum number of days of a window that becomes day terms.
const MAX_DAYS: usize = 31;
/// Maximum number of months of a window that becomes month terms.
const MAX_MONTHS: usize = 24;

/// Returns the fingerprint of a keyword index with the terms of an analyzer and date terms. Open a store for
/// `Builder::stores` with it, so that an index of another analyzer is refused.
///
/// ```
/// use memory_engine_indexing::index_fingerprint;
/// use memory_engine_keyword_store::TextAnalyzer;
///
/// assert!(index_fingerprint(&TextAnalyzer).ends_with("+dates-2"));
/// ```
pub fn index_fingerprint(analyzer: &dyn Analyzer) -> String {
    format!("{}+dates-2", analyzer.fingerprint())
}

/// Adds the dates of a record to its terms. `default_zone` is that of a record without a zone of its own.
pub(crate) fn add_date_terms(terms: &mut Terms, record: &Record, default_zone: &TimeZone) {
    let zone = record.zone().unwrap_or_else(|| default_zone.clone());
    let day = date(record.occurred_at, &zone);
    let mut date_terms = BTreeSet::from([day_term(day), month_term(day), year_term(day)]);
    for window in exact_windows(&record.text, record.occurred_at, &zone) {
        for term in window_terms(&window, &zone) {
            // A query for the month or the year finds the days in it, too.
            for prefix in ["@2023-05".len(), "@2023".len()] {
                date_terms.extend(term.get(..prefix).map(str::to_owned));
            }
            date_terms.insert(term);
        }
    }
    terms.extend(date_terms);
}

/// Returns one clause for each time window that a query names. Relative dates are resolved against `query_time`.
pub fn date_clauses(query: &str, query_time: Timestamp, zone: &TimeZone, weight: f64) -> Vec<Clause> {
    let clause = |window: TimeWindow| {
        let terms = window_terms(&window, zone).into_iter().map(|term| WeightedTerm { term, weight: 1.0 }).collect();
        Clause { terms, weight }
    };
    exact_windows(query, query_time, zone).map(clause).filter(|clause| !clause.terms.is_empty()).collect()
}

/// Returns true if an index term is a date, not a word.
pub fn is_date_term(term: &str) -> bool {
    term.starts_with('@')
}

/// Returns the time windows that a text names, except for rough ones.
fn exact_windows(text: &str, reference_time: Timestamp, zone: &TimeZone) -> impl Iterator<Item = TimeWindow> {
    windows(text, reference_time, zone).into_iter().filter(|window| window.exactness != Exactness::Rough)
}

/// Returns the terms of a window: days for a short one, months for a longer one, years for the longest.
fn window_terms(window: &TimeWindow, zone: &TimeZone) -> Vec<String> {
    let end = Timestamp::from_micros(window.until.as_micros().saturating_sub(1));
    let first = date(window.from, zone);
    let last = date(end, zone);
    let days: Vec<String> = dates(first, last, 1.day(), MAX_DAYS + 1).map(day_term).collect();
    if days.len() <= MAX_DAYS {
        let is_whole_month = first == first.first_of_month() && last == first.last_of_month();
        return if is_whole_month { vec![month_term(first)] } else { days };
    }
    let months: Vec<String> = dates(first.first_of_month(), last, 1.month(), MAX_MONTHS + 1).map(month_term).collect();
    let is_whole_year = first == first.first_of_year() && last == first.last_of_year();
    if months.len() <= MAX_MONTHS && !is_whole_year {
        return months;
    }
    dates(first.first_of_year(), last, 1.year(), MAX_MONTHS).map(year_term).collect()
}

fn dates(first: Date, last: Date, step: jiff::Span, limit: usize) -> impl Iterator<Item = Date> {
    first.series(step).take_while(move |date| *date <= last).take(limit)
}

fn date(moment: Timestamp, zone: &TimeZone) -> Date {
    moment.in_zone(zone).date()
}

// No analyzer returns a term that begins with `@`.
fn day_term(date: Date) -> String {
    format!("@{date}")
}

fn month_term(date: Date) -> String {
    format!("@{:04}-{:02}", date.year(), date.month())
}

fn year_term(date: Date) -> String {
    format!("@{:04}", date.year())
}

#[cfg(test)]
mod tests {
    use memory_engine_core::{Kind, Scope, SystemClock};

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_in(text, &TimeZone::UTC).unwrap()
    }

    fn query_terms(query: &str) -> Vec<Vec<String>> {
        query_terms_in(query, TimeZone::UTC)
    }

    fn query_terms_in(query: &str, zone: TimeZone) -> Vec<Vec<String>> {
        let clauses = date_clauses(query, at("2023-05-09T12:00:00"), &zone, 1.0);
        clauses.into_iter().map(|c| c.terms.into_iter().map(|t| t.term).collect()).collect()
    }

    #[test]
    fn a_query_has_day_month_or_year_terms() {
        assert_eq!(query_terms("Where was I yesterday?"), [["@2023-05-08"]]);
        assert_eq!(query_terms("What happened in May 2023?"), [["@2023-05"]]);
        assert_eq!(query_terms("去年发生了什么"), [["@2022"]]);
        assert_eq!(query_terms("what did we do last week?")[0].len(), 7);
        assert_eq!(query_terms("我们去年夏天去了哪里"), [["@2022-06", "@2022-07", "@2022-08"]]);
        assert!(query_terms("what do I like?").is_empty());
        let east = || TimeZone::fixed(jiff::tz::offset(8));
        assert_eq!(query_terms_in("What happened in May 2023?", east()), [["@2023-05"]]);
        assert_eq!(query_terms_in("去年发生了什么", east()), [["@2022"]]);
    }

    #[test]
    fn a_record_has_terms_of_its_day_and_of_dates_in_its_text() {
        let scope = Scope::user("lin").unwrap();
        let mut record = Record::new(
            scope,
            Kind::TURN,
            "I met her yesterday at the lake; we meet again on 2023-06-02",
            &SystemClock,
        );
        record.occurred_at = at("2023-05-01T09:00:00");
        let mut terms: Terms = ["lake"].into_iter().collect();
        add_date_terms(&mut terms, &record, &TimeZone::UTC);
        let all: Vec<&str> = terms.iter().map(|(term, _)| term).collect();
        assert_eq!(
            all,
            ["@2023", "@2023-04", "@2023-04-30", "@2023-05", "@2023-05-01", "@2023-06", "@2023-06-02", "lake"]
        );
    }
    #[test]
    fn days_of_a_record_are_days_of_its_own_zone() {
        let day_terms = |text: &str, time: &str, own: Option<&str>, default: TimeZone| {
            let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, text, &SystemClock);
            record.occurred_at = at(time);
            if let Some(name) = own {
                record.set_zone(&TimeZone::get(name).unwrap());
            }
            let mut terms = Terms::default();
            add_date_terms(&mut terms, &record, &default);
            let days = terms.iter().map(|(term, _)| term.to_owned()).filter(|term| term.len() == "@2026-11-27".len());
            days.collect::<Vec<String>>()
        };
        let shanghai = || TimeZone::get("Asia/Shanghai").unwrap();
        let ramen = "昨天和小波吃了拉面";
        let morning = "2026-11-27T23:30:00Z";
        assert_eq!(day_terms(ramen, morning, Some("Asia/Shanghai"), TimeZone::UTC), ["@2026-11-27", "@2026-11-28"]);
        assert_eq!(day_terms(ramen, morning, None, shanghai()), ["@2026-11-27", "@2026-11-28"]);
        assert_eq!(day_terms(ramen, morning, None, TimeZone::UTC), ["@2026-11-26", "@2026-11-27"]);
        let evening = "2026-11-28T04:00:00Z";
        let own = Some("America/Los_Angeles");
        assert_eq!(day_terms("Ate ramen with Bo", evening, own, shanghai()), ["@2026-11-27"]);
    }
}
