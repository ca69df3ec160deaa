//! Patterns: regular expressions on one sentence that enter a scene, leave it or label the message.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use memory_engine_core::{Error, Result, RuleId};
use memory_engine_rule_data::data;
use regex::{RegexSet, RegexSetBuilder};
use serde::{Deserialize, Serialize};

use crate::message::{MessagePart, Sentence};

/// A pattern that enters a scene, leaves it or labels a message.
///
/// A pattern is tested on each sentence of the message, in lower case, without apostrophes and without speech in
/// quotation marks. In an expression, `{name}` stands for a class of words of the built-in data files, and line breaks
/// with the indentation after them are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ScenePattern {
    /// The id, unique among all patterns.
    pub id: RuleId,
    /// The scene that is entered or left, or the label.
    pub scene: String,
    /// The effect of a match.
    pub effect: PatternEffect,
    /// Words of the list with this scene and effect. They have this effect only in a sentence that this pattern, or
    /// another one with the word, matches. Default: none; the pattern then needs no word.
    #[serde(default)]
    pub words: Vec<String>,
    /// Regular expressions. One of them must match the sentence.
    #[serde(rename = "match")]
    pub forms: Vec<String>,
    /// Regular expressions. None of them may match the sentence.
    #[serde(default)]
    pub unless: Vec<String>,
    /// The parts of a message on which the pattern is tested. Default: all but actions.
    #[serde(default = "all_but_actions")]
    pub parts: Vec<MessagePart>,
    /// The scene in which the session must be. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The scene in which the session must not be. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// The weight of a match as evidence. The effect needs matches of different patterns with a sum of at least
    /// [`FULL_WEIGHT`](Self::FULL_WEIGHT). A negative weight is evidence against the effect. Default: 100, which is
    /// sufficient alone.
    #[serde(default = "full_weight")]
    pub weight: i32,
    /// True if the sentence must be the only one of the message. Default: false.
    #[serde(default)]
    pub alone: bool,
    /// True if the message must be a long plain one about daily life. Default: false.
    #[serde(default)]
    pub long_daily_life: bool,
}

impl ScenePattern {
    /// The sum of weights at which patterns take effect.
    pub const FULL_WEIGHT: i32 = 100;
}

/// The effect of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PatternEffect {
    /// The message gets the label.
    Label,
    /// The session enters the scene.
    Enter,
    /// The session leaves the scene.
    Exit,
}

fn all_but_actions() -> Vec<MessagePart> {
    vec![MessagePart::Plain, MessagePart::Paren, MessagePart::DoubleParen]
}

const fn full_weight() -> i32 {
    ScenePattern::FULL_WEIGHT
}

/// The contents of the pattern files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternFile {
    classes: BTreeMap<String, Class>,
    patterns: Vec<ScenePattern>,
}

/// A part of a regular expression that a pattern refers to by name: alternatives, or one expression.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Class {
    Expression(String),
    Alternatives(Vec<String>),
}

data!(BUILT_IN: PatternFile = "classes.toml", "en/classes.toml", "zh/classes.toml", "en/enter.toml", "zh/enter.toml",
    "en/exit.toml", "zh/exit.toml",
    "en/evidence.toml",
    "zh/evidence.toml", "en/meta.toml", "zh/meta.toml");

/// The built-in patterns, compiled at the first use.
static BUILT_IN_SET: LazyLock<Option<Arc<PatternSet>>> =
    LazyLock::new(|| PatternSet::compile(&BUILT_IN.patterns).ok().map(Arc::new));

/// Maximum depth of classes within classes.
const CLASS_DEPTH: usize = 5;
/// Memory limits of the compiled expressions and of their lazy automaton, in bytes.
const SET_MAX_BYTES: usize = 64 << 20;
const SET_DFA_MAX_BYTES: usize = 8 << 20;

/// Returns the built-in patterns.
pub(crate) fn built_in() -> &'static [ScenePattern] {
    &BUILT_IN.patterns
}

/// Compiled patterns.
#[derive(Debug)]
pub(crate) struct PatternSet {
    /// The expression of pattern n at 2n, and its exceptions at 2n + 1.
    set: RegexSet,
}

/// Matches nothing: the exceptions of a pattern that has none.
const NEVER: &str = r"[^\s\S]";

impl PatternSet {
    /// Returns the compiled patterns. The built-in ones are compiled once in a process.
    ///
    /// # Errors
    /// `InvalidInput` for a regular expression that does not compile or is too large.
    pub(crate) fn of(patterns: &[ScenePattern]) -> Result<Arc<Self>> {
        if patterns == built_in()
            && let Some(set) = &*BUILT_IN_SET
        {
            return Ok(Arc::clone(set));
        }
        Self::compile(patterns).map(Arc::new)
    }

    fn compile(patterns: &[ScenePattern]) -> Result<Self> {
        let expressions: Vec<String> =
            patterns.iter().flat_map(|pattern| [expand(&pattern.forms), expand(&pattern.unless)]).collect();
        let built =
            RegexSetBuilder::new(&expressions).size_limit(SET_MAX_BYTES).dfa_size_limit(SET_DFA_MAX_BYTES).build();
        built.map(|set| Self { set }).map_err(|error| {
            let is_invalid = |at: &usize| RegexSet::new([&expressions[*at]]).is_err();
            let invalid = (0..expressions.len()).find(is_invalid).map(|at| patterns[at / 2].id.as_str());
            Error::invalid("scene rules", format!("the pattern '{}': {error}", invalid.unwrap_or("(all)")))
        })
    }

    /// Returns the indexes of the patterns that match a sentence, without regard to the parts and the scene.
    pub(crate) fn matches(&self, sentence: &Sentence) -> Vec<usize> {
        let matches = self.set.matches(&sentence.text.replace('\'', ""));
        matches.iter().filter(|at| at % 2 == 0 && !matches.matched(at + 1)).map(|at| at / 2).collect()
    }
}

/// Joins expressions and expands their classes. Word boundaries and word characters are those of ASCII: a Latin word
/// may stand next to a Chinese one, and the automaton stays small.
fn expand(list: &[String]) -> String {
    if list.is_empty() {
        return NEVER.to_owned();
    }
    let mut expression = list.iter().map(|form| format!("(?:{})", on_one_line(form))).collect::<Vec<_>>().join("|");
    for _ in 0..CLASS_DEPTH {
        for (name, class) in &BUILT_IN.classes {
            let placeholder = format!("{{{name}}}");
            if expression.contains(&placeholder) {
                expression = expression.replace(&placeholder, &class.expression());
            }
        }
    }
    expression.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[0-9a-z'-]").replace(r"\d", "[0-9]")
}

/// Removes line breaks and the indentation after them.
fn on_one_line(expression: &str) -> String {
    expression.lines().map(str::trim_start).collect()
}

impl Class {
    fn expression(&self) -> String {
        match self {
            Self::Expression(expression) => format!("(?:{})", on_one_line(expression)),
            Self::Alternatives(list) => format!("(?:{})", list.join("|")),
        }
    }
}

#[cfg(test)]
mod tests;
