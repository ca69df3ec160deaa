//! Names by their capitals.

use std::collections::BTreeSet;

use super::{sentences, titles, words};
use crate::{EntityKind, Mention};

/// Words that join the capitalised parts of a name.
const JOINING: &[&str] = &["of", "the", "de", "da", "del", "della", "van", "von", "der", "la", "le", "al", "bin", "&"];
const PLACES: &[&str] = &[
    "city", "town", "village", "river", "lake", "street", "road", "avenue", "square", "mountain", "mount", "valley",
    "castle", "island", "islands", "forest", "bay", "harbour", "harbor", "port", "bridge", "hill", "mill", "park",
    "sea", "ocean", "desert", "kingdom", "temple", "tower", "gate", "cape", "coast",
];
const ORGS: &[&str] = &[
    "inc",
    "corp",
    "corporation",
    "ltd",
    "llc",
    "gmbh",
    "company",
    "co",
    "university",
    "college",
    "institute",
    "school",
    "guild",
    "bank",
    "ministry",
    "agency",
    "association",
    "club",
    "party",
    "council",
    "church",
    "hospital",
    "order",
    "brotherhood",
    "army",
    "police",
    "foundation",
    "group",
    "union",
];
const MAX_WORDS: usize = 6;

/// The names in a text.
pub(super) fn names(text: &str) -> Vec<Mention> {
    let found: Vec<Found> = sentences::of(text).into_iter().flat_map(in_sentence).collect();
    let sure: BTreeSet<&str> =
        found.iter().filter(|name| !name.doubtful).flat_map(|name| name.text.split(' ')).collect();
    let kept = found.iter().filter(|name| !name.doubtful || sure.contains(name.text.as_str()));
    kept.map(|name| Mention::new(&name.text, kind_of(&name.text))).collect()
}

/// What sort of thing a name says it is.
pub(super) fn kind_of(name: &str) -> EntityKind {
    let is = |word: Option<&str>, list: &[&str]| {
        word.is_some_and(|word| list.contains(&word.trim_end_matches('.').to_lowercase().as_str()))
    };
    let (first, last) = (name.split(' ').next(), name.rsplit(' ').next());
    let several = name.contains(' ');
    if several && first.is_some_and(titles::is_before) {
        EntityKind::Person
    } else if several && (is(last, ORGS) || is(first, ORGS)) {
        EntityKind::Org
    } else if several && (is(last, PLACES) || is(first, PLACES)) {
        EntityKind::Place
    } else {
        EntityKind::Other
    }
}

struct Found {
    text: String,
    /// Whether only the beginning of a sentence may have given it its capital.
    doubtful: bool,
}

/// A word, and whether something other than a blank stands before it.
struct Token<'t> {
    text: &'t str,
    apart: bool,
}

fn tokens(sentence: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut apart) = (0, true);
    while let Some(c) = sentence[at..].chars().next() {
        let is_word = |c: char| c.is_alphanumeric() && !memory_engine_core::text::is_han(c);
        if is_word(c) {
            let rest = &sentence[at..];
            let length = rest.find(|c: char| !is_word(c) && !matches!(c, '\'' | '’' | '-' | '.')).unwrap_or(rest.len());
            let owner = rest[..length].ends_with("'s") || rest[..length].ends_with("’s");
            tokens.push(Token { text: words::plain(&rest[..length]), apart });
            apart = owner;
            at += length;
        } else {
            if c == '&' {
                tokens.push(Token { text: &sentence[at..at + 1], apart });
            }
            apart |= !c.is_whitespace() && c != '&';
            at += c.len_utf8();
        }
    }
    tokens
}

fn in_sentence(sentence: &str) -> Vec<Found> {
    let tokens = tokens(sentence);
    // A heading or shouting has capitals everywhere, and they say nothing.
    let long = tokens.iter().filter(|token| token.text.chars().count() > 3);
    let (capitals, all) =
        long.fold((0, 0), |(capitals, all), token| (capitals + usize::from(is_capital(token.text)), all + 1));
    let shouting = all > 6 && capitals * 5 > all * 4;
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !is_capital(tokens[at].text) || shouting {
            at += 1;
            continue;
        }
        let first = at;
        let mut end = at + 1;
        while end < tokens.len() && !tokens[end].apart {
            let joined = tokens[end..].iter().take_while(|t| !t.apart && JOINING.contains(&t.text)).count();
            let next = end + joined;
            if joined > 2 || tokens.get(next).is_none_or(|t| t.apart || !is_capital(t.text)) {
                break;
            }
            end = next + 1;
        }
        at = end;
        found.extend(name(&tokens[first..end], first == 0));
    }
    found
}

/// The name that a run of capitalised words holds, if it does.
fn name(run: &[Token<'_>], begins: bool) -> Option<Found> {
    let common = |token: &Token<'_>| words::is_common(&token.text.to_lowercase()) && !titles::is_before(token.text);
    // "When Anna Reed" at the beginning of a sentence, "the Old Mill" anywhere.
    let leading = run.iter().take_while(|token| common(token)).count();
    let run = &run[leading..];
    let trailing = run.iter().rev().take_while(|token| common(token)).count();
    let run = &run[..run.len() - trailing];
    let (first, last) = (run.first()?, run.last()?);
    if run.len() > MAX_WORDS || (run.len() == 1 && titles::is_before(first.text)) {
        return None;
    }
    if !last.text.chars().any(char::is_alphabetic) || run.len() == 1 && first.text.chars().count() < 2 {
        return None;
    }
    let text = run.iter().map(|token| token.text).collect::<Vec<_>>().join(" ");
    let acronym = first.text.chars().filter(|c| c.is_uppercase()).count() > 1;
    Some(Found { text, doubtful: begins && leading == 0 && run.len() == 1 && !acronym })
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests;
