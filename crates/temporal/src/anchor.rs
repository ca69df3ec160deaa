//! Anchors relative dates: pairs each one with its absolute date.

use jiff::tz::TimeZone;
use memory_engine_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    find::windows,
    window::{Exactness, label},
};

/// A relative date of a text with its absolute date, for the metadata of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// The date as it is spelled in the text.
    pub text: String,
    /// The start of the window.
    pub from: Timestamp,
    /// The end of the window (exclusive).
    pub until: Timestamp,
    /// The precision of the text.
    pub exactness: Exactness,
    /// The absolute date, such as `2023-05-07` or `2023-05`. Suitable as an index term.
    pub label: String,
}

/// Returns the relative dates of a text, resolved from `reference` in `zone`. Dates with a year and vague ones
/// ("lately") are left out.
///
/// ```
/// use jiff::tz::TimeZone;
/// use memory_engine_core::Timestamp;
///
/// let said: Timestamp = "2023-05-09T12:00:00Z".parse()?;
/// let found = memory_engine_temporal::anchors("我昨天去了医院", said, &TimeZone::UTC);
/// assert_eq!((found[0].text.as_str(), found[0].label.as_str()), ("昨天", "2023-05-08"));
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
pub fn anchors(text: &str, reference: Timestamp, zone: &TimeZone) -> Vec<Anchor> {
    anchors_with_ends(text, reference, zone).into_iter().map(|(_, anchor)| anchor).collect()
}

/// Returns the text with the absolute date in brackets after each relative date, for a model or an index.
pub fn anchored(text: &str, reference: Timestamp, zone: &TimeZone) -> String {
    let mut output = String::with_capacity(text.len());
    let mut at = 0;
    for (end, anchor) in anchors_with_ends(text, reference, zone) {
        output.push_str(&text[at..end]);
        // Chinese uses full-width brackets without spaces.
        let is_chinese = anchor.text.chars().next_back().is_some_and(memory_engine_core::text::is_han);
        let (open, close) = if is_chinese { ("（", "）") } else { (" (", ")") };
        output.extend([open, &anchor.label, close]);
        at = end;
    }
    output.push_str(&text[at..]);
    output
}

/// Returns the anchors, each with the byte index of its end.
fn anchors_with_ends(text: &str, reference: Timestamp, zone: &TimeZone) -> Vec<(usize, Anchor)> {
    let windows = windows(text, reference, zone).into_iter();
    let relative = windows.filter(|window| window.relative && window.exactness != Exactness::Rough);
    relative
        .map(|window| {
            let label = label(window.from, window.until, zone);
            let text = text[window.range.clone()].to_owned();
            let anchor = Anchor { text, from: window.from, until: window.until, exactness: window.exactness, label };
            (window.range.end, anchor)
        })
        .collect()
}
