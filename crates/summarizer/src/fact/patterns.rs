//! Loads and compiles the rules of fact extraction from TOML.

use std::sync::{Arc, OnceLock};

use memory_engine_core::{Error, Language, Result, RuleId};
use memory_engine_text::{Captures, Macros, RegexError, RegexIndex, RegexOptions};
use serde::Deserialize;

use crate::{
    data::regex_text,
    fact::{
        slot::{Slot, Slots},
        template::{expanded, language_of},
        types::Polarity,
        value::ValueReader,
    },
};

/// Returns the text of a data file.
macro_rules! rule_file {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/", $path))
    };
}

const RULE_FILES: [&str; 8] = [
    rule_file!("en/ends.toml"),
    rule_file!("en/rules.toml"),
    rule_file!("en/rules-life.toml"),
    rule_file!("en/wishes.toml"),
    rule_file!("zh/ends.toml"),
    rule_file!("zh/rules.toml"),
    rule_file!("zh/rules-life.toml"),
    rule_file!("zh/wishes.toml"),
];

/// Memory limit of one compiled pattern, in bytes.
const PATTERN_MAX_BYTES: usize = 16 << 20;

/// Memory limit of the compiled patterns that are kept, in bytes.
const KEPT_PATTERNS_MAX_BYTES: usize = 6 << 20;

/// The rules of [`RuleFacts`](crate::RuleFacts): those of the crate, and those of the caller.
///
/// A file has `[macros]`, `[[slots]]` with the sentences that express a fact, and `[[rules]]` (or `[[patterns]]`) with
/// regular expressions. `data/en/rules.toml` and `data/slots.toml` of this crate show every field. A rule needs the
/// group `v` or a fixed `value`. A rule without an `id` gets `custom.` and a number.
///
/// A match counts only as a plain statement of the speaker. With `presupposed = true` it counts in any clause, such as
/// that of a question. `unless` is a regular expression that no part of the message may match.
///
/// ```
/// use memory_engine_summarizer::FactPatterns;
///
/// FactPatterns::from_toml(r#"
///     [[slots]]
///     name = "team"
///     kind = "preference"
///     one = true
///     en = { is = "{s} supports {v}", not = "{s} does not support {v}", was = "{s} supported {v}" }
///     zh = { is = "{s}支持{v}", not = "{s}不支持{v}", was = "{s}曾支持{v}" }
///
///     [[rules]]
///     id = "team.supports"
///     slot = "team"
///     read = "favorite"
///     match = ['\bi support {v}', '{wo}是{zv}的?球迷']
/// "#)?;
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FactPatterns {
    /// The index of all expressions. It is created for the first sentence, because many processes read none.
    index: OnceLock<Option<Arc<RegexIndex>>>,
    list: Vec<FactPattern>,
    /// The expressions of `unless`, whose indexes follow those of the patterns.
    exclusions: Vec<String>,
    slots: Slots,
}

/// One regular expression of a rule.
#[derive(Debug, Clone)]
pub(super) struct FactPattern {
    pub(super) id: RuleId,
    /// The text of the expression.
    text: String,
    /// The position of the expression of `unless` among the exclusions, if the rule has one.
    exclusion: Option<usize>,
    pub(super) language: Language,
    pub(super) rule: Arc<FactRule>,
}

/// A pattern whose literals occur in a text. It may still not match it.
#[derive(Debug)]
pub(super) struct PatternCandidate<'p> {
    pub(super) pattern: &'p FactPattern,
    position: usize,
    patterns: &'p FactPatterns,
    index: &'p RegexIndex,
}

impl PatternCandidate<'_> {
    /// Returns true if the words of a message rule the pattern out.
    pub(super) fn is_excluded_by(&self, message: &str) -> bool {
        let exclusion = self.pattern.exclusion.map(|exclusion| self.patterns.list.len() + exclusion);
        exclusion.is_some_and(|exclusion| self.index.is_match(exclusion, message))
    }

    /// Returns the groups of the matches in a text.
    pub(super) fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        self.index.captures_iter(self.position, text)
    }
}

/// A rule of a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactRule {
    id: Option<RuleId>,
    pub(super) slot: String,
    #[serde(default = "positive")]
    pub(super) polarity: Polarity,
    pub(super) value: Option<FixedValue>,
    #[serde(default)]
    pub(super) read: ValueReader,
    /// True if the fact holds until the end of the time that the sentence names.
    #[serde(default)]
    pub(super) bounded: bool,
    /// True if the clause must name its subject.
    #[serde(default)]
    pub(super) explicit: bool,
    /// True if the clause must be about a relative: "I'm in Leeds" may be said on a trip, "my aunt is in Leeds" is not.
    #[serde(default)]
    pub(super) relative: bool,
    /// True if the fact ends the former value, even for a relative that is not unique, such as a sister.
    #[serde(default)]
    pub(super) replaces: bool,
    /// True if the match is a fact even in a question or a condition: "should I walk my dog Rex?" names the dog.
    #[serde(default)]
    pub(super) presupposed: bool,
    /// True if the match is a request. It must begin its clause, because "I eat fish and never use salt" asks for
    /// nothing.
    #[serde(default)]
    pub(super) request: bool,
    /// An expression that no part of the message may match.
    unless: Option<String>,
    #[serde(rename = "match")]
    forms: Vec<String>,
}

/// The fixed value of a rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum FixedValue {
    Same(String),
    Each { en: String, zh: String },
}

impl FixedValue {
    pub(super) fn in_language(&self, language: Language) -> &str {
        match self {
            Self::Same(value) => value,
            Self::Each { en, zh } => language.pick(zh, en),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RuleFile {
    macros: Macros,
    slots: Vec<Slot>,
    #[serde(alias = "patterns")]
    rules: Vec<FactRule>,
}

fn positive() -> Polarity {
    Polarity::Positive
}

impl FactPatterns {
    /// Returns the rules of the crate. Their regular expressions are compiled for the first sentence.
    ///
    /// # Errors
    /// `InvalidInput` if they are invalid, which the tests of the crate rule out.
    pub fn built_in() -> Result<Self> {
        Self::of(RULE_FILES)
    }

    /// Returns the rules of the crate and those of a TOML text, whose slots and macros replace those of the same name.
    ///
    /// # Errors
    /// `InvalidInput` for invalid TOML or an unknown field (with its position), an invalid regular expression, a rule
    /// without a value, or a slot without sentences.
    pub fn from_toml(text: &str) -> Result<Self> {
        let patterns = Self::of(RULE_FILES.into_iter().chain([text]))?;
        let index = patterns.new_index().and_then(|index| index.check().map(|()| index));
        let index = index.map_err(|error| invalid(&error.to_string()))?;
        Ok(Self { index: Some(Arc::new(index)).into(), ..patterns })
    }

    fn of<'f>(files: impl IntoIterator<Item = &'f str>) -> Result<Self> {
        let mut all = RuleFile::default();
        for text in files {
            let file: RuleFile = toml::from_str(text).map_err(|error| invalid(error.to_string().trim_end()))?;
            all.macros.extend(file.macros);
            all.slots.extend(file.slots);
            all.rules.extend(file.rules);
        }
        let slots = Slots::built_in_and(all.slots);
        let mut list = Vec::new();
        let mut exclusions = Vec::new();
        for (n, rule) in all.rules.into_iter().enumerate() {
            let id = rule.id.clone().map_or_else(|| RuleId::new(format!("custom.{n}")), Ok)?;
            let exclusion = rule.unless.as_ref().map(|form| {
                exclusions.push(regex_text(&expanded(&all.macros, form)));
                exclusions.len() - 1
            });
            list.extend(patterns(&id, &Arc::new(rule), exclusion, &all.macros, &slots)?);
        }
        Ok(Self { index: OnceLock::new(), list, exclusions, slots })
    }

    fn new_index(&self) -> std::result::Result<RegexIndex, RegexError> {
        let options = RegexOptions { max_bytes: PATTERN_MAX_BYTES, ..RegexOptions::ignoring_case() };
        let patterns = self.list.iter().map(|pattern| pattern.text.as_str());
        let expressions: Vec<&str> = patterns.chain(self.exclusions.iter().map(String::as_str)).collect();
        options.index(&expressions, KEPT_PATTERNS_MAX_BYTES)
    }

    /// Returns the ids of the rules, each once, in the order of their files.
    pub(super) fn rule_ids(&self) -> impl Iterator<Item = &RuleId> {
        let mut previous = None;
        self.list.iter().map(|pattern| &pattern.id).filter(move |id| previous.replace(*id) != Some(*id))
    }

    /// Returns the patterns whose literals occur in a text, in the order of their files.
    pub(super) fn candidates<'p>(&'p self, text: &'p str) -> impl Iterator<Item = PatternCandidate<'p>> {
        // The tests compile the rules of the crate, and `from_toml` compiles those of the caller.
        let index = self.index.get_or_init(|| self.new_index().ok().map(Arc::new)).as_deref();
        let candidates = index.into_iter().flat_map(move |index| {
            let positions = index.candidates(text).into_iter();
            positions.map(move |position| (position, index))
        });
        candidates.filter_map(|(position, index)| {
            let pattern = self.list.get(position)?;
            Some(PatternCandidate { pattern, position, patterns: self, index })
        })
    }

    pub(super) fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.of(name)
    }
}

fn patterns(
    id: &RuleId,
    rule: &Arc<FactRule>,
    exclusion: Option<usize>,
    macros: &Macros,
    slots: &Slots,
) -> Result<Vec<FactPattern>> {
    if slots.of(&rule.slot).is_none() {
        return Err(invalid(&format!("the slot '{}' has no sentences; add it to [[slots]]", rule.slot)));
    }
    let pattern = |form: &String| {
        let text = regex_text(&expanded(macros, form));
        if rule.value.is_none() && !text.contains("(?P<v>") {
            return Err(invalid(&format!("a pattern of '{}' has neither a group 'v' nor a value", rule.slot)));
        }
        let language = language_of(form);
        Ok(FactPattern { id: id.clone(), text, exclusion, language, rule: Arc::clone(rule) })
    };
    rule.forms.iter().map(pattern).collect()
}

fn invalid(message: &str) -> Error {
    Error::invalid("fact patterns", message)
}

#[cfg(test)]
mod tests;
