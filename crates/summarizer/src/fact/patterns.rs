//! Loads and compiles the rules of fact extraction from TOML.

use std::sync::{Arc, OnceLock};

use memory_engine_core::{Error, Language, Result, RuleId};
use memory_engine_rule_data::{RegexError, RegexOptions, SharedRegex, SharedRegexSet};
use serde::Deserialize;

use crate::{
    data::regex_text,
    fact::{
        slot::{Slot, Slots},
        template::{Macros, language_of},
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

const RULE_FILES: [&str; 4] = [
    rule_file!("en/rules.toml"),
    rule_file!("en/rules-life.toml"),
    rule_file!("zh/rules.toml"),
    rule_file!("zh/rules-life.toml"),
];

/// Memory limit of the compiled patterns of a language, in bytes.
const PATTERN_SET_MAX_BYTES: usize = 64 << 20;

/// Memory limit of the lazy automaton of the patterns of a language, in bytes.
const PATTERN_SET_DFA_MAX_BYTES: usize = 6 << 20;

/// Memory limit of the lazy automaton of one pattern, in bytes. A pattern runs only on sentences that it matches.
const SINGLE_DFA_MAX_BYTES: usize = 64 << 10;

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
///     match = ['\bi support %v', '%wo是%zv的?球迷']
/// "#)?;
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FactPatterns {
    /// The set of all patterns. It is compiled for the first sentence, because many processes read none.
    set: OnceLock<Option<LanguageSets>>,
    list: Vec<FactPattern>,
    slots: Slots,
}

/// One regular expression of a rule.
#[derive(Debug, Clone)]
pub(super) struct FactPattern {
    pub(super) id: RuleId,
    /// The text of the expression.
    text: String,
    /// The expression. It is compiled when the set finds its first match, because most processes use few of them.
    regex: OnceLock<Option<SharedRegex>>,
    /// The expression of `unless`, if the rule has one.
    exclusion: Option<SharedRegex>,
    pub(super) language: Language,
    pub(super) rule: Arc<FactRule>,
}

impl FactPattern {
    /// Returns the compiled expression.
    pub(super) fn regex(&self) -> Option<&SharedRegex> {
        self.regex.get_or_init(|| single_regex(&self.text).ok()).as_ref()
    }

    /// Returns true if the words of a message rule the pattern out.
    pub(super) fn is_excluded_by(&self, message: &str) -> bool {
        self.exclusion.as_ref().is_some_and(|exclusion| exclusion.is_match(message))
    }
}

/// The sets of the patterns of each language. One automaton for both languages would need more memory than two: each of
/// its states has a row for all bytes that a pattern of any language distinguishes.
#[derive(Debug, Clone)]
struct LanguageSets([LanguageSet; 2]);

#[derive(Debug, Clone)]
struct LanguageSet {
    /// The index of each pattern of the set in the list of all patterns.
    indexes: Vec<usize>,
    set: SharedRegexSet,
}

impl LanguageSets {
    fn new(list: &[FactPattern]) -> std::result::Result<Self, RegexError> {
        Ok(Self([LanguageSet::new(list, Language::English)?, LanguageSet::new(list, Language::Chinese)?]))
    }

    /// Returns the indexes of the patterns that match a text, in ascending order.
    fn matches(&self, text: &str) -> Vec<usize> {
        let Self(sets) = self;
        let mut found: Vec<usize> = sets.iter().flat_map(|set| set.matches(text)).collect();
        found.sort_unstable();
        found
    }
}

impl LanguageSet {
    fn new(list: &[FactPattern], language: Language) -> std::result::Result<Self, RegexError> {
        let of_language = list.iter().enumerate().filter(|(_, pattern)| pattern.language == language);
        let (indexes, texts): (Vec<usize>, Vec<&str>) = of_language.map(|(n, p)| (n, p.text.as_str())).unzip();
        let set = options(PATTERN_SET_DFA_MAX_BYTES).compile_set(&texts)?;
        Ok(Self { indexes, set })
    }

    fn matches(&self, text: &str) -> impl Iterator<Item = usize> {
        self.set.matches(text).into_iter().map(|n| self.indexes[n])
    }
}

fn single_regex(text: &str) -> std::result::Result<SharedRegex, RegexError> {
    options(SINGLE_DFA_MAX_BYTES).compile(text)
}

fn options(dfa_max_bytes: usize) -> RegexOptions {
    RegexOptions { ignore_case: true, max_bytes: PATTERN_SET_MAX_BYTES, dfa_max_bytes }
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
    /// True if the fact ends the former value, even for a relative that is not unique, such as a sister.
    #[serde(default)]
    pub(super) replaces: bool,
    /// True if the match is a fact even in a question or a condition: "should I walk my dog Rex?" names the dog.
    #[serde(default)]
    pub(super) presupposed: bool,
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
        let set = LanguageSets::new(&patterns.list).map_err(|error| invalid(&error.to_string()))?;
        Ok(Self { set: Some(set).into(), ..patterns })
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
        for (n, rule) in all.rules.into_iter().enumerate() {
            let id = rule.id.clone().map_or_else(|| RuleId::new(format!("custom.{n}")), Ok)?;
            list.extend(patterns(&id, &Arc::new(rule), &all.macros, &slots)?);
        }
        Ok(Self { set: OnceLock::new(), list, slots })
    }

    /// Returns the ids of the rules, each once, in the order of their files.
    pub(super) fn rule_ids(&self) -> impl Iterator<Item = &RuleId> {
        let mut previous = None;
        self.list.iter().map(|pattern| &pattern.id).filter(move |id| previous.replace(*id) != Some(*id))
    }

    /// Returns the patterns that match a text.
    pub(super) fn matching<'p>(&'p self, text: &'p str) -> impl Iterator<Item = &'p FactPattern> {
        // The tests compile the rules of the crate, and `from_toml` compiles those of the caller.
        let set = self.set.get_or_init(|| LanguageSets::new(&self.list).ok());
        set.iter().flat_map(move |set| set.matches(text)).map(|n| &self.list[n])
    }

    pub(super) fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.of(name)
    }
}

fn patterns(id: &RuleId, rule: &Arc<FactRule>, macros: &Macros, slots: &Slots) -> Result<Vec<FactPattern>> {
    if slots.of(&rule.slot).is_none() {
        return Err(invalid(&format!("the slot '{}' has no sentences; add it to [[slots]]", rule.slot)));
    }
    let exclusion = rule.unless.as_ref().map(|form| single_regex(&regex_text(&macros.expanded(form))));
    let exclusion = exclusion.transpose().map_err(|error| invalid(&error.to_string()))?;
    let pattern = |form: &String| {
        let text = regex_text(&macros.expanded(form));
        if rule.value.is_none() && !text.contains("(?P<v>") {
            return Err(invalid(&format!("a pattern of '{}' has neither a group 'v' nor a value", rule.slot)));
        }
        let language = language_of(form);
        Ok(FactPattern {
            id: id.clone(),
            text,
            regex: OnceLock::new(),
            exclusion: exclusion.clone(),
            language,
            rule: Arc::clone(rule),
        })
    };
    rule.forms.iter().map(pattern).collect()
}

fn invalid(message: &str) -> Error {
    Error::invalid("fact patterns", message)
}

#[cfg(test)]
mod tests;
