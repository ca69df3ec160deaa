//! Dates as index terms.
//!
//! A record is found by its own day, month and year, and by the dates that its text names, resolved against the time
//! of the record: "yesterday" has a date only when it is said. Days of records are in UTC; days of a query are in the
//! query's time zone. Around midnight the two differ by a day, which is good enough for terms that only add to a
//! score.

use std::collections::BTreeSet;

use jiff::{ToSpan, civil::Date, tz::TimeZone};
use memory_engine_core::{Record, Terms, Timestamp};
use memory_engine_keyword_store::{Analyzer, Clause, WeightedTerm};
use memory_engine_temporal::{Exactness, TimeWindow, windows};

/// Windows of at most this many days become day terms.
const MAX_DAYS: usize = 31;
/// Windows of at most this many months become month terms.
const MAX_MONTHS: usize = 24;

/// Returns the fingerprint of a keyword index: the analyzer's terms, and dates. A store for `Builder::stores` is opened
/// with it, so that an index of another analyzer is refused.
///
/// ```
/// use memory_engine_indexing::index_fingerprint;
/// use memory_engine_keyword_store::TextAnalyzer;
///
/// assert!(index_fingerprint(&TextAnalyzer).ends_with("+dates-1"));
/// ```
pub fn index_fingerprint(analyzer: &dyn Analyzer) -> String {
    format!("{}+dates-1", analyzer.fingerprint())
}

/// Adds the dates of a record to its terms.
pub(crate) fn add_date_terms(terms: &mut Terms, record: &Record) {
    let zone = TimeZone::UTC;
    let day = date(record.occurred_at, &zone);
    let mut all = BTreeSet::from([day_term(day), month_term(day), year_term(day)]);
    for window in exact_windows(&record.text, record.occurred_at, &zone) {
        for term in window_terms(&window, &zone) {
            // A query for the month or the year finds the days in it, too.
            for prefix in ["@2023-05".len(), "@2023".len()] {
                all.extend(term.get(..prefix).map(str::to_owned));
            }
            all.insert(term);
        }
    }
    terms.extend(all);
}

/// Returns one clause for each window of time that a query names.
pub fn date_clauses(query: &str, asked_at: Timestamp, zone: &TimeZone, weight: f64) -> Vec<Clause> {
    let clause = |window: TimeWindow| {
        let terms = window_terms(&window, zone).into_iter().map(|term| WeightedTerm { term, weight: 1.0 }).collect();
        Clause { terms, weight }
    };
    exact_windows(query, asked_at, zone).map(clause).filter(|clause| !clause.terms.is_empty()).collect()
}

/// Returns true if an index term is a date, not a word.
pub fn is_date_term(term: &str) -> bool {
    term.starts_with('@')
}

/// The windows of time that a text names exactly enough.
fn exact_windows(text: &str, said_at: Timestamp, zone: &TimeZone) -> impl Iterator<Item = TimeWindow> {
    windows(text, said_at, zone).into_iter().filter(|window| window.exactness != Exactness::Rough)
}

/// The terms of a window: its days, or its months, or its years, whichever are fewest.
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

// No analyzer makes a term that begins with this sign.
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

    fn of(question: &str) -> Vec<Vec<String>> {
        of_zone(question, TimeZone::UTC)
    }

    fn of_zone(question: &str, zone: TimeZone) -> Vec<Vec<String>> {
        let clauses = date_clauses(question, at("2023-05-09T12:00:00"), &zone, 1.0);
        clauses.into_iter().map(|c| c.terms.into_iter().map(|t| t.term).collect()).collect()
    }

    #[test]
    fn a_question_looks_for_days_or_months_or_years() {
        assert_eq!(of("Where was I yesterday?"), [["@2023-05-08"]]);
        assert_eq!(of("What happened in May 2023?"), [["@2023-05"]]);
        assert_eq!(of("去年发生了什么"), [["@2022"]]);
        assert_eq!(of("what did we do last week?")[0].len(), 7);
        assert_eq!(of("我们去年夏天去了哪里"), [["@2022-06", "@2022-07", "@2022-08"]]);
        assert!(of("what do I like?").is_empty());
        let east = || TimeZone::fixed(jiff::tz::offset(8));
        assert_eq!(of_zone("What happened in May 2023?", east()), [["@2023-05"]]);
        assert_eq!(of_zone("去年发生了什么", east()), [["@2022"]]);
    }

    #[test]
    fn a_record_has_its_own_day_and_those_that_it_names() {
        let scope = Scope::user("lin").unwrap();
        let mut record = Record::new(
            scope,
            Kind::TURN,
            "I met her yesterday at the lake; we meet again on 2023-06-02",
            &SystemClock,
        );
        record.occurred_at = at("2023-05-01T09:00:00");
        let mut terms: Terms = ["lake"].into_iter().collect();
        add_date_terms(&mut terms, &record);
        let all: Vec<&str> = terms.iter().map(|(term, _)| term).collect();
        assert_eq!(
            all,
            ["@2023", "@2023-04", "@2023-04-30", "@2023-05", "@2023-05-01", "@2023-06", "@2023-06-02", "lake"]
        );
    }
}
