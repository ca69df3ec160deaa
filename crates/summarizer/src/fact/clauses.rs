//! Rewrites the clauses of a sentence as statements in the first person, so that the rules read them.
//!
//! A clause without a subject continues the one before: "我叫汤姆，住在成都" states "我住在成都", and "I'm 29, live in
//! Porto" states "I live in Porto". Adverbs and asides between subject and verb are left out. A clause about a relative
//! becomes a statement of that relative.

mod context;
mod en;
mod zh;

pub(super) use self::{
    context::{ClauseContext, ClauseStatement, ClauseSubject},
    en::in_singular,
};

use crate::text::has_han;

/// Returns a normalised sentence in a uniform spelling, in which the rules read it.
pub(super) fn spelled_out(sentence: &str) -> String {
    if has_han(sentence) { zh::spelled_out(sentence) } else { en::spelled_out(sentence) }
}

/// Returns the statements of the next sentence of the message that `context` describes.
pub(super) fn statements(context: &mut ClauseContext, sentence: &str) -> Vec<ClauseStatement> {
    if has_han(sentence) { zh::statements(context, sentence) } else { en::statements(context, sentence) }
}

#[cfg(test)]
mod tests;
