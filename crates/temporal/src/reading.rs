//! Types shared by the rules that read dates.

use crate::{
    calendar::{Reference, Stretch},
    scan::Scan,
};

/// A date that a rule has found: the place after it, and the stretch of the calendar that it means.
pub(crate) type FoundDate = Option<(usize, Stretch)>;

/// A rule that reads the dates of one form.
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    /// Reads the date that begins at a place.
    pub(crate) read: fn(&Reader<'_>, usize) -> FoundDate,
}

/// A date that was read: the characters that name it, the stretch of the calendar that they mean, and the id of the
/// rule.
#[derive(Debug, Clone)]
pub(crate) struct DateReading {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) stretch: Stretch,
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests of the rules ask for it"))]
    pub(crate) rule: &'static str,
}

/// A text with the moment and the place that it was said at, and the rules to read it by.
pub(crate) struct Reader<'s> {
    pub(crate) scan: &'s Scan,
    pub(crate) reference: &'s Reference<'s>,
    rules: &'static [Rule],
    /// Number of dates that count from this one.
    depth: u8,
}

/// "Two days before the week before last Friday" is as deep as dates are nested.
const MAX_DEPTH: u8 = 2;

impl<'s> Reader<'s> {
    pub(crate) fn new(scan: &'s Scan, reference: &'s Reference<'s>, rules: &'static [Rule]) -> Self {
        Self { scan, reference, rules, depth: 0 }
    }

    /// Reads the longest date that begins at a place. Of equal ones the last rule of the list counts.
    pub(crate) fn date(&self, begin: usize) -> Option<DateReading> {
        let readings = self.rules.iter().filter_map(|rule| {
            let (end, stretch) = (rule.read)(self, begin)?;
            Some(DateReading { begin, end, stretch, rule: rule.id })
        });
        readings.max_by_key(|read| read.end)
    }

    /// Returns the reader of a date that this one counts from, unless dates are nested too deep.
    pub(crate) fn nested(&self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self { depth: self.depth + 1, ..*self })
    }
}
