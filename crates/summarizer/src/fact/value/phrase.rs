//! The end of a phrase, and phrases that are not values.

use memory_engine_text::Words;

use crate::{
    data::{DataPattern, data},
    text::{has_han, is_capitalised, one_line},
};

data! {
    DATA = "en/phrases.toml", "zh/phrases.toml";
    DataPattern: cut, preposition, filler, vague, courtesy, own_life, named, passing;
    Words: hedges, separators, ambiguous_separators, joined_words, zh_particles, zh_deictic;
}

/// Returns the text before the next clause, without white space, commas and quotation marks around it.
pub(super) fn cut(text: &str) -> &str {
    let is_surrounding = |c: char| c.is_whitespace() || matches!(c, ',' | '，' | '-' | '"' | '\'');
    DATA.cut.before(text).trim_matches(is_surrounding)
}

pub(super) fn before_preposition(text: &str) -> &str {
    DATA.preposition.before(text).trim()
}

/// Returns an English phrase without the words before its noun.
pub(super) fn without_fillers(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(found) = DATA.filler.find(text) {
        text = text[found.end()..].trim_start();
    }
    text
}

/// Returns a phrase in lower case without the name at its end: "finance" of "finance Kevin".
pub(super) fn without_vocative(text: &str) -> &str {
    match text.rsplit_once(' ') {
        Some((rest, last)) if is_capitalised(last) && !rest.chars().any(char::is_uppercase) => rest,
        Some(_) | None => text,
    }
}

/// Returns an English phrase without its article.
pub(super) fn without_article(text: &str) -> &str {
    text.strip_prefix("a ").or_else(|| text.strip_prefix("an ")).unwrap_or(text)
}

pub(super) fn is_vague(value: &str) -> bool {
    DATA.vague.is_match(value.split_whitespace().next().unwrap_or_default()) || DATA.vague.is_match(value)
}

/// Returns a Chinese phrase without the particles and modal words at its end.
pub(super) fn without_particles(text: &str) -> &str {
    let mut text = text.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '《' | '》' | '+' | '#'));
    while let Some(rest) = DATA.zh_particles.strip_end(text) {
        text = rest.trim_end();
    }
    text
}

/// Returns a phrase of at most `max_words` English words or `max_characters` Chinese characters.
pub(super) fn phrase(text: &str, max_words: usize, max_characters: usize) -> Option<String> {
    let text = if has_han(text) { without_particles(text) } else { cut(text) };
    let text = DATA.hedges.strip_start(text).unwrap_or(text);
    let is_short = is_at_most(text, max_words, max_characters);
    (is_short && !text.is_empty() && !is_vague(text) && !is_deictic(text)).then(|| one_line(text))
}

/// Returns true if a text has at most `max_words` English words or `max_characters` Chinese characters.
fn is_at_most(text: &str, max_words: usize, max_characters: usize) -> bool {
    if has_han(text) { text.chars().count() <= max_characters } else { text.split_whitespace().count() <= max_words }
}

/// Maximum length of a wish or a statement in the words of the person, in words and in Chinese characters.
const WORDING_MAX_WORDS: usize = 40;
const WORDING_MAX_CHARS: usize = 80;

/// Returns a request in the words of the person, without courtesies at its end.
pub(super) fn wording(text: &str) -> Option<String> {
    let text = DATA.courtesy.before(text).trim_matches(|c: char| c.is_whitespace() || ",，-'".contains(c));
    let is_short = is_at_most(text, WORDING_MAX_WORDS, WORDING_MAX_CHARS);
    (is_short && text.chars().count() > 1).then(|| one_line(text))
}

/// Returns a statement about the life of the person that can be read without the conversation, on any day.
pub(super) fn own_statement(text: &str) -> Option<String> {
    wording(text).filter(|text| DATA.own_life.is_match(text) && !DATA.passing.is_match(text))
}

/// Returns such a statement, or one with a number or a name.
pub(super) fn statement(text: &str) -> Option<String> {
    own_statement(text)
        .or_else(|| wording(text).filter(|text| DATA.named.is_match(text) && !DATA.passing.is_match(text)))
}

/// Returns true if a Chinese text contains a pronoun, a demonstrative or a question word.
pub(super) fn is_deictic(text: &str) -> bool {
    // "吉他" (guitar) is no pronoun.
    DATA.zh_deictic.any_in(&text.replace("吉他", ""))
}

/// Returns the items of an enumeration.
pub(super) fn items(text: &str) -> Vec<String> {
    let mut list = text.to_owned();
    for separator in DATA.separators.iter() {
        let is_in_word = DATA.ambiguous_separators.contains(separator) && DATA.joined_words.any_in(&list);
        if !is_in_word {
            list = list.replace(separator, ",");
        }
    }
    list.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}
