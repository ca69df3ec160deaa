//! Statements about the speaker's relatives.

use std::collections::BTreeMap;

use crate::data::{Pattern, Words, data};

data! {
    DATA = "zh/relatives.toml", "en/relatives.toml";
    Pattern: statement, not_theirs, zh_statement, zh_not_theirs;
    BTreeMap<String, String>: verbs, one_name;
    Words: only_one;
}

/// Returns the relative of a sentence about a relative of the speaker, and the sentence in the first person of that
/// relative. Returns `None` if it is not about a relative, or also about another person.
pub(super) fn turned(sentence: &str) -> Option<(String, String)> {
    if DATA.zh_statement.is_match(sentence) { zh_turned(sentence) } else { en_turned(sentence) }
}

fn zh_turned(sentence: &str) -> Option<(String, String)> {
    let found = DATA.zh_statement.captures(sentence)?;
    let rest = found["rest"].trim();
    let asked = sentence.trim_end().ends_with(['?', '？']);
    let theirs = !rest.is_empty() && !asked && !DATA.zh_not_theirs.is_match(rest);
    theirs.then(|| (one_name(&found["kin"]).to_owned(), format!("我{rest}")))
}

fn en_turned(sentence: &str) -> Option<(String, String)> {
    let found = DATA.statement.captures(sentence)?;
    let rest = &found["rest"];
    let verb = DATA.verbs.get(&found["verb"].trim().to_lowercase())?;
    if DATA.not_theirs.is_match(rest) {
        return None;
    }
    let adverb = &found["adverb"];
    // "My sister is also …" and "My sister also likes …"
    let own = if verb.starts_with('\'') { format!("I{verb}{adverb}{rest}") } else { format!("I{adverb}{verb}{rest}") };
    Some((one_name(&found["kin"].to_lowercase()).to_owned(), own))
}

/// Returns the one name by which facts name a relative or an animal.
pub(super) fn one_name(word: &str) -> &str {
    DATA.one_name.get(word).map_or(word, String::as_str)
}

/// Returns true if a person has at most one relative of that name.
pub(super) fn is_only_one(kin: &str) -> bool {
    DATA.only_one.contains(kin) || kin.starts_with("fianc")
}

#[cfg(test)]
mod tests;
