//! Splits text into sentences.

use memory_engine_text::{Sentence, SentenceRules};

use crate::titles;

/// As in a line, but a full stop ends a sentence before a quotation mark, too.
const RULES: SentenceRules = SentenceRules {
    is_break: |c| c.is_whitespace() || matches!(c, '”' | '"'),
    continues: is_title_or_initial,
    ..SentenceRules::LINE
};

/// Returns the sentences of a text that are not blank. The full stop of a title or an initial ends none.
pub(super) fn split(text: &str) -> Vec<Sentence<'_>> {
    RULES.split(text).filter(|sentence| !sentence.body.trim().is_empty()).collect()
}

/// Returns true if a text ends with a title or an initial.
fn is_title_or_initial(before: &str, _next: Option<char>) -> bool {
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    titles::is_prefix(word) || word.chars().count() == 1
}

#[cfg(test)]
mod tests;
