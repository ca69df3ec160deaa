//! Dates as words: when something was said, and which days it speaks of, are looked for like any other word.
//!
//! A record is found by its own day, month and year, and by those that it names, read against the time when it was said:
//! what "yesterday" was, nobody knows later. Days are those of UTC. A stretch of time in another zone touches two of them
//! at each end, which is near enough for something that only adds to what the words say.

use jiff::{ToSpan, civil::Date, tz::TimeZone};
use memory_core::{Record, Terms, Timestamp};
use memory_keyword_store::{Clause, WeightedTerm};
use memory_temporal::{Exactness, anchors, windows};

/// What makes the terms, for the index to be told from one that was made otherwise.
pub(crate) const FINGERPRINT: &str = "dates-1";

/// The longest stretch that is looked for day by day, and month by month.
const DAYS: usize = 31;
const MONTHS: usize = 24;

/// Adds the dates of a record to its terms.
pub(crate) fn add_to(terms: &mut Terms, record: &Record) {
    let day = date(record.occurred_at);
    terms.extend([of_day(day), of_month(day), of_year(day)]);
    for named in anchors(&record.text, record.occurred_at, &TimeZone::UTC) {
        if named.exactness != Exactness::Rough {
            terms.extend(words(named.from, named.until));
        }
    }
}

/// What to look for, given a question that names stretches of time: for each a clause.
pub(crate) fn clauses(question: &str, asked_at: Timestamp, zone: &TimeZone, weight: f64) -> Vec<Clause> {
    let named = windows(question, asked_at, zone).into_iter().filter(|w| w.exactness != Exactness::Rough);
    let clause = |terms: Vec<String>| Clause {
        terms: terms.into_iter().map(|term| WeightedTerm { term, weight: 1.0 }).collect(),
        weight,
    };
    named.map(|window| clause(words(window.from, window.until))).filter(|clause| !clause.terms.is_empty()).collect()
}

/// The words for a stretch of time: its days, or its months, or its years, as few as say it.
fn words(from: Timestamp, until: Timestamp) -> Vec<String> {
    let (first, last) = (date(from), date(Timestamp::from_micros(until.as_micros() - 1)));
    let days: Vec<String> = each(first, last, 1.day(), DAYS + 1).map(of_day).collect();
    if days.len() <= DAYS {
        let whole_month = first == first.first_of_month() && last == first.last_of_month();
        return if whole_month { vec![of_month(first)] } else { days };
    }
    let months: Vec<String> = each(first.first_of_month(), last, 1.month(), MONTHS + 1).map(of_month).collect();
    if months.len() <= MONTHS && (first, last) != (first.first_of_year(), first.last_of_year()) {
        return months;
    }
    each(first.first_of_year(), last, 1.year(), MONTHS).map(of_year).collect()
}

fn each(first: Date, last: Date, step: jiff::Span, most: usize) -> impl Iterator<Item = Date> {
    first.series(step).take_while(move |date| *date <= last).take(most)
}

fn date(moment: Timestamp) -> Date {
    moment.in_zone(&TimeZone::UTC).date()
}

// No analyzer makes a term with this sign of a text.
fn of_day(date: Date) -> String {
    format!("@{date}")
}

fn of_month(date: Date) -> String {
    format!("@{:04}-{:02}", date.year(), date.month())
}

fn of_year(date: Date) -> String {
    format!("@{:04}", date.year())
}

#[cfg(test)]
mod tests {
    use memory_core::{Kind, Scope, SystemClock};

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_in(text, &TimeZone::UTC).unwrap()
    }

    fn of(question: &str) -> Vec<Vec<String>> {
        let zone = TimeZone::UTC;
        let clauses = clauses(question, at("2023-05-09T12:00:00"), &zone, 1.0);
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
    }

    #[test]
    fn a_record_has_its_own_day_and_those_that_it_names() {
        let scope = Scope::user("lin").unwrap();
        let mut record = Record::new(scope, Kind::TURN, "I met her yesterday at the lake", &SystemClock);
        record.occurred_at = at("2023-05-01T09:00:00");
        let mut terms: Terms = ["lake"].into_iter().collect();
        add_to(&mut terms, &record);
        let all: Vec<&str> = terms.iter().map(|(term, _)| term).collect();
        assert_eq!(all, ["@2023", "@2023-04-30", "@2023-05", "@2023-05-01", "lake"]);
    }
}
