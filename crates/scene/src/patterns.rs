//! Patterns: regular expressions on one sentence that enter a scene, leave it or label the message.

use std::sync::{Arc, LazyLock};

use memory_engine_core::{Error, Result, RuleId, text::is_han};
use memory_engine_text::{Macros, RegexError, RegexIndex, RegexOptions, data};
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
    /// The id, unique among all patterns. A pattern without words whose id begins with `zh.` or `en.` is tested only on
    /// sentences with Chinese characters or with Latin letters.
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
    classes: Macros,
    patterns: Vec<ScenePattern>,
}

data!(BUILT_IN: PatternFile = "classes.toml", "en/classes.toml", "zh/classes.toml", "en/enter.toml", "zh/enter.toml",
    "en/exit.toml", "zh/exit.toml",
    "en/evidence.toml",
    "zh/evidence.toml", "en/meta.toml", "zh/meta.toml");

/// The built-in patterns, indexed at the first use.
static BUILT_IN_SET: LazyLock<Option<Arc<PatternSet>>> =
    LazyLock::new(|| PatternSet::indexed(&BUILT_IN.patterns).ok().map(Arc::new));

/// Options of the compiled expressions.
const PATTERN_OPTIONS: RegexOptions = RegexOptions { ignore_case: false, max_bytes: 16 << 20, dfa_max_bytes: 1 << 20 };
/// Memory limit of the compiled expressions that are kept, in bytes.
const KEPT_PATTERNS_MAX_BYTES: usize = 2 << 20;

/// Returns the built-in patterns.
pub(crate) fn built_in() -> &'static [ScenePattern] {
    &BUILT_IN.patterns
}

/// Patterns whose expressions are compiled when a sentence contains their literals.
#[derive(Debug)]
pub(crate) struct PatternSet {
    patterns: Vec<IndexedPattern>,
    /// The expressions of the patterns, and after them their exceptions.
    index: RegexIndex,
}

#[derive(Debug)]
struct IndexedPattern {
    /// The position of the exceptions in the index.
    exceptions: Option<usize>,
    /// True if a sentence without Chinese characters is not tested.
    needs_han: bool,
    /// True if a sentence without Latin letters is not tested.
    needs_latin: bool,
}

impl PatternSet {
    /// Returns the indexed patterns. The built-in ones are indexed once in a process.
    ///
    /// # Errors
    /// `InvalidInput` for a regular expression that is invalid or too large.
    pub(crate) fn of(patterns: &[ScenePattern]) -> Result<Arc<Self>> {
        if patterns == built_in()
            && let Some(set) = &*BUILT_IN_SET
        {
            return Ok(Arc::clone(set));
        }
        for pattern in patterns {
            for list in [&pattern.forms, &pattern.unless] {
                let checked = PATTERN_OPTIONS.index(&[expand(list)], 0).and_then(|index| index.check());
                checked.map_err(|e| Error::invalid("scene rules", format!("the pattern '{}': {e}", pattern.id)))?;
            }
        }
        let set = Self::indexed(patterns).map_err(|error| Error::invalid("scene rules", error.to_string()))?;
        Ok(Arc::new(set))
    }

    fn indexed(patterns: &[ScenePattern]) -> std::result::Result<Self, RegexError> {
        let mut expressions: Vec<String> = patterns.iter().map(|pattern| expand(&pattern.forms)).collect();
        let indexed = patterns.iter().map(|pattern| IndexedPattern {
            exceptions: (!pattern.unless.is_empty()).then(|| {
                expressions.push(expand(&pattern.unless));
                expressions.len() - 1
            }),
            needs_han: pattern.id.as_str().starts_with("zh.") && pattern.words.is_empty(),
            needs_latin: pattern.id.as_str().starts_with("en.") && pattern.words.is_empty(),
        });
        let patterns = indexed.collect();
        Ok(Self { patterns, index: PATTERN_OPTIONS.index(&expressions, KEPT_PATTERNS_MAX_BYTES)? })
    }

    /// Returns the indexes of the patterns that match a sentence, without regard to the parts and the scene.
    pub(crate) fn matches(&self, sentence: &Sentence) -> Vec<usize> {
        let text = sentence.text.replace('\'', "");
        let has_han = text.chars().any(is_han);
        let has_latin = text.chars().any(|c| c.is_ascii_alphabetic());
        let is_match = |position: &usize| {
            self.patterns.get(*position).is_some_and(|pattern| {
                (has_han || !pattern.needs_han)
                    && (has_latin || !pattern.needs_latin)
                    && self.index.is_match(*position, &text)
                    && !pattern.exceptions.is_some_and(|exceptions| self.index.is_match(exceptions, &text))
            })
        };
        self.index.candidates(&text).into_iter().filter(is_match).collect()
    }
}

/// Joins expressions and expands their classes. Word boundaries and word characters are those of ASCII: a Latin word
/// may stand next to a Chinese one, and the automaton stays small.
fn expand(list: &[String]) -> String {
    let forms = list.iter().map(|form| format!("(?:{})", BUILT_IN.classes.expanded(form)));
    let expression = forms.collect::<Vec<_>>().join("|");
    expression.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[0-9a-z'-]").replace(r"\d", "[0-9]")
}

#[cfg(test)]
mod tests;
