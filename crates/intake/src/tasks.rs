//! Tasks that clients give to a model by themselves.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use memory_engine_core::text::normalize;
use memory_engine_text::{Macros, RegexIndex, RegexOptions, SharedRegex, data};
use serde::Deserialize;

use crate::pattern::valid;

/// Number of bytes at the beginning and at the end of a message in which a task is recognised.
const INSTRUCTION_BYTES: usize = 4096;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskRules {
    parts: Macros,
    regional: BTreeMap<String, String>,
    message: Vec<TaskRule>,
    system: Vec<TaskRule>,
}

/// A rule for a task. Its id is for the readers of the file and for its tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskRule {
    #[cfg_attr(not(test), expect(dead_code, reason = "names the rule in the file"))]
    id: String,
    begins: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
}

data!(RULES: TaskRules = "tasks.toml");

static MESSAGE_RULES: LazyLock<CompiledRules> = LazyLock::new(|| CompiledRules::new(&RULES.parts, &RULES.message));
static SYSTEM_RULES: LazyLock<CompiledRules> = LazyLock::new(|| CompiledRules::new(&RULES.parts, &RULES.system));

/// The rules. The expressions of a rule are compiled when a text first contains the words with which its task begins.
struct CompiledRules {
    /// Finds the rules whose words a text contains.
    begins: RegexIndex,
    rules: Vec<CompiledRule>,
}

struct CompiledRule {
    begins: LazyRegex,
    needs: Vec<LazyRegex>,
    unless: Vec<LazyRegex>,
}

/// An expression that is compiled at its first use.
struct LazyRegex {
    expression: String,
    compiled: OnceLock<SharedRegex>,
}

impl LazyRegex {
    fn new(expression: String) -> Self {
        Self { expression, compiled: OnceLock::new() }
    }

    fn is_match(&self, text: &str) -> bool {
        self.compiled.get_or_init(|| valid(RegexOptions::ignoring_case().compile(&self.expression))).is_match(text)
    }
}

impl CompiledRules {
    fn new(parts: &Macros, rules: &[TaskRule]) -> Self {
        let begins: Vec<String> =
            rules.iter().map(|rule| format!(r"^\s*(?:{})", parts.expanded(&rule.begins))).collect();
        let conditions =
            |list: &[String]| list.iter().map(|condition| LazyRegex::new(parts.expanded(condition))).collect();
        let compiled = rules.iter().zip(&begins).map(|(rule, begins)| CompiledRule {
            begins: LazyRegex::new(begins.clone()),
            needs: conditions(&rule.needs),
            unless: conditions(&rule.unless),
        });
        let rules = compiled.collect();
        Self { begins: valid(RegexOptions::ignoring_case().index(&begins, 0)), rules }
    }

    /// Returns the position of the first rule that a text matches.
    fn first_match(&self, text: &str) -> Option<usize> {
        // The conditions are about the instruction, which is at the beginning or, after a long history, at the end.
        let beginning = &text[..text.floor_char_boundary(INSTRUCTION_BYTES)];
        let end = &text[text.floor_char_boundary(text.len().saturating_sub(INSTRUCTION_BYTES))..];
        let found = self.matching(beginning, end);
        if found.is_some() || text.is_ascii() { found } else { self.matching(&folded(beginning), &folded(end)) }
    }

    fn matching(&self, beginning: &str, end: &str) -> Option<usize> {
        let is_match = |condition: &LazyRegex| condition.is_match(beginning) || condition.is_match(end);
        self.begins.candidates(beginning).into_iter().find(|rule| {
            let rule = &self.rules[*rule];
            rule.begins.is_match(beginning) && rule.needs.iter().all(is_match) && !rule.unless.iter().any(is_match)
        })
    }
}

/// Returns a text with the characters and words that the rules have.
fn folded(text: &str) -> String {
    let text = normalize(text);
    RULES.regional.iter().fold(text, |text, (word, usual)| text.replace(word, usual))
}

/// Returns true if a request is a task of its client: its last message is one, or its system prompt asks for one.
///
/// ```
/// use memory_engine_intake::is_client_task;
///
/// assert!(is_client_task("", "Generate a concise, 3-5 word title for this conversation."));
/// assert!(is_client_task("You are a title generator. You output only a title.", "I live in Faro."));
/// assert!(!is_client_task("You are helpful.", "Write a title for my blog post."));
/// ```
pub fn is_client_task(system: &str, message: &str) -> bool {
    is_task_message(message) || SYSTEM_RULES.first_match(system).is_some()
}

/// Returns true if a message of the user is a task of a client.
pub(crate) fn is_task_message(message: &str) -> bool {
    MESSAGE_RULES.first_match(message).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_compile() {
        for rules in [&*MESSAGE_RULES, &*SYSTEM_RULES] {
            for rule in &rules.rules {
                [&rule.begins]
                    .into_iter()
                    .chain(&rule.needs)
                    .chain(&rule.unless)
                    .for_each(|regex| _ = regex.is_match(""));
            }
        }
    }

    /// Each rule is the first that matches an example of `tests/tasks.toml`.
    #[test]
    fn each_rule_has_an_example() {
        let examples: std::collections::BTreeMap<String, Vec<String>> =
            toml::from_str(include_str!("../tests/tasks.toml")).unwrap();
        for (rules, compiled, place) in
            [(&RULES.message, &*MESSAGE_RULES, "message"), (&RULES.system, &*SYSTEM_RULES, "system")]
        {
            let mut found: Vec<&str> = examples[place]
                .iter()
                .map(|text| compiled.first_match(text).map_or_else(|| panic!("no rule: {text}"), |i| &*rules[i].id))
                .collect();
            found.sort_unstable();
            for rule in rules {
                assert!(found.contains(&rule.id.as_str()), "no example for {}", rule.id);
            }
            for text in &examples[&format!("not_{place}")] {
                let rule = compiled.first_match(text).map(|rule| &rules[rule].id);
                assert_eq!(rule, None, "{text}");
            }
        }
    }
}
