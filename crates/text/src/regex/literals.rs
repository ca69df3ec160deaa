//! Literals that every match of an expression contains.

use std::collections::BTreeSet;

use regex_automata::util::syntax;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Alternative literals in lower case. Every match contains at least one of them.
pub(super) type LiteralGroup = BTreeSet<String>;

/// Maximum number of literals in a group.
const GROUP_MAX_LITERALS: usize = 256;
/// Maximum number of characters of a class that is read as a group of literals.
const CLASS_MAX_CHARACTERS: usize = 32;
/// Minimum length of the shortest literal of a group, in bytes. A single letter occurs in nearly every text; a single
/// Chinese character has 3 bytes.
const LITERAL_MIN_BYTES: usize = 2;
/// Maximum number of groups of an expression. The most selective ones are used.
const MAX_GROUPS: usize = 8;

/// Returns groups of literals. The [lower-case form](lower_case) of every text that the expression matches contains at
/// least one literal of each group. The most selective group comes first. An expression without such literals has no
/// groups.
///
/// # Errors
/// Describes the error if the expression is invalid.
pub(super) fn required_literals(expression: &str) -> Result<Vec<LiteralGroup>, String> {
    // The literals are compared in lower case. With `case_insensitive`, the parser would turn each letter into a class
    // such as [Aa].
    let hir = syntax::parse_with(expression, &syntax::Config::new()).map_err(|error| error.to_string())?;
    let mut groups = groups_of(&hir);
    groups.sort_by_key(|group| std::cmp::Reverse(selectivity(group)));
    groups.dedup();
    groups.truncate(MAX_GROUPS);
    Ok(groups)
}

/// Folds a text, so that two texts that a search without regard to case finds equal become equal.
pub(super) fn lower_case(text: &str) -> String {
    // Such a search for `s` also matches ſ (U+017F), which `to_lowercase` does not change.
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
            // If one alternative has no literals, a match may have none.
            let best = |hir| groups_of(hir).into_iter().max_by_key(selectivity);
            let groups: Option<Vec<LiteralGroup>> = alternatives.iter().map(best).collect();
            groups.and_then(|groups| group(groups.into_iter().flatten())).into_iter().collect()
        }
    }
}

/// Returns the literals in lower case, or `None` if they are not selective or cannot be compared in lower case.
fn group(literals: impl IntoIterator<Item = String>) -> Option<LiteralGroup> {
    let mut group = LiteralGroup::new();
    for literal in literals {
        // Other letters can match characters with another lower-case form (Σ, σ, ς).
        if !literal.chars().all(|c| c.is_ascii() || !(c.is_uppercase() || c.is_lowercase())) {
            return None;
        }
        group.insert(lower_case(&literal));
    }
    let is_selective = group.iter().all(|literal| literal.len() >= LITERAL_MIN_BYTES);
    (is_selective && !group.is_empty() && group.len() <= GROUP_MAX_LITERALS).then_some(group)
}

/// Returns a key to compare groups by: the length of the shortest literal, then fewer literals.
fn selectivity(group: &LiteralGroup) -> (usize, std::cmp::Reverse<usize>) {
    (group.iter().map(String::len).min().unwrap_or(0), std::cmp::Reverse(group.len()))
}

#[cfg(test)]
mod tests;
