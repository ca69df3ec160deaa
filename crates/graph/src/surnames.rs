//! Chinese surnames, and what cannot follow them in a name.

use memory_engine_rule_data::{Words, data};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Surnames {
    surnames: String,
    double_surnames: Words,
    never_in_names: String,
    pub(crate) not_names: Words,
}

data!(pub(crate) SURNAMES: Surnames = "zh/surnames.toml");

/// Returns the number of characters of the surname that a text begins with.
pub(crate) fn surname_length(folded: &[char]) -> Option<usize> {
    let begin: String = folded.iter().take(2).collect();
    if SURNAMES.double_surnames.contains(&begin) {
        return Some(2);
    }
    folded.first().filter(|c| SURNAMES.surnames.contains(**c)).map(|_| 1)
}

/// Returns false for particles, pronouns, verbs and prepositions that are no part of a name.
pub(crate) fn may_be_in_name(c: char) -> bool {
    !SURNAMES.never_in_names.contains(c)
}
