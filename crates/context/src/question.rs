//! Tells questions from statements.

use std::{collections::BTreeSet, sync::LazyLock};

use memory_engine_core::{phrases::fold, text::is_han};
use memory_engine_text::{Sentence, SentenceRules, Words, data};
use serde::Deserialize;

mod chinese;

use self::chinese::{CLAUSE_MARKS, ChineseWords};

use crate::phrase_pattern::{PhrasePatterns, PhraseToken, tokens};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionWords {
    chinese: ChineseWords,
    english: EnglishWords,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnglishWords {
    /// Words before a question that do not change its meaning.
    openers: Words,
    /// Beginnings of questions without a question mark.
    beginnings: Words,
    /// Questions that announce or stress a statement.
    rhetorical: Words,
    /// Questions at the end of a statement.
    tags: Words,
    /// First words of clauses that belong to the question after them, such as "if".
    conditions: Words,
    /// Beginnings of requests.
    requests: Words,
    /// Words that a request about the user contains.
    first_person: Words,
    /// Words of a query about earlier questions.
    about_questions: Words,
}

data!(QUESTION: QuestionWords = "zh/question.toml", "en/question.toml");

/// The English phrases, compiled.
#[derive(Debug)]
struct EnglishPatterns {
    beginnings: PhrasePatterns,
    rhetorical: PhrasePatterns,
    tags: PhrasePatterns,
    requests: PhrasePatterns,
}

static ENGLISH: LazyLock<EnglishPatterns> = LazyLock::new(|| {
    let compile = |phrases: &Words| PhrasePatterns::new(phrases.iter(), &BTreeSet::new());
    let words = &QUESTION.english;
    EnglishPatterns {
        beginnings: compile(&words.beginnings),
        rhetorical: compile(&words.rhetorical),
        tags: compile(&words.tags),
        requests: compile(&words.requests),
    }
});

/// A sentence of at most this many characters, such as "Hi!" or 对了, does not make a text a statement.
const INTERJECTION_MAX_CHARS: usize = 6;
/// A clause of at least this many words before a question is a statement of its own. A shorter one names the topic: "my
/// sister, what's her name?"
const STATEMENT_MIN_WORDS: usize = 4;
/// A Chinese clause of at least this many Han characters before a question is a statement of its own.
const STATEMENT_MIN_HAN_CHARS: usize = 6;

/// Returns true if a text only asks, with or without a question mark, or only requests a text or a suggestion. A text
/// that also states something is a statement, and so are rhetorical questions ("did I tell you that …?", 难道…) and
/// statements with a tag ("…, right?", ……对吧).
///
/// ```
/// use memory_engine_context::is_question;
///
/// assert!(is_question("what's my sister's name again") && is_question("我妹妹叫什么来着"));
/// assert!(!is_question("I moved to Lisbon. Any tips?") && !is_question("我搬到里斯本了，怎么办？"));
/// ```
pub fn is_question(text: &str) -> bool {
    let mut asks = false;
    let sentences = SentenceRules::MESSAGE.split(text);
    for sentence in sentences.filter(|sentence| sentence.body.contains(char::is_alphanumeric)) {
        match sentence_kind(&sentence) {
            SentenceKind::Question => asks = true,
            SentenceKind::Interjection => {}
            SentenceKind::Statement => return false,
        }
    }
    asks
}

/// Returns true if a query is about questions that were asked before: "what did I ask you?", 我问过什么.
pub fn asks_for_questions(query: &str) -> bool {
    let folded = fold(query);
    let is_listed = |token: &PhraseToken| QUESTION.english.about_questions.contains(&token.text);
    QUESTION.chinese.about_questions.any_in(&folded) || tokens(&folded).iter().any(is_listed)
}

/// The kinds of sentences that [`is_question`] distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SentenceKind {
    Question,
    Interjection,
    Statement,
}

fn sentence_kind(sentence: &Sentence<'_>) -> SentenceKind {
    let folded = fold(sentence.text);
    let has_question_mark = sentence.is_question();
    let body = folded.trim_matches(|c: char| !c.is_alphanumeric());
    let tokens = tokens(&folded);
    if is_rhetorical(body, &tokens) || has_statement_before_comma(body) {
        return SentenceKind::Statement;
    }
    if has_question_mark || has_question_form(body, &tokens) || is_request(body, &tokens) {
        return SentenceKind::Question;
    }
    let is_short = body.chars().filter(|c| c.is_alphanumeric()).count() <= INTERJECTION_MAX_CHARS;
    if is_short { SentenceKind::Interjection } else { SentenceKind::Statement }
}

/// Returns true for a rhetorical question, and for a statement with a tag question.
fn is_rhetorical(body: &str, tokens: &[PhraseToken]) -> bool {
    let words = &QUESTION.chinese;
    let ends_with_tag =
        || words.tags.iter().any(|tag| body.strip_suffix(tag).is_some_and(|before| before.ends_with([',', '，', ' '])));
    let english = &*ENGLISH;
    let start = index_after_openers(tokens);
    (body.contains(is_han) && (ends_with_tag() || words.rhetorical.any_in(body)))
        || english.rhetorical.find_at(tokens, start).is_some()
        || (1..tokens.len())
            .any(|at| english.tags.find_at(tokens, at).is_some_and(|(_, end)| is_only_punctuation_from(tokens, end)))
}

/// Returns true if the tokens from `start` on are punctuation marks.
fn is_only_punctuation_from(tokens: &[PhraseToken], start: usize) -> bool {
    tokens[start..].iter().all(|token| !token.text.chars().any(char::is_alphanumeric))
}

/// Returns true if one of the clauses before the last comma is a statement of its own.
fn has_statement_before_comma(body: &str) -> bool {
    let Some(at) = body.rfind(CLAUSE_MARKS) else { return false };
    body[..at].split(CLAUSE_MARKS).any(|clause| is_statement_clause(clause.trim()))
}

/// Returns true if a clause is long enough to state something, is no condition, and does not ask.
fn is_statement_clause(clause: &str) -> bool {
    let han_chars = clause.chars().filter(|c| is_han(*c)).count();
    let words = clause.split_whitespace().filter(|word| !word.chars().any(is_han)).count();
    let is_long = han_chars >= STATEMENT_MIN_HAN_CHARS || words >= STATEMENT_MIN_WORDS;
    let first_word = clause.split_whitespace().next().unwrap_or_default();
    let is_condition =
        QUESTION.english.conditions.contains(first_word) || QUESTION.chinese.conditions.any_starts(clause);
    is_long && !is_condition && !has_question_form(clause, &tokens(clause))
}

/// Returns true if a text has the form of a question without a question mark. In Chinese its last clause decides, as
/// [`has_statement_before_comma`] judges the others.
fn has_question_form(body: &str, tokens: &[PhraseToken]) -> bool {
    let words = &QUESTION.chinese;
    let last_clause = || body.rsplit(CLAUSE_MARKS).next().unwrap_or(body).trim();
    let asks_in_chinese = || words.beginnings.any_starts(body) || chinese::asks(last_clause(), words);
    (body.contains(is_han) && asks_in_chinese())
        || ENGLISH.beginnings.find_at(tokens, index_after_openers(tokens)).is_some()
}

/// Returns true if a text only requests something, such as a suggestion or a translation, and states nothing about the
/// user.
fn is_request(body: &str, tokens: &[PhraseToken]) -> bool {
    let start = index_after_openers(tokens);
    let names_user = || tokens[start..].iter().any(|token| QUESTION.english.first_person.contains(&token.text));
    chinese::requests(body, &QUESTION.chinese)
        || ENGLISH.requests.find_at(tokens, start).is_some_and(|(_, _)| !names_user())
}

/// Returns the index of the first word that is not an opener.
fn index_after_openers(tokens: &[PhraseToken]) -> usize {
    let is_opener = |token: &&PhraseToken| {
        QUESTION.english.openers.contains(&token.text) || !token.text.chars().any(char::is_alphanumeric)
    };
    tokens.iter().take_while(is_opener).count()
}

#[cfg(test)]
mod tests;
