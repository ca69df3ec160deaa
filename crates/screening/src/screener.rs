//! Finds secrets and personal data in texts, and masks them.

use std::{borrow::Cow, ops::Range};

use crate::{
    checks::entropy,
    finding::ScreeningFinding,
    folding::FoldedText,
    masks::{mask_ranges, replace_findings},
    policy::{Category, ScreeningAction, ScreeningPolicy},
    prefilter::Prefilter,
    rules::Rule,
    tables::labelled_cells,
    words::is_placeholder,
};

/// Maximum number of passes over a text. A mask can reveal a further finding.
const MAX_PASSES: usize = 16;
/// Minimum length of a text with a finding, in bytes.
const TEXT_MIN_BYTES: usize = 4;

/// Finds the secrets and personal data that a [`ScreeningPolicy`] masks or refuses. The rules of the other categories
/// do not run.
///
/// ```
/// use memory_engine_screening::{Screener, ScreeningPolicy};
///
/// let screener = Screener::new(ScreeningPolicy::default());
/// let screened = screener.screen("我的密码是 tiger-4711，别告诉别人");
/// assert_eq!(screened.text, "我的密码是 [redacted: zh-password]，别告诉别人");
/// assert_eq!(screened.findings[0].rule.as_str(), "zh-password");
/// assert!(screener.screen("I forgot my password").findings.is_empty());
/// ```
#[derive(Debug)]
pub struct Screener {
    policy: ScreeningPolicy,
    prefilter: Prefilter,
}

/// A text after screening.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScreenedText<'t> {
    /// The text, with the findings to mask replaced.
    pub text: Cow<'t, str>,
    /// The findings that were masked, and those to refuse. A finding that appears only after another one was masked has
    /// its position in the partly masked text.
    pub findings: Vec<ScreeningFinding>,
}

impl Screener {
    /// Creates a screener with the built-in rules.
    pub fn new(policy: ScreeningPolicy) -> Self {
        let prefilter = Prefilter::new(|rule| policy.action(rule.category) != ScreeningAction::Store);
        Self { policy, prefilter }
    }

    /// Creates a screener that masks these categories.
    pub fn of_categories(categories: &[Category]) -> Self {
        let nothing = ScreeningPolicy::uniform(ScreeningAction::Store);
        Self::new(categories.iter().fold(nothing, |policy, category| policy.with(*category, ScreeningAction::Mask)))
    }

    /// Returns the policy.
    pub fn policy(&self) -> &ScreeningPolicy {
        &self.policy
    }

    /// Returns the findings of a text, sorted by position and without overlaps. Masks contain no findings.
    pub fn findings(&self, text: &str) -> Vec<ScreeningFinding> {
        if text.len() < TEXT_MIN_BYTES {
            return Vec::new();
        }
        let Some(folded) = FoldedText::of(text) else { return self.findings_in(text) };
        let findings = self.findings_in(&folded.text).into_iter();
        findings.map(|finding| ScreeningFinding { range: folded.original(&finding.range), ..finding }).collect()
    }

    fn findings_in(&self, text: &str) -> Vec<ScreeningFinding> {
        let candidates = self.prefilter.candidates(text);
        if candidates.is_empty() {
            return Vec::new();
        }
        let masks = mask_ranges(text);
        let is_in_mask =
            |range: &Range<usize>| masks.iter().any(|mask| range.start < mask.end && mask.start < range.end);
        let mut findings = Vec::new();
        for rule in candidates {
            let ranges = secrets_of(rule, text).into_iter().filter(|range| !is_in_mask(range));
            findings.extend(ranges.map(|range| ScreeningFinding { rule: rule.id, category: rule.category, range }));
        }
        without_overlaps(findings)
    }

    /// Returns true if a text contains a keyword of a rule, such as `password`.
    pub(crate) fn has_keyword(&self, text: &str) -> bool {
        self.prefilter.has_keyword(text)
    }

    /// Returns a text with its findings masked, and the findings. Findings to refuse are not masked.
    pub fn screen<'t>(&self, text: &'t str) -> ScreenedText<'t> {
        let mut screened = ScreenedText { text: Cow::Borrowed(text), findings: Vec::new() };
        for _ in 0..MAX_PASSES {
            let (masked, refused): (Vec<ScreeningFinding>, Vec<ScreeningFinding>) = self
                .findings(&screened.text)
                .into_iter()
                .partition(|finding| self.policy.action(finding.category) == ScreeningAction::Mask);
            if !masked.is_empty() {
                screened.text = replace_findings(&screened.text, &masked).into();
            }
            let is_done = masked.is_empty();
            screened.findings.extend(masked);
            if is_done {
                screened.findings.extend(refused);
                break;
            }
        }
        screened
    }
}

/// Returns the positions of the secrets that a rule finds.
pub(crate) fn secrets_of(rule: &Rule, text: &str) -> Vec<Range<usize>> {
    let Some(pattern) = rule.pattern() else { return Vec::new() };
    let candidates = if rule.names_cells {
        labelled_cells(pattern, text)
    } else {
        let secrets = pattern.captures_iter(text).filter_map(|groups| {
            let secret = groups.iter().skip(1).flatten().next().or_else(|| groups.get(0))?;
            Some(secret.range())
        });
        secrets.collect()
    };
    let trimmed = candidates.into_iter().map(|range| rule.check.trimmed(text, range));
    trimmed.filter(|range| is_secret(rule, text, range)).collect()
}

fn is_secret(rule: &Rule, text: &str, range: &Range<usize>) -> bool {
    let secret = &text[range.clone()];
    if secret.is_empty() || (rule.min_entropy > 0.0 && entropy(secret) <= rule.min_entropy) {
        return false;
    }
    let is_example = rule.category.is_credential() && (rule.allows(secret) || is_placeholder(secret));
    !is_example && rule.check.accepts(text, range)
}

/// Keeps the longest of the findings that overlap; of those with the same length, the first.
fn without_overlaps(mut findings: Vec<ScreeningFinding>) -> Vec<ScreeningFinding> {
    if findings.len() > 1 {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.range.len()));
        let mut kept: Vec<ScreeningFinding> = Vec::with_capacity(findings.len());
        for finding in findings {
            let overlaps = |other: &ScreeningFinding| {
                finding.range.start < other.range.end && other.range.start < finding.range.end
            };
            if !kept.iter().any(overlaps) {
                kept.push(finding);
            }
        }
        kept.sort_by_key(|finding| finding.range.start);
        return kept;
    }
    findings
}
