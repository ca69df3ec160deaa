//! Restates what a phrase takes for granted as a statement of its own: "with my bad knee" as "I have a bad knee", and
//! "my son being coeliac" as "my son is coeliac". The rules then read the statement.

use memory_engine_text::{Captures, Macros, RegexError, RegexIndex, RegexOptions};
use serde::Deserialize;

use crate::{
    data::{data, regex_text},
    fact::{assertion, template::expanded},
};

/// Memory limit of the compiled expressions that are kept, in bytes.
const KEPT_PATTERNS_MAX_BYTES: usize = 2 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RestatementFile {
    macros: Macros,
    restatements: Vec<RestatementEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RestatementEntry {
    /// The statements. `{name}` stands for a group of the expression; a statement with an empty group is left out.
    to: Vec<String>,
    /// An expression that no part of the sentence may match.
    unless: Option<String>,
    #[serde(rename = "match")]
    forms: Vec<String>,
}

#[derive(Deserialize)]
#[serde(try_from = "RestatementFile")]
struct Restatements {
    index: RegexIndex,
    /// The entry of each expression, and the position of its expression of `unless`.
    entries: Vec<(Vec<String>, Option<usize>)>,
}

data!(DATA: Restatements = "en/restatements.toml", "zh/restatements.toml");

impl TryFrom<RestatementFile> for Restatements {
    type Error = RegexError;

    fn try_from(file: RestatementFile) -> Result<Self, Self::Error> {
        let forms_of = |entry: &RestatementEntry| entry.forms.len();
        let forms = file.restatements.iter().map(forms_of).sum::<usize>();
        let exclusions: Vec<&String> = file.restatements.iter().filter_map(|entry| entry.unless.as_ref()).collect();
        let mut entries = Vec::new();
        let mut exclusion = forms;
        for entry in &file.restatements {
            let own = entry.unless.as_ref().map(|_| exclusion);
            entries.extend(entry.forms.iter().map(|_| (entry.to.clone(), own)));
            exclusion += usize::from(own.is_some());
        }
        let forms = file.restatements.iter().flat_map(|entry| &entry.forms);
        let texts: Vec<String> =
            forms.chain(exclusions).map(|form| regex_text(&expanded(&file.macros, form))).collect();
        let index = RegexOptions::ignoring_case().index(&texts, KEPT_PATTERNS_MAX_BYTES)?;
        Ok(Self { index, entries })
    }
}

/// Returns the statements that the phrases of a normalised sentence take for granted.
pub(super) fn statements(sentence: &str) -> Vec<String> {
    let mut statements = Vec::new();
    for position in DATA.index.candidates(sentence) {
        let Some((to, exclusion)) = DATA.entries.get(position) else { continue };
        if exclusion.is_some_and(|exclusion| DATA.index.is_match(exclusion, sentence)) {
            continue;
        }
        for found in DATA.index.captures_iter(position, sentence) {
            let before = found.get(0).map_or("", |whole| &sentence[..whole.start()]);
            if !assertion::is_reported(before) {
                for statement in to.iter().filter_map(|template| filled(template, &found)) {
                    if !statements.contains(&statement) {
                        statements.push(statement);
                    }
                }
            }
        }
    }
    statements
}

/// Returns a statement with its groups, or `None` if one of them is empty.
fn filled(template: &str, found: &Captures<'_>) -> Option<String> {
    let mut statement = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, end) = after.split_once('}')?;
        statement.push_str(before);
        statement.push_str(found.name(name)?.as_str().trim());
        rest = end;
    }
    Some(statement + rest)
}

#[cfg(test)]
mod tests;
