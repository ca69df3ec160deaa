//! Dates as words: when something was said, and which days it speaks of, are looked for like any other word.
//!
//! A record is found by its own day, month and year, and by those that it names, read against the time when it was said:
//! what "yesterday" was, nobody knows later. The days of records are those of UTC, whatever the zone they were said in; a
//! question's are those of its own zone. Around midnight that is a day off, which is near enough for something that only
//! adds to what the words say.

use std::collections::BTreeSet;

use jiff::{ToSpan, civil::Date, tz::TimeZone};
use memory_engine_core::{Record, Terms, Timestamp};
use memory_engine_keyword_store::{Analyzer, Clause, WeightedTerm};
use memory_engine_temporal::{Exactness, Window, windows};

/// What an engine with this analyzer makes its keyword index by: the analyzer's terms, and dates. A store that is handed to
/// [`Builder::stores`](crate::Builder::stores) is opened with it, so that an index that was made otherwise is refused.
///
/// ```
/// use memory_engine::{TextAnalyzer, index_fingerprint};
///
/// assert!(index_fingerprint(&TextAnalyzer).ends_with("+dates-1"));
/// ```
pub fn index_fingerprint(analyzer: &dyn Analyzer) -> String {
    format!("{}+dates-1", analyzer.fingerprint())
}

/// The longest stretch that is looked for day by day, and month by month.
const DAYS: usize = 31;
const MONTHS: usize = 24;

/// Adds the dates of a record to its terms.
pub(crate) fn add_to(terms: &mut Terms, record: &Record) {
    let zone = TimeZone::UTC;
    let day = date(record.occurred_at, &zone);
    let mut all = BTreeSet::from([of_day(day), of_month(day), of_year(day)]);
    for named in named(&record.text, record.occurred_at, &zone) {
        let words = words(&named, &zone);
        // Whoever asks for the month or the year means its days, too.
        all.extend(
            words
                .iter()
                .flat_map(|word| [word.get(.."@2023-05".len()), word.get(.."@2023".len())])
                .flatten()
                .map(str::to_owned),
        );
        all.extend(words);
    }
    terms.extend(all);
}

/// The stretches of time that a text names well enough.
fn named(text: &str, said_at: Timestamp, zone: &TimeZone) -> impl Iterator<Item = Window> {
    windows(text, said_at, zone).into_iter().filter(|window| window.exactness != Exactness::Rough)
}

/// What to look for, given a question that names stretches of time: for each a clause.
pub(crate) fn clauses(question: &str, asked_at: Timestamp, zone: &TimeZone, weight: f64) -> Vec<Clause> {
    let clause = |terms: Vec<String>| Clause {
        terms: terms.into_iter().map(|term| WeightedTerm { term, weight: 1.0 }).collect(),
        weight,
    };
    let named = named(question, asked_at, zone).map(|window| clause(words(&window, zone)));
    named.filter(|clause| !clause.terms.is_empty()).collect()
}

/// The words for a stretch of time: its days, or its months, or its years, as few as say it.
fn words(window: &Window, zone: &TimeZone) -> Vec<String> {
    let last = Timestamp::from_micros(window.until.as_micros().saturating_sub(1));
    let (first, last) = (date(window.from, zone), date(last, zone));
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

fn date(moment: Timestamp, zone: &TimeZone) -> Date {
    moment.in_zone(zone).date()
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
    use memory_engine_core::{Kind, Scope, SystemClock};

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_in(text, &TimeZone::UTC).unwrap()
    }

    fn of(question: &str) -> Vec<Vec<String>> {
        of_zone(question, TimeZone::UTC)
    }

    fn of_zone(question: &str, zone: TimeZone) -> Vec<Vec<String>> {
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
        add_to(&mut terms, &record);
        let all: Vec<&str> = terms.iter().map(|(term, _)| term).collect();
        assert_eq!(
            all,
            ["@2023", "@2023-04", "@2023-04-30", "@2023-05", "@2023-05-01", "@2023-06", "@2023-06-02", "lake"]
        );
    }
}
