//! Finds the dates in a text.
//!
//! Reasons: `docs/design/decisions/0028-ambiguous-dates-are-ignored.md`.

use jiff::tz::TimeZone;
use memory_engine_core::Timestamp;

use crate::{
    calendar::Reference,
    chinese, english,
    reading::{DateReader, DateReading, RuleIndex},
    scan::Scan,
    window::TimeWindow,
};

/// Returns the windows of time that a text names, in the order of the text and without overlaps.
///
/// `reference` is the time of the text. Days begin and end in `zone`, including its clock changes. Text that is not
/// recognized as a date is ignored.
///
/// ```
/// use jiff::tz::TimeZone;
/// use memory_engine_core::Timestamp;
///
/// let now: Timestamp = "2023-05-09T12:00:00Z".parse()?;
/// let found = memory_engine_temporal::windows("Where was I two days before May 7, 2023?", now, &TimeZone::UTC);
/// assert_eq!(found[0].from.to_string(), "2023-05-05T00:00:00Z");
/// assert_eq!(found[0].until.to_string(), "2023-05-06T00:00:00Z");
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
pub fn windows(text: &str, reference: Timestamp, zone: &TimeZone) -> Vec<TimeWindow> {
    let Some(reference) = Reference::new(reference, zone) else { return Vec::new() };
    let scan = Scan::new(text);
    let mut windows = Vec::new();
    for DateReading { begin, end, stretch, .. } in read_dates(&scan, &reference) {
        if let Some((from, until)) = reference.timestamps(&stretch) {
            let range = scan.bytes(begin, end);
            windows.push(TimeWindow { from, until, range, exactness: stretch.exactness, relative: stretch.relative });
        }
    }
    windows
}

/// Reads the dates of a text, without overlaps. Of two dates that start at the same character, the longer one counts.
pub(crate) fn read_dates(scan: &Scan, reference: &Reference<'_>) -> Vec<DateReading> {
    read_dates_with(scan, reference, &english::INDEX, &chinese::INDEX)
}

/// Reads the dates of a text with these indexes of the rules.
pub(crate) fn read_dates_with(
    scan: &Scan,
    reference: &Reference<'_>,
    english_rules: &RuleIndex,
    chinese_rules: &RuleIndex,
) -> Vec<DateReading> {
    let mut readings = Vec::new();
    let mut at = 0;
    while at < scan.len() {
        // English rules read the word at their start. Words of other scripts are skipped at once.
        let may_be_english = scan.at(at).is_some_and(|c| c.is_ascii_alphanumeric()) && scan.begins_word(at);
        if !may_be_english && scan.at(at).is_some_and(|c| c.is_ascii() && !c.is_ascii_digit()) {
            // No Chinese date begins here either.
            at += 1;
            continue;
        }
        let english = may_be_english.then(|| english::parse(DateReader::new(scan, reference, english_rules), at));
        let chinese = chinese::parse(DateReader::new(scan, reference, chinese_rules), at);
        let longest = [english.flatten(), chinese].into_iter().flatten().max_by_key(|reading| reading.end);
        match longest.filter(|reading| reading.end > at) {
            Some(reading) => {
                at = reading.end;
                readings.push(reading);
            }
            None => at = scan.next(at),
        }
    }
    readings
}
