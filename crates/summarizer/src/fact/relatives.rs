//! Rewrites statements about the speaker's relatives, so that the rules for first-person statements read them.

use std::collections::BTreeMap;

use crate::data::{Pattern, WordList, data};

data! {
    DATA = "zh/relatives.toml", "en/relatives.toml";
    Pattern: statement, not_theirs, zh_statement, zh_not_theirs;
    BTreeMap<String, String>: verbs, one_name;
    WordList: only_one;
}

/// Returns the relative of a sentence about a relative of the speaker, and the sentence in the first person of that
/// relative. Returns `None` if it is not about a relative, or also about another person.
pub(super) fn as_first_person(sentence: &str) -> Option<(String, String)> {
    if DATA.zh_statement.is_match(sentence) { zh_as_first_person(sentence) } else { en_as_first_person(sentence) }
}

fn zh_as_first_person(sentence: &str) -> Option<(String, String)> {
    let found = DATA.zh_statement.captures(sentence)?;
    let rest = found["rest"].trim();
    let is_question = sentence.trim_end().ends_with(['?', '？']);
    let is_statement = !rest.is_empty() && !is_question && !DATA.zh_not_theirs.is_match(rest);
    is_statement.then(|| (canonical_name(&found["kin"]).to_owned(), format!("我{rest}")))
}

fn en_as_first_person(sentence: &str) -> Option<(String, String)> {
    let found = DATA.statement.captures(sentence)?;
    let rest = &found["rest"];
    let verb = DATA.verbs.get(&found["verb"].trim().to_lowercase())?;
    if DATA.not_theirs.is_match(rest) {
        return None;
    }
    let adverb = &found["adverb"];
    // "My sister is also …" and "My sister also likes …"
    let statement =
        if verb.starts_with('\'') { format!("I{verb}{adverb}{rest}") } else { format!("I{adverb}{verb}{rest}") };
    Some((canonical_name(&found["kin"].to_lowercase()).to_owned(), statement))
}

/// Returns the canonical name of a relative or an animal: `mother` for `mom`.
pub(super) fn canonical_name(word: &str) -> &str {
    DATA.one_name.get(word).map_or(word, String::as_str)
}

/// Returns true if a person has at most one such relative, for example a mother.
pub(super) fn is_unique(kin: &str) -> bool {
    DATA.only_one.contains(kin) || kin.starts_with("fianc")
}

#[cfg(test)]
mod tests;
