//! Relative dates, kept with what they meant.

use jiff::tz::TimeZone;
use memory_engine_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    find::windows,
    window::{Exactness, label},
};

/// A relative date of a text with what it meant when the text was said: both forms, to be kept in a record's metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// The date as the text has it.
    pub text: String,
    /// Its first moment.
    pub from: Timestamp,
    /// The moment after its last.
    pub until: Timestamp,
    /// The precision of the text.
    pub exactness: Exactness,
    /// The date in full, such as `2023-05-07` or `2023-05`: worth a term of an index.
    pub label: String,
}

/// The relative dates of a text that was said at `reference` in `zone`. A date with its year needs no anchor, and
/// "lately" has none.
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
    placed(text, reference, zone).into_iter().map(|(_, anchor)| anchor).collect()
}

/// The text with each relative date followed by what it meant, in brackets: both forms, for a model or an index to
/// read.
pub fn anchored(text: &str, reference: Timestamp, zone: &TimeZone) -> String {
    let mut written = String::with_capacity(text.len());
    let mut at = 0;
    for (end, anchor) in placed(text, reference, zone) {
        written.push_str(&text[at..end]);
        // Chinese text has no blanks and brackets of its own.
        let chinese = anchor.text.chars().next_back().is_some_and(memory_engine_core::text::is_han);
        let (open, close) = if chinese { ("（", "）") } else { (" (", ")") };
        written.extend([open, &anchor.label, close]);
        at = end;
    }
    written.push_str(&text[at..]);
    written
}

/// The anchors, each with the byte that it ends at.
fn placed(text: &str, reference: Timestamp, zone: &TimeZone) -> Vec<(usize, Anchor)> {
    let kept = windows(text, reference, zone).into_iter().filter(|w| w.relative && w.exactness != Exactness::Rough);
    kept.map(|window| {
        let label = label(window.from, window.until, zone);
        let text = text[window.range.clone()].to_owned();
        let anchor = Anchor { text, from: window.from, until: window.until, exactness: window.exactness, label };
        (window.range.end, anchor)
    })
    .collect()
}
