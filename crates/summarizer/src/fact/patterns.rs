//! The sentences that tell a fact, as data.

use std::collections::BTreeMap;

use memory_engine_core::{Error, Result};
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use crate::{
    Language, Polarity,
    fact::{
        slot::{Slot, Slots},
        value::Read,
    },
};

const PATTERNS: &str = include_str!("patterns.toml");

/// The patterns by which [`RuleFacts`](crate::RuleFacts) finds facts: those of the crate, and the caller's own.
///
/// A file has `[macros]`, `[[slots]]` with the sentences that tell a fact, and `[[patterns]]` with regular expressions; see
/// `patterns.toml` and `slots.toml` of this crate for all there is. A pattern needs the group `v` or a fixed `value`.
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
///     [[patterns]]
///     slot = "team"
///     read = "favorite"
///     match = ['\bi support %v', '%wo是%zv的?球迷']
/// "#)?;
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FactPatterns {
    set: RegexSet,
    list: Vec<Pattern>,
    slots: Slots,
}

/// One regular expression, and what it tells.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) find: Regex,
    pub(crate) slot: String,
    pub(crate) polarity: Polarity,
    pub(crate) value: Option<Fixed>,
    pub(crate) read: Read,
    pub(crate) bounded: bool,
    pub(crate) language: Language,
}

/// A value that the pattern itself names.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Fixed {
    Same(String),
    Each { en: String, zh: String },
}

impl Fixed {
    pub(crate) fn value(&self, language: Language) -> &str {
        match self {
            Self::Same(value) => value,
            Self::Each { en, zh } => language.pick(zh, en),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    macros: BTreeMap<String, String>,
    #[serde(default)]
    slots: Vec<Slot>,
    #[serde(default)]
    patterns: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    slot: String,
    #[serde(default = "positive")]
    polarity: Polarity,
    value: Option<Fixed>,
    #[serde(default)]
    read: Read,
    #[serde(default)]
    bounded: bool,
    #[serde(rename = "match")]
    forms: Vec<String>,
}

fn positive() -> Polarity {
    Polarity::Positive
}

impl FactPatterns {
    /// The crate's own patterns.
    ///
    /// # Errors
    /// `InvalidInput` when they cannot be read, which the crate's tests rule out.
    pub fn built_in() -> Result<Self> {
        Self::of(Vec::new())
    }

    /// The crate's own patterns and those of a TOML file. A slot or a macro of a name that is there takes its place.
    ///
    /// # Errors
    /// `InvalidInput` with the place for what is no TOML or no field of ours, no regular expression, or without a value,
    /// and for a slot without sentences.
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::of(vec![text])
    }

    fn of(more: Vec<&str>) -> Result<Self> {
        let (mut macros, mut slots, mut entries) = (BTreeMap::new(), Vec::new(), Vec::new());
        for text in [PATTERNS].into_iter().chain(more) {
            let file: File = toml::from_str(text).map_err(|e| wrong(e.to_string().trim_end()))?;
            macros.extend(file.macros);
            slots.extend(file.slots);
            entries.extend(file.patterns);
        }
        let slots = Slots::with(slots)?;
        let mut list = Vec::new();
        for entry in entries {
            if slots.of(&entry.slot).is_none() {
                return Err(wrong(&format!("the slot '{}' has no sentences; add it to [[slots]]", entry.slot)));
            }
            for form in &entry.forms {
                let find = compiled(&expanded(form, &macros))?;
                if entry.value.is_none() && !find.capture_names().any(|name| name == Some("v")) {
                    return Err(wrong(&format!("a pattern of '{}' has neither a group 'v' nor a value", entry.slot)));
                }
                let language = if form.chars().any(memory_engine_core::text::is_han)
                    || form.contains("%zv")
                    || form.contains("%wo")
                {
                    Language::Chinese
                } else {
                    Language::English
                };
                let Entry { slot, polarity, value, read, bounded, .. } = &entry;
                let (slot, value) = (slot.clone(), value.clone());
                list.push(Pattern { find, slot, polarity: *polarity, value, read: *read, bounded: *bounded, language });
            }
        }
        let set = RegexSetBuilder::new(list.iter().map(|pattern| pattern.find.as_str()))
            .case_insensitive(true)
            .size_limit(SIZE)
            .dfa_size_limit(SIZE)
            .build()
            .map_err(|e| wrong(&e.to_string()))?;
        Ok(Self { set, list, slots })
    }

    /// The patterns that a text fits.
    pub(crate) fn fitting<'p>(&'p self, text: &'p str) -> impl Iterator<Item = &'p Pattern> {
        self.set.matches(text).into_iter().map(|n| &self.list[n])
    }

    pub(crate) fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.of(name)
    }
}

/// Enough for all patterns together.
const SIZE: usize = 256 << 20;

fn compiled(form: &str) -> Result<Regex> {
    RegexBuilder::new(form).case_insensitive(true).build().map_err(|e| wrong(&e.to_string()))
}

fn wrong(message: &str) -> Error {
    Error::invalid("fact patterns", message)
}

/// The regular expression with its macros written out. A capital is a capital, whatever the case of the rest.
fn expanded(form: &str, macros: &BTreeMap<String, String>) -> String {
    let mut text = form.to_owned();
    // Longest names first: %zv is not %z and a v. Macros may hold others.
    let mut names: Vec<&String> = macros.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    for _ in 0..3 {
        for name in &names {
            text = text.replace(&format!("%{name}"), &macros[*name]);
        }
    }
    // The boundary of a word of letters: that of Unicode would have every Chinese text take the slow road.
    text = text.replace('’', "'").replace("\\b", "(?-u:\\b)");
    text.replace("(?-i:[A-Z])", "[A-Z]")
        .replace("[A-Z][a-z]+", "(?-i:[\\p{Lu}]\\p{Ll}+)")
        .replace("[A-Z]", "(?-i:\\p{Lu})")
}
