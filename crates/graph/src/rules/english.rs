//! Finds English names by their capitals.

use std::collections::BTreeSet;

use memory_engine_text::{Words, data};
use serde::Deserialize;

use super::sentences;
use crate::{entity::EntityKind, extraction::Mention, titles, words};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameWords {
    joining: Words,
    places: Words,
    organisations: Words,
    singular_endings: Words,
    /// Words before a name, which then may begin with a common word: "her ship Morning Tide".
    before_names: Words,
}

data!(WORDS: NameWords = "en/names.toml");

/// The rule that takes capitalised words for a name.
pub(super) const CAPITALS_RULE: &str = "en.name.capitals";

/// Maximum number of words of a name.
const MAX_WORDS: usize = 6;

/// Returns the names in a text, each with the id of the rule that found it.
pub(super) fn names(text: &str) -> Vec<(&'static str, Mention)> {
    sure_and_doubtful_names(text)
        .0
        .into_iter()
        .map(|name| (CAPITALS_RULE, Mention::new(&name, kind_from_name(&name))))
        .collect()
}

/// Returns the words that may be names or may have a capital only because they begin a sentence.
pub(super) fn doubtful_names(text: &str) -> Vec<String> {
    sure_and_doubtful_names(text).1.into_iter().filter(|name| !is_plural(name)).collect()
}

/// Returns the sure names of a text, and the doubtful ones.
fn sure_and_doubtful_names(text: &str) -> (Vec<String>, Vec<String>) {
    let found: Vec<FoundName> =
        sentences::split(text).into_iter().flat_map(|sentence| names_in_sentence(sentence.body)).collect();
    let words_of_sure_names: BTreeSet<&str> =
        found.iter().filter(|name| !name.is_doubtful).flat_map(|name| name.text.split(' ')).collect();
    let (sure, doubtful): (Vec<&FoundName>, Vec<&FoundName>) =
        found.iter().partition(|name| !name.is_doubtful || words_of_sure_names.contains(name.text.as_str()));
    let texts = |names: Vec<&FoundName>| names.into_iter().map(|name| name.text.clone()).collect();
    (texts(sure), texts(doubtful))
}

/// Returns true for a word that is likely to be a plural.
fn is_plural(word: &str) -> bool {
    word.ends_with('s') && !WORDS.singular_endings.iter().any(|ending| word.ends_with(ending))
}

/// Returns the kind of entity that a name of several words shows by its first or last word.
pub(super) fn kind_from_name(name: &str) -> EntityKind {
    let (Some((first, _)), Some((_, last))) = (name.split_once(' '), name.rsplit_once(' ')) else {
        return EntityKind::Other;
    };
    let ends = [first, last].map(|word| word.trim_end_matches('.').to_lowercase());
    let has_end_in = |list: &Words| ends.iter().any(|word| list.contains(word));
    if titles::is_prefix(first) {
        EntityKind::Person
    } else if has_end_in(&WORDS.organisations) {
        EntityKind::Org
    } else if has_end_in(&WORDS.places) {
        EntityKind::Place
    } else {
        EntityKind::Other
    }
}

struct FoundName {
    text: String,
    /// True if the word may have its capital only because it begins a sentence.
    is_doubtful: bool,
}

struct WordToken<'t> {
    text: &'t str,
    /// True if something other than white space or `&` precedes the word, so that it does not continue a name.
    is_separated: bool,
    /// True if a quotation mark precedes the word.
    is_quoted: bool,
}

fn tokens(sentence: &str) -> Vec<WordToken<'_>> {
    let mut tokens = Vec::new();
    let mut is_separated = true;
    let mut is_quoted = false;
    let mut rest = sentence;
    while let Some(c) = rest.chars().next() {
        let length = if is_letter(c) {
            let is_in_word = |c: char| is_letter(c) || matches!(c, '\'' | '’' | '-' | '.');
            let length = rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            tokens.push(WordToken { text: words::without_ending(word), is_separated, is_quoted });
            // A name ends with its genitive.
            is_separated = word.ends_with("'s") || word.ends_with("’s");
            length
        } else {
            if c == '&' {
                tokens.push(WordToken { text: &rest[..1], is_separated, is_quoted });
            }
            is_separated |= !c.is_whitespace() && c != '&';
            c.len_utf8()
        };
        is_quoted = matches!(c, '"' | '“' | '‘');
        rest = &rest[length..];
    }
    tokens
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !memory_engine_core::text::is_han(c)
}

/// Returns the names in a sentence, the doubtful ones included.
fn names_in_sentence(sentence: &str) -> Vec<FoundName> {
    let tokens = tokens(sentence);
    if is_shouting(&tokens) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !is_capital(tokens[at].text) {
            at += 1;
            continue;
        }
        let end = run_end(&tokens, at);
        let starts_sentence = at == 0 || tokens[at].is_quoted;
        let follows_noun = at > 0 && !tokens[at].is_separated && WORDS.before_names.contains(tokens[at - 1].text);
        let is_title = follows_noun && end - at > 1;
        found.extend(name_in_run(&tokens[at..end], starts_sentence, is_title));
        at = end;
    }
    found
}

/// Returns true for a heading or a shouted sentence, in which most words are capitalised.
fn is_shouting(tokens: &[WordToken<'_>]) -> bool {
    let long: Vec<_> = tokens.iter().filter(|token| token.text.chars().count() > 3).collect();
    let capitals = long.iter().filter(|token| is_capital(token.text)).count();
    long.len() > 6 && capitals * 5 > long.len() * 4
}

/// Returns the index after a run of capitalised words, which may contain up to two joining words between others.
fn run_end(tokens: &[WordToken<'_>], first: usize) -> usize {
    let mut end = first + 1;
    while end < tokens.len() && !tokens[end].is_separated {
        let joined = tokens[end..].iter().take_while(|t| !t.is_separated && WORDS.joining.contains(t.text)).count();
        let next = end + joined;
        if joined > 2 || tokens.get(next).is_none_or(|t| t.is_separated || !is_capital(t.text)) {
            break;
        }
        end = next + 1;
    }
    end
}

/// Returns the name in a run of capitalised words. `starts_sentence` is true for a run at the beginning of a sentence,
/// and `is_title` for one that is a name as a whole.
fn name_in_run(run: &[WordToken<'_>], starts_sentence: bool, is_title: bool) -> Option<FoundName> {
    let is_common =
        |token: &WordToken<'_>| words::is_common(&token.text.to_lowercase()) && !titles::is_prefix(token.text);
    // "When Anna Reed" at the beginning of a sentence, "the Old Mill" anywhere.
    let leading = if is_title { 0 } else { run.iter().take_while(|token| is_common(token)).count() };
    let run = &run[leading..];
    let trailing = run.iter().rev().take_while(|token| is_common(token)).count();
    let run = &run[..run.len() - trailing];
    let first = run.first()?;
    let last = run.last()?;
    if run.len() > MAX_WORDS || (run.len() == 1 && titles::is_prefix(first.text)) {
        return None;
    }
    if !last.text.chars().any(char::is_alphabetic) || run.len() == 1 && first.text.chars().count() < 2 {
        return None;
    }
    let text = run.iter().map(|token| token.text).collect::<Vec<_>>().join(" ");
    let is_acronym = first.text.chars().filter(|c| c.is_uppercase()).count() > 1;
    let is_doubtful = starts_sentence && leading == 0 && run.len() == 1 && !is_acronym;
    Some(FoundName { text, is_doubtful })
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests;
