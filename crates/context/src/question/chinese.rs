//! The form of Chinese questions and requests.

use memory_engine_core::text::is_han;
use memory_engine_text::Words;
use serde::Deserialize;

/// Marks between the clauses of a sentence.
pub(super) const CLAUSE_MARKS: [char; 2] = [',', '，'];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChineseWords {
    /// Endings that always ask, such as 吗.
    pub(super) particles: Words,
    /// Endings of questions without a question mark.
    pub(super) endings: Words,
    /// Beginnings of questions without a question mark.
    pub(super) beginnings: Words,
    /// Questions that announce or stress a statement.
    pub(super) rhetorical: Words,
    /// Questions at the end of a statement.
    pub(super) tags: Words,
    /// Beginnings of clauses that belong to the question after them, such as 如果.
    pub(super) conditions: Words,
    /// Question words, anywhere in a clause.
    pub(super) interrogatives: Words,
    /// Phrases in which a question word does not ask.
    pub(super) indefinite: Words,
    /// Words of the form A-not-A that leave no choice.
    pub(super) no_choices: Words,
    /// Beginnings of requests.
    pub(super) requests: Words,
    /// Words before a request.
    pub(super) request_openers: Words,
    /// Words of a query about earlier questions.
    pub(super) about_questions: Words,
}

/// Returns true if a folded Chinese clause asks: it begins or ends like a question, has a question word that is not
/// used in another sense ("没什么", "谁都"), or has the form A-not-A ("该不该").
pub(super) fn asks(clause: &str, words: &ChineseWords) -> bool {
    if words.particles.any_ends(clause) || words.beginnings.any_starts(clause) {
        return true;
    }
    // The same question word twice is nearly always relative: "想吃什么就吃什么".
    let counts = || words.interrogatives.iter().map(|word| clause.matches(word).count());
    if words.indefinite.any_in(clause) || counts().any(|count| count > 1) {
        return false;
    }
    words.endings.any_ends(clause) || counts().any(|count| count == 1) || has_choice(clause, words)
}

/// Returns true for a request without a statement about the user, such as "推荐一本书": none of its clauses contains 我.
pub(super) fn requests(body: &str, words: &ChineseWords) -> bool {
    let mut clauses = body.split(CLAUSE_MARKS).map(str::trim);
    let first = clauses.next().unwrap_or_default();
    let request = words.request_openers.strip_start(first).unwrap_or(first);
    words.requests.any_starts(request) && !request.contains('我') && clauses.all(|clause| !clause.contains('我'))
}

/// Returns true if a clause leaves a choice by a verb, 不 or 没, and the same verb: "去不去", "有没有".
fn has_choice(clause: &str, words: &ChineseWords) -> bool {
    let chars: Vec<char> = clause.chars().collect();
    let has_form = |three: &&[char]| three[0] == three[2] && is_han(three[0]) && matches!(three[1], '不' | '没');
    chars.windows(3).filter(has_form).any(|three| !words.no_choices.contains(&three.iter().collect::<String>()))
}
