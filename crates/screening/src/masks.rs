//! Masks: the text that replaces a finding.

use std::ops::Range;

use crate::{
    finding::{ScreeningFinding, ScreeningRuleId},
    rules::is_rule_id,
};

const MASK_START: &str = "[redacted: ";
const MASK_END: char = ']';
/// The text that replaces a value which a person has deleted.
pub(crate) const DELETED_MARK: &str = "[deleted]";

/// Returns the positions of the masks in a text.
pub(crate) fn mask_ranges(text: &str) -> Vec<Range<usize>> {
    let deleted = text.match_indices(DELETED_MARK).map(|(start, mark)| start..start + mark.len());
    let masks = text.match_indices(MASK_START);
    masks
        .filter_map(|(start, _)| {
            let id_start = start + MASK_START.len();
            let length = text[id_start..].find(MASK_END)?;
            let id = &text[id_start..id_start + length];
            is_rule_id(id).then(|| start..id_start + length + MASK_END.len_utf8())
        })
        .chain(deleted)
        .collect()
}

/// Returns the text that replaces a finding.
pub(crate) fn mask_of(rule: ScreeningRuleId) -> String {
    format!("{MASK_START}{rule}{MASK_END}")
}

/// Replaces findings, which are sorted and do not overlap, by masks.
pub(crate) fn replace_findings<'f>(text: &str, findings: impl IntoIterator<Item = &'f ScreeningFinding>) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for finding in findings {
        masked.push_str(&text[end..finding.range.start]);
        masked.push_str(&mask_of(finding.rule));
        end = finding.range.end;
    }
    masked.push_str(&text[end..]);
    masked
}
