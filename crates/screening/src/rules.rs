//! The rules, from the data files.

use std::sync::LazyLock;

use memory_engine_text::{SharedRegex, data};
use serde::Deserialize;

use crate::{checks::Check, finding::ScreeningRuleId, lazy_regex::LazyRegex, policy::Category};

/// The contents of the data files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleData {
    rules: Vec<RuleEntry>,
}

/// A rule in a data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    id: String,
    category: Category,
    /// A text matches only if it contains one of these words, regardless of case. Without words, all texts qualify.
    #[serde(default)]
    keywords: Vec<String>,
    /// The expression. The secret is the first group that takes part in the match, or else the whole match.
    pattern: String,
    /// The expression matches the label of cells in a Markdown table, and the secrets are these cells. Default: false.
    #[serde(default)]
    names_cells: bool,
    /// Minimum length of a run of characters without spaces. Default: 0.
    #[serde(default)]
    min_token: usize,
    /// Minimum number of digits in a run of digits, spaces, dots, dashes and brackets. Default: 0.
    #[serde(default)]
    min_digits: usize,
    /// Entropy that the secret must exceed, in bits per character. Default: 0.
    #[serde(default)]
    min_entropy: f64,
    /// Expression of secrets that are ignored.
    allow: Option<String>,
    #[serde(default)]
    check: Check,
}

data!(RULE_DATA: RuleData =
    "vendor/gitleaks.toml",
    "credentials.toml",
    "en/credentials.toml",
    "zh/credentials.toml",
    "personal.toml",
    "identity.toml",
    "en/personal.toml",
    "zh/personal.toml",
);

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: ScreeningRuleId,
    pub(crate) category: Category,
    pub(crate) keywords: &'static [String],
    pub(crate) names_cells: bool,
    pub(crate) min_token: usize,
    pub(crate) min_digits: usize,
    pub(crate) min_entropy: f64,
    pub(crate) check: Check,
    pattern: LazyRegex,
    allow: Option<LazyRegex>,
}

impl Rule {
    /// Returns the expression, or `None` if it does not compile.
    pub(crate) fn pattern(&self) -> Option<&SharedRegex> {
        self.pattern.get()
    }

    /// Returns true if a secret is a known example.
    pub(crate) fn allows(&self, secret: &str) -> bool {
        self.allow.as_ref().and_then(LazyRegex::get).is_some_and(|allow| allow.is_match(secret))
    }
}

/// All rules. If findings overlap at the same place, the rule that comes first has priority.
pub(crate) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let data = LazyLock::force(&RULE_DATA);
    let rules = data.rules.iter().map(|entry| Rule {
        id: ScreeningRuleId(&entry.id),
        category: entry.category,
        keywords: &entry.keywords,
        names_cells: entry.names_cells,
        min_token: entry.min_token,
        min_digits: entry.min_digits,
        min_entropy: entry.min_entropy,
        check: entry.check,
        pattern: LazyRegex::new(&entry.pattern),
        allow: entry.allow.as_deref().map(LazyRegex::new),
    });
    rules.collect()
});

/// Returns the ids of all rules, each with its category.
pub fn rule_ids() -> impl Iterator<Item = (ScreeningRuleId, Category)> {
    RULES.iter().map(|rule| (rule.id, rule.category))
}

pub(crate) fn is_rule_id(text: &str) -> bool {
    RULES.iter().any(|rule| rule.id.as_str() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        for rule in RULES.iter() {
            assert!(rule.pattern().is_some(), "{}", rule.id);
            assert!(rule.allow.as_ref().is_none_or(|allow| allow.get().is_some()), "{}", rule.id);
        }
    }

    #[test]
    fn rules_that_look_for_digits_or_words_say_so() {
        for rule in RULES.iter() {
            assert!(
                !rule.keywords.is_empty() || rule.min_digits >= 7 || rule.min_token >= 16,
                "{} would run on every text",
                rule.id
            );
        }
    }
}
