//! Ranks turns by their number of distinct words.

use std::collections::BTreeSet;

use memory_engine_core::{Record, Role, phrases::fold, text::is_han};

/// Returns the turns of the user with the most distinct words, in order of time.
pub(super) fn most_informative(turns: Vec<Record>, limit: usize) -> Vec<Record> {
    let is_by_user = |turn: &Record| turn.role.as_ref() != Some(&Role::ASSISTANT);
    let mut ranked: Vec<(usize, Record)> =
        turns.into_iter().filter(is_by_user).map(|turn| (distinct_word_count(&turn.text), turn)).collect();
    ranked.sort_by_key(|(words, _)| std::cmp::Reverse(*words));
    ranked.truncate(limit);
    ranked.sort_by_key(|(_, turn)| turn.occurred_at);
    ranked.into_iter().map(|(_, turn)| turn).collect()
}

/// Returns the number of distinct words. Each Han character counts as a word.
fn distinct_word_count(text: &str) -> usize {
    let folded = fold(text);
    let han: BTreeSet<char> = folded.chars().filter(|c| is_han(*c)).collect();
    let others = folded.split(|c: char| is_han(c) || !c.is_alphanumeric()).filter(|word| !word.is_empty());
    han.len() + others.collect::<BTreeSet<&str>>().len()
}
