//! Finds English names by their capitals.

use std::collections::BTreeSet;

use memory_engine_rule_data::{Words, data};
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
}

data!(WORDS: NameWords = "en/names.toml");

/// The rule that takes capitalised words for a name.
pub(super) const CAPITALS: &str = "en.name.capitals";

/// Maximum number of words of a name.
const MAX_WORDS: usize = 6;

/// Returns the names in a text, each with the id of the rule that found it.
pub(super) fn names(text: &str) -> Vec<(&'static str, Mention)> {
    let (sure, _) = found_names(text);
    sure.into_iter().map(|name| (CAPITALS, Mention::new(&name, kind_of(&name)))).collect()
}

/// Returns the words that may be names or may have a capital only because they begin a sentence.
pub(super) fn doubtful_names(text: &str) -> Vec<String> {
    found_names(text).1.into_iter().filter(|name| !is_plural(name)).collect()
}

/// Returns the sure names of a text, and the doubtful ones.
fn found_names(text: &str) -> (Vec<String>, Vec<String>) {
    let found: Vec<FoundName> =
        sentences::of(text).into_iter().flat_map(|sentence| in_sentence(sentence.text)).collect();
    let sure: BTreeSet<&str> =
        found.iter().filter(|name| !name.doubtful).flat_map(|name| name.text.split(' ')).collect();
    let (kept, doubtful): (Vec<&FoundName>, Vec<&FoundName>) =
        found.iter().partition(|name| !name.doubtful || sure.contains(name.text.as_str()));
    let texts = |names: Vec<&FoundName>| names.into_iter().map(|name| name.text.clone()).collect();
    (texts(kept), texts(doubtful))
}

/// Returns true for a word that is likely to be a plural.
fn is_plural(word: &str) -> bool {
    word.ends_with('s') && !WORDS.singular_endings.iter().any(|ending| word.ends_with(ending))
}

/// Returns the kind of entity that a name of several words shows by its first or last word.
pub(super) fn kind_of(name: &str) -> EntityKind {
    let (Some((first, _)), Some((_, last))) = (name.split_once(' '), name.rsplit_once(' ')) else {
        return EntityKind::Other;
    };
    let ends = [first, last].map(|word| word.trim_end_matches('.').to_lowercase());
    let any_end_in = |list: &Words| ends.iter().any(|word| list.contains(word));
    if titles::is_before(first) {
        EntityKind::Person
    } else if any_end_in(&WORDS.organisations) {
        EntityKind::Org
    } else if any_end_in(&WORDS.places) {
        EntityKind::Place
    } else {
        EntityKind::Other
    }
}

struct FoundName {
    text: String,
    /// True if the capital may be only that of the beginning of a sentence.
    doubtful: bool,
}

struct Token<'t> {
    text: &'t str,
    /// True if something other than white space or `&` precedes the word, so that it does not continue a name.
    apart: bool,
    /// True if a quotation mark precedes the word.
    is_quoted: bool,
}

fn tokens(sentence: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut apart = true;
    let mut is_quoted = false;
    let mut rest = sentence;
    while let Some(c) = rest.chars().next() {
        let length = if is_letter(c) {
            let inside = |c: char| is_letter(c) || matches!(c, '\'' | '’' | '-' | '.');
            let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            tokens.push(Token { text: words::plain(word), apart, is_quoted });
            // A name ends with its genitive.
            apart = word.ends_with("'s") || word.ends_with("’s");
            length
        } else {
            if c == '&' {
                tokens.push(Token { text: &rest[..1], apart, is_quoted });
            }
            apart |= !c.is_whitespace() && c != '&';
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

fn in_sentence(sentence: &str) -> Vec<FoundName> {
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
        let end = end_of_run(&tokens, at);
        found.extend(name(&tokens[at..end], at == 0 || tokens[at].is_quoted));
        at = end;
    }
    found
}

/// Returns true for a heading or shouting, where capitals mean nothing.
fn is_shouting(tokens: &[Token<'_>]) -> bool {
    let long: Vec<_> = tokens.iter().filter(|token| token.text.chars().count() > 3).collect();
    let capitals = long.iter().filter(|token| is_capital(token.text)).count();
    long.len() > 6 && capitals * 5 > long.len() * 4
}

/// Returns the index after a run of capitalised words, which may contain up to two joining words between others.
fn end_of_run(tokens: &[Token<'_>], first: usize) -> usize {
    let mut end = first + 1;
    while end < tokens.len() && !tokens[end].apart {
        let joined = tokens[end..].iter().take_while(|t| !t.apart && WORDS.joining.contains(t.text)).count();
        let next = end + joined;
        if joined > 2 || tokens.get(next).is_none_or(|t| t.apart || !is_capital(t.text)) {
            break;
        }
        end = next + 1;
    }
    end
}

/// Returns the name in a run of capitalised words. `starts_sentence` is true for a run at the beginning of a sentence.
fn name(run: &[Token<'_>], starts_sentence: bool) -> Option<FoundName> {
    let common = |token: &Token<'_>| words::is_common(&token.text.to_lowercase()) && !titles::is_before(token.text);
    // "When Anna Reed" at the beginning of a sentence, "the Old Mill" anywhere.
    let leading = run.iter().take_while(|token| common(token)).count();
    let run = &run[leading..];
    let trailing = run.iter().rev().take_while(|token| common(token)).count();
    let run = &run[..run.len() - trailing];
    let first = run.first()?;
    let last = run.last()?;
    if run.len() > MAX_WORDS || (run.len() == 1 && titles::is_before(first.text)) {
        return None;
    }
    if !last.text.chars().any(char::is_alphabetic) || run.len() == 1 && first.text.chars().count() < 2 {
        return None;
    }
    let text = run.iter().map(|token| token.text).collect::<Vec<_>>().join(" ");
    let acronym = first.text.chars().filter(|c| c.is_uppercase()).count() > 1;
    Some(FoundName { text, doubtful: starts_sentence && leading == 0 && run.len() == 1 && !acronym })
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests;
