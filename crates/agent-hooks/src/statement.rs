//! Sorts the sentences of a prompt: those about the person, the conventions and the decisions of a project, and code.

use std::{ops::Range, sync::LazyLock};

use memory_engine::context::is_backchannel;
use memory_engine_text::{Macros, RegexIndex, RegexOptions, data, fenced_blocks, sentences};
use serde::Deserialize;

/// Maximum number of characters of a sentence that is kept as a note. A longer one is a pasted text.
const MAX_NOTE_CHARS: usize = 300;
/// Memory limit of the compiled expressions that are kept, in bytes.
const KEPT_BYTES: usize = 8 << 20;
/// The beginnings of a sentence that gives the reason of the one before it.
const REASONS: [&str; 8] = ["reason:", "reason is", "because ", "why:", "原因", "理由", "因为", "由于"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RuleKind {
    Project,
    Person,
    Everywhere,
    Always,
    Convention,
    Decision,
    Code,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    macros: Macros,
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[cfg_attr(not(test), expect(dead_code, reason = "names the rule in the file, and in tests"))]
    id: String,
    kind: RuleKind,
    r#match: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
}

data!(FILE: RuleFile = "en/coding.toml", "zh/coding.toml");

/// The expressions of all rules, those of a rule next to each other.
static INDEX: LazyLock<RegexIndex> = LazyLock::new(|| {
    let expressions = FILE.rules.iter().flat_map(|rule| rule.r#match.iter().chain(&rule.unless));
    let expressions: Vec<String> = expressions.map(|expression| FILE.macros.expanded(expression)).collect();
    #[expect(clippy::panic, reason = "the expressions are part of the crate, and a test compiles each of them")]
    RegexOptions::ignoring_case().index(&expressions, KEPT_BYTES).unwrap_or_else(|error| panic!("{error}"))
});

/// The class of a note that a sentence becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteClass {
    /// A rule for the work on a project, such as "never npm".
    Convention,
    /// A decision, a setting or a lesson, with its reason.
    Decision,
    /// A sentence about the person, which holds in every project.
    Person,
}

impl NoteClass {
    /// The value of the metadata key of the notes.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Convention => "convention",
            Self::Decision => "decision",
            Self::Person => "person",
        }
    }
}

/// A sentence of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) text: String,
    /// True if it holds in all projects.
    pub(crate) is_everywhere: bool,
    pub(crate) class: Option<NoteClass>,
}

/// Returns the sentences of a prompt that are prose with content.
pub(crate) fn statements(words: &str) -> Vec<Statement> {
    let prose = prose(words);
    let mut found: Vec<Statement> = Vec::new();
    for range in sentences(&prose) {
        let text = prose[range].trim();
        if text.is_empty() || is_backchannel(text) {
            continue;
        }
        let lower = text.to_lowercase();
        match found.last_mut().filter(|last| last.class.is_some()) {
            Some(last) if REASONS.iter().any(|reason| lower.starts_with(reason)) => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => found.push(statement(text)),
        }
    }
    found
}

/// Returns the lines of a text that are no code and no output of a program.
pub(crate) fn prose(text: &str) -> String {
    let mut without_blocks = text.to_owned();
    for block in fenced_blocks(text).into_iter().rev() {
        without_blocks.replace_range(block.range, "");
    }
    let kept: Vec<&str> = without_blocks.lines().filter(|line| !kinds(line).contains(&RuleKind::Code)).collect();
    kept.join("\n").trim().to_owned()
}

fn statement(text: &str) -> Statement {
    let kinds = kinds(text);
    let has = |kind: RuleKind| kinds.contains(&kind);
    let names_project = has(RuleKind::Project);
    let is_personal = has(RuleKind::Person) && !names_project;
    let is_everywhere = has(RuleKind::Everywhere) || (!names_project && (is_personal || has(RuleKind::Always)));
    let is_question = text.ends_with(['?', '？']) || text.trim_end_matches('。').ends_with(['吗', '呢']);
    let class = if is_question || text.chars().count() > MAX_NOTE_CHARS {
        None
    } else if has(RuleKind::Convention) {
        Some(NoteClass::Convention)
    } else if has(RuleKind::Decision) {
        Some(NoteClass::Decision)
    } else {
        is_everywhere.then_some(NoteClass::Person)
    };
    Statement { text: text.to_owned(), is_everywhere: is_everywhere && !is_question, class }
}

/// Returns the kinds of the rules that match a sentence or a line.
fn kinds(text: &str) -> Vec<RuleKind> {
    let matched = INDEX.matches(text);
    let matches = |range: Range<usize>| matched.iter().any(|index| range.contains(index));
    let mut first = 0;
    let mut kinds = Vec::new();
    for rule in &FILE.rules {
        let unless = first + rule.r#match.len();
        let next = unless + rule.unless.len();
        if !kinds.contains(&rule.kind) && matches(first..unless) && !matches(unless..next) {
            kinds.push(rule.kind);
        }
        first = next;
    }
    kinds
}

#[cfg(test)]
mod tests;
