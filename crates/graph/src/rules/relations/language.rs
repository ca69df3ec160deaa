//! The patterns of relations in each language.

use std::{collections::BTreeMap, sync::LazyLock};

use memory_engine_text::{Macros, Words, data};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::entity::EntityKind;

use super::marks::MARK_PATTERN;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageData {
    attributes: Words,
    pronouns: Words,
    possessives: Words,
    possessive_ending: String,
    plural_possessives: Words,
    /// A list of persons, with `{name}` for a name.
    list: String,
    person_nouns: Words,
    unreal: Words,
    negations: Words,
    prepositions: Words,
    conjunctions: Words,
    /// The text of a relation by a noun: `{role} of`.
    role_relation: String,
    role_leads_from_y: bool,
    role_patterns: Words,
    fragments: Macros,
    roles: Vec<RoleData>,
    patterns: Vec<PatternData>,
    kinds: Vec<KindData>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindData {
    kind: EntityKind,
    #[serde(default)]
    overrides: bool,
    patterns: Words,
}

/// The kinds of entities that a relation may have at its ends.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct KindRule {
    pub(super) source: Option<EntityKind>,
    pub(super) target: Option<EntityKind>,
    not_source: Option<EntityKind>,
    not_target: Option<EntityKind>,
    /// True if the kinds must be known.
    #[serde(default)]
    strict: bool,
}

#[derive(Debug, Deserialize)]
struct RoleData {
    id: String,
    words: Words,
    #[serde(flatten)]
    kinds: KindRule,
}

#[derive(Debug, Deserialize)]
struct PatternData {
    id: String,
    relation: String,
    patterns: Words,
    #[serde(flatten)]
    kinds: KindRule,
}

data!(DATA: BTreeMap<String, LanguageData> = "en/relations.toml", "zh/relations.toml");

/// The languages with their compile patterns.
pub(super) static LANGUAGES: LazyLock<Vec<LanguagePatterns>> =
    LazyLock::new(|| DATA.values().map(LanguagePatterns::new).collect());

/// A pattern of a relation.
pub(super) struct RelationPattern {
    pub(super) id: String,
    pub(super) relation: String,
    pub(super) kinds: KindRule,
    pub(super) regex: Regex,
}

/// Patterns of the words next to a name that show its kind.
pub(super) struct KindPatterns {
    pub(super) kind: EntityKind,
    /// True if they replace a kind that the name itself shows.
    pub(super) overrides: bool,
    pub(super) patterns: Vec<Regex>,
}

/// A noun of a relation.
pub(super) struct Role {
    pub(super) id: String,
    pub(super) kinds: KindRule,
}

/// The patterns of a language.
pub(super) struct LanguagePatterns {
    data: &'static LanguageData,
    pub(super) role_leads_from_y: bool,
    pub(super) patterns: Vec<RelationPattern>,
    pub(super) role_patterns: Vec<Regex>,
    /// In the order in which they are tried.
    pub(super) kinds: Vec<KindPatterns>,
    roles: BTreeMap<String, Role>,
    unreal: Regex,
    negations: Regex,
    person_nouns: Regex,
    prepositions: Regex,
    conjunctions: Regex,
    /// Anchored at the start of the text, as `possessives`.
    pub(super) pronouns: Regex,
    pub(super) possessives: Regex,
    pub(super) attributes: Regex,
    pub(super) plural_possessives: Regex,
    pub(super) list: Regex,
}

impl LanguagePatterns {
    fn new(data: &'static LanguageData) -> Self {
        let macros = data.macros();
        let mut patterns = Vec::new();
        for pattern in &data.patterns {
            for text in pattern.patterns.iter() {
                patterns.push(RelationPattern {
                    id: pattern.id.clone(),
                    relation: pattern.relation.clone(),
                    kinds: pattern.kinds,
                    regex: compile(&macros.expanded(text)),
                });
            }
        }
        let compile_all = |texts: &Words| texts.iter().map(|text| compile(&macros.expanded(text))).collect();
        let mut kinds = Vec::new();
        for kind in &data.kinds {
            let patterns = compile_all(&kind.patterns);
            kinds.push(KindPatterns { kind: kind.kind, overrides: kind.overrides, patterns });
        }
        let mut roles = BTreeMap::new();
        for role in &data.roles {
            for word in role.words.iter() {
                roles.insert(word.to_owned(), Role { id: role.id.clone(), kinds: role.kinds });
            }
        }
        Self {
            data,
            role_leads_from_y: data.role_leads_from_y,
            patterns,
            role_patterns: compile_all(&data.role_patterns),
            kinds,
            roles,
            unreal: any_of(&data.unreal, "", ""),
            negations: any_of(&data.negations, "", ""),
            person_nouns: any_of(&data.person_nouns, "", ""),
            prepositions: any_of(&data.prepositions, "", r"\s*$"),
            conjunctions: any_of(&data.conjunctions, r"^\s*", ""),
            pronouns: any_of(&data.pronouns, "^", ""),
            possessives: any_of(&data.possessives, "^", ""),
            attributes: any_of(&data.attributes, "", r"\s*$"),
            plural_possessives: any_of(&data.plural_possessives, "", ""),
            list: compile(&macros.expanded(&data.list)),
        }
    }

    /// Returns the role that a word names.
    pub(super) fn role(&self, word: &str) -> Option<&Role> {
        self.roles.get(&word.to_lowercase())
    }

    /// Returns the text of the relation by a role.
    pub(super) fn role_relation(&self, word: &str) -> String {
        self.data.role_relation.replace("{role}", &word.to_lowercase())
    }

    /// Returns the ending that makes a name possessive.
    pub(super) fn possessive_ending(&self) -> &'static str {
        &self.data.possessive_ending
    }

    /// Returns true for a condition, a guess, a wish or a question.
    pub(super) fn is_unreal(&self, sentence: &str) -> bool {
        self.unreal.is_match(sentence)
    }

    /// Returns true if a clause has a negation.
    pub(super) fn is_denied(&self, clause: &str) -> bool {
        self.negations.is_match(clause)
    }

    /// Returns true if a text has a noun for a person, such as "the doctor". A pronoun may refer to it.
    pub(super) fn has_person_noun(&self, text: &str) -> bool {
        self.person_nouns.is_match(text)
    }

    /// Returns true if the text before a name makes it a part of a longer phrase.
    pub(super) fn continues_phrase(&self, before: &str) -> bool {
        // ", and Mira came" begins a new clause.
        !before.trim_end().ends_with(", and") && self.prepositions.is_match(before)
    }

    /// Returns true if the text after a match continues a list.
    pub(super) fn continues_list(&self, after: &str) -> bool {
        self.conjunctions.is_match(after)
    }
}

impl LanguageData {
    /// Returns the placeholders of the patterns: fragments, names and roles.
    fn macros(&self) -> Macros {
        let mut words: Vec<&str> = self.roles.iter().flat_map(|role| role.words.iter()).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let mut macros = self.fragments.clone();
        macros.insert("role", format!("(?P<role>{})", words.join("|")));
        macros.insert("x", format!("(?P<x>{MARK_PATTERN})"));
        macros.insert("y", format!("(?P<y>{MARK_PATTERN})"));
        macros.insert("name", MARK_PATTERN);
        macros
    }
}

/// Returns a regex that finds any of these words, as whole words in scripts with spaces.
fn any_of(words: &Words, before: &str, after: &str) -> Regex {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut alternatives: Vec<String> = Vec::new();
    for word in words.iter() {
        let start = if is_word(word.chars().next()) { r"\b" } else { "" };
        let end = if is_word(word.chars().next_back()) { r"\b" } else { "" };
        alternatives.push(format!("{start}{}{end}", regex::escape(word)));
    }
    // Without words the regex must never match.
    let list = if alternatives.is_empty() { r"[^\s\S]".to_owned() } else { alternatives.join("|") };
    compile(&format!("{before}(?:{list}){after}"))
}

fn compile(text: &str) -> Regex {
    match RegexBuilder::new(text).case_insensitive(true).build() {
        Ok(regex) => regex,
        #[expect(clippy::panic, reason = "the patterns are part of the crate, and a test compiles each of them")]
        Err(error) => panic!("a pattern of the crate does not compile: {error}"),
    }
}

impl KindRule {
    /// Returns true if a relation may lead from an entity of the first kind to one of the second.
    pub(super) fn allow(&self, source: EntityKind, target: EntityKind) -> bool {
        self.allow_end(self.source, self.not_source, source) && self.allow_end(self.target, self.not_target, target)
    }

    fn allow_end(&self, required: Option<EntityKind>, excluded: Option<EntityKind>, kind: EntityKind) -> bool {
        let is_known = kind != EntityKind::Other;
        (is_known || !self.strict)
            && excluded != Some(kind)
            && (!is_known || required.is_none_or(|required| required == kind))
    }
}
