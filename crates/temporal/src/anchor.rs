//! Writes the absolute dates of relative ones into a text.

use jiff::tz::TimeZone;
use memory_engine_core::{Timestamp, text::is_han};

use crate::{find::windows, window::Exactness};

/// Returns the text with the absolute date in brackets after each relative date, for a model or an index. Relative
/// dates are resolved from `reference` in `zone`. Dates with a year and vague ones ("lately") get no brackets.
///
/// ```
/// use jiff::tz::TimeZone;
/// use memory_engine_core::Timestamp;
///
/// let said: Timestamp = "2023-05-09T12:00:00Z".parse()?;
/// let text = memory_engine_temporal::anchored("我昨天去了医院", said, &TimeZone::UTC);
/// assert_eq!(text, "我昨天（2023-05-08）去了医院");
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
pub fn anchored(text: &str, reference: Timestamp, zone: &TimeZone) -> String {
    let mut output = String::with_capacity(text.len());
    let mut at = 0;
    for window in windows(text, reference, zone) {
        if !window.relative || window.exactness == Exactness::Rough {
            continue;
        }
        let date = &text[window.range.clone()];
        output.push_str(&text[at..window.range.end]);
        // Chinese uses full-width brackets without spaces.
        let (open, close) = if date.chars().next_back().is_some_and(is_han) { ("（", "）") } else { (" (", ")") };
        output.extend([open, &window.label(zone), close]);
        at = window.range.end;
    }
    output.push_str(&text[at..]);
    output
}
