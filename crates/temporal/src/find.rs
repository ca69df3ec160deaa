//! Finds the windows of time that a text names.

use jiff::tz::TimeZone;
use memory_engine_core::Timestamp;

use crate::{
    calendar::Reference,
    chinese, english,
    reading::{DateReading, Reader},
    scan::Scan,
    window::TimeWindow,
};

/// The windows of time that a text names, in its order, none within another.
///
/// `reference` is when the text was said, `zone` where: a day begins and ends there, also where the clocks change. The
/// text may be anything; what is not read as a date gives no window.
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
    let mut found = Vec::new();
    for DateReading { begin, end, stretch, .. } in reads(&scan, &reference) {
        if let Some((from, until)) = reference.moments(&stretch) {
            let range = scan.bytes(begin, end);
            found.push(TimeWindow { from, until, range, exactness: stretch.exactness, relative: stretch.relative });
        }
    }
    found
}

/// Reads the dates of a text, none within another. Of two dates that begin at the same place the longer one counts.
pub(crate) fn reads(scan: &Scan, reference: &Reference<'_>) -> Vec<DateReading> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < scan.len() {
        let english = scan.begins_word(at).then(|| english::parse(Reader::new(scan, reference, english::RULES), at));
        let chinese = chinese::parse(Reader::new(scan, reference, chinese::RULES), at);
        let longest = [english.flatten(), chinese].into_iter().flatten().max_by_key(|read| read.end);
        match longest.filter(|read| read.end > at) {
            Some(read) => {
                at = read.end;
                found.push(read);
            }
            None => at = scan.next(at),
        }
    }
    found
}
