//! Expands the placeholders of rule files.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Parts of expressions, by name. `{name}` stands for a part in every expression of a rule file, and in other parts. A
/// part is one expression or a list of alternatives.
///
/// ```
/// use memory_engine_text::Macros;
///
/// let mut macros = Macros::default();
/// macros.insert("pet", "my {animal}");
/// macros.insert("animal", "dog|cat");
/// assert_eq!(macros.expanded("{pet}s?"), "(?:my (?:dog|cat))s?");
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Macros(BTreeMap<String, Part>);

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Part {
    Expression(String),
    Alternatives(Vec<String>),
}

/// Maximum depth of parts within parts. It ends the expansion of a part that contains itself.
const MAX_DEPTH: usize = 6;

impl Macros {
    /// Adds an expression, in place of a part of the same name.
    pub fn insert(&mut self, name: impl Into<String>, expression: impl Into<String>) {
        self.0.insert(name.into(), Part::Expression(expression.into()));
    }

    /// Adds the parts of another file, in place of those of the same names.
    pub fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Returns an expression on one line, with its placeholders expanded. Braces around anything but the name of a part
    /// stay, as in `\d{2}` and `\p{Han}`.
    pub fn expanded(&self, expression: &str) -> String {
        let mut expanded = String::new();
        self.expand(expression, MAX_DEPTH, &mut expanded);
        expanded
    }

    fn expand(&self, expression: &str, depth: usize, expanded: &mut String) {
        let expression = join_lines(expression);
        let mut rest = expression.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            expanded.push_str(before);
            let named = after.split_once('}').and_then(|(name, after)| Some((self.0.get(name)?, after)));
            match named.filter(|_| depth > 0) {
                Some((part, after)) => {
                    expanded.push_str("(?:");
                    match part {
                        Part::Expression(part) => self.expand(part, depth - 1, expanded),
                        Part::Alternatives(list) => self.expand(&list.join("|"), depth - 1, expanded),
                    }
                    expanded.push(')');
                    rest = after;
                }
                None => {
                    expanded.push('{');
                    rest = after;
                }
            }
        }
        expanded.push_str(rest);
    }
}

/// The indentation of lines in rule files.
const INDENTATION: &str = "  ";

/// Joins the lines of an expression, without their indentation. TOML drops the line break after `'''`, so that an
/// expression of one line may begin with its indentation, too.
pub fn join_lines(expression: &str) -> String {
    if expression.contains('\n') || expression.starts_with(INDENTATION) {
        expression.lines().map(str::trim_start).collect()
    } else {
        expression.to_owned()
    }
}

/// Returns the texts of a phrase with alternatives: `(a|b) c` stands for `a c` and `b c`. Parentheses do not nest.
pub fn alternatives(phrase: &str) -> Vec<String> {
    let Some((before, rest)) = phrase.split_once('(') else { return vec![phrase.to_owned()] };
    let Some((choices, after)) = rest.split_once(')') else { return vec![phrase.to_owned()] };
    let tails = alternatives(after);
    choices.split('|').flat_map(|choice| tails.iter().map(move |tail| format!("{before}{choice}{tail}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_expanded() {
        let macros: Macros = toml::from_str("who = 'i{tail}'\ntail = ['m', 're']\nself = 'x{self}'").unwrap();
        assert_eq!(macros.expanded(r"\b{who} \d{2} \p{Han} {other}"), r"\b(?:i(?:m|re)) \d{2} \p{Han} {other}");
        assert_eq!(macros.expanded("a\n  {tail}\n  b{"), "a(?:m|re)b{");
        assert_eq!(macros.expanded("    a {tail}"), "a (?:m|re)");
        assert_eq!(macros.expanded(" a"), " a");
        assert!(macros.expanded("{self}").ends_with("x{self}))))))"), "a part that contains itself ends");
    }

    #[test]
    fn alternatives_are_expanded() {
        assert_eq!(alternatives("(a|b) c(d|)"), ["a cd", "a c", "b cd", "b c"]);
        assert_eq!(alternatives("open (parenthesis"), ["open (parenthesis"]);
    }
}
