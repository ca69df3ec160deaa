//! Literals that every match of an expression contains.

use std::collections::BTreeSet;

use regex_automata::util::syntax;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Alternative literals in lower case. Every match contains at least one of them.
pub(super) type LiteralGroup = BTreeSet<String>;

/// Maximum number of literals in a group.
const GROUP_MAX_LITERALS: usize = 256;
/// Maximum number of characters of a class that counts as a group of literals.
const CLASS_MAX_CHARACTERS: usize = 32;
/// Minimum length of the shortest literal of a group, in bytes. A single letter occurs in nearly every text.
const LITERAL_MIN_BYTES: usize = 2;
/// Maximum number of groups of an expression.
const MAX_GROUPS: usize = 8;

/// Returns groups of literals that occur in the [lower-case form](lower_case) of every text that an expression matches,
/// the most selective group first. An expression without such literals has no groups.
///
/// # Errors
/// Describes the error if the expression is invalid.
pub(super) fn required_literals(expression: &str) -> Result<Vec<LiteralGroup>, String> {
    // The literals are compared in lower case. With `case_insensitive`, the parser would split them into classes.
    let hir = syntax::parse_with(expression, &syntax::Config::new()).map_err(|error| error.to_string())?;
    let mut groups = groups_of(&hir);
    groups.sort_by_key(|group| std::cmp::Reverse(selectivity(group)));
    groups.dedup();
    groups.truncate(MAX_GROUPS);
    Ok(groups)
}

/// Returns a text in lower case, so that two texts that differ only in the case of ASCII letters become equal, as in a
/// search that ignores case.
pub(super) fn lower_case(text: &str) -> String {
    // The long s is the only further character that matches an ASCII letter and is its own lower-case form.
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ſ' { 's' } else { c }).collect()
}

fn groups_of(hir: &Hir) -> Vec<LiteralGroup> {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok();
            text.and_then(|text| group([text.to_owned()])).into_iter().collect()
        }
        HirKind::Class(Class::Unicode(class)) => {
            let count: usize = class.iter().map(|range| range.len()).sum();
            let is_small = count <= CLASS_MAX_CHARACTERS;
            let characters = class.iter().filter(|_| is_small).flat_map(|range| range.start()..=range.end());
            let literals: Vec<String> = characters.map(String::from).collect();
            group(literals).into_iter().collect()
        }
        HirKind::Class(Class::Bytes(_)) | HirKind::Empty | HirKind::Look(_) => Vec::new(),
        HirKind::Repetition(repetition) if repetition.min == 0 => Vec::new(),
        HirKind::Repetition(repetition) => groups_of(&repetition.sub),
        HirKind::Capture(capture) => groups_of(&capture.sub),
        HirKind::Concat(parts) => parts.iter().flat_map(groups_of).collect(),
        HirKind::Alternation(alternatives) => {
            let best = |hir| groups_of(hir).into_iter().max_by_key(selectivity);
            let groups: Option<Vec<LiteralGroup>> = alternatives.iter().map(best).collect();
            groups.and_then(|groups| group(groups.into_iter().flatten())).into_iter().collect()
        }
    }
}

/// Returns the literals in lower case, or `None` if they rule out hardly any text.
fn group(literals: impl IntoIterator<Item = String>) -> Option<LiteralGroup> {
    let mut group = LiteralGroup::new();
    for literal in literals {
        // Only for ASCII letters is it certain that equal texts have equal lower-case forms.
        if !literal.chars().all(|c| c.is_ascii() || !(c.is_uppercase() || c.is_lowercase())) {
            return None;
        }
        group.insert(lower_case(&literal));
    }
    let is_selective = group.iter().all(|literal| literal.len() >= LITERAL_MIN_BYTES);
    (is_selective && !group.is_empty() && group.len() <= GROUP_MAX_LITERALS).then_some(group)
}

/// Returns the length of the shortest literal; of two groups with equal lengths, the one with fewer literals wins.
fn selectivity(group: &LiteralGroup) -> (usize, std::cmp::Reverse<usize>) {
    (group.iter().map(String::len).min().unwrap_or(0), std::cmp::Reverse(group.len()))
}

#[cfg(test)]
mod tests;
