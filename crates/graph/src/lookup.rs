//! The names that a text may hold.

use std::collections::BTreeSet;

use memory_engine_core::{phrases::fold, text::is_han};

use crate::words;

/// Maximum number of characters of a text that are searched for names; the end of a longer text, where the question
/// is.
const MAX_CHARACTERS: usize = 600;
/// The longest name in words.
const MAX_WORDS: usize = 5;
/// The longest Chinese name, in characters.
const MAX_HAN: usize = 8;
/// Maximum number of words of a name next to a word of another script.
const MAX_MIXED: usize = 4;
/// Maximum number of names returned.
const MAX_NAMES: usize = 2000;

/// Every part of a text that may be a name, as it is spelled, each once however that is: up to five words in a row, or
/// two to eight Chinese characters.
///
/// Returns possible names; those that are no entity of a graph are simply not found. Single common English words are
/// left out, so that a question with "will" is not about Will, except for capitalised ones inside a sentence.
pub fn names_in(text: &str) -> Vec<String> {
    let skipped = text.chars().count().saturating_sub(MAX_CHARACTERS);
    let text: String = text.chars().skip(skipped).collect();
    let mut found = Names::default();
    for run in runs(&text) {
        match run {
            Run::Han(characters) => {
                for length in (2..=MAX_HAN.min(characters.len())).rev() {
                    for part in characters.windows(length) {
                        found.add(&part.iter().collect::<String>());
                    }
                }
                if let [one] = characters.as_slice() {
                    found.add(&one.to_string());
                }
            }
            Run::Words(parts) => {
                for length in (1..=MAX_WORDS.min(parts.len())).rev() {
                    for (at, part) in parts.windows(length).enumerate() {
                        let common = |word: &&str| words::is_common(&word.to_lowercase());
                        let capital = at > 0 && part[0].starts_with(char::is_uppercase);
                        if !part.iter().all(common) || (capital && part[0] != "I") {
                            found.add(&part.join(" "));
                        }
                    }
                }
            }
        }
    }
    mixed(&text, &mut found);
    found.list
}

/// Names of both scripts, such as "Krueger小队": a word with the Chinese characters right before or after it.
fn mixed(text: &str, found: &mut Names) {
    let latin = |c: char| c.is_alphanumeric() && !is_han(c);
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let length = characters[at..].iter().take_while(|c| latin(**c)).count();
        let end = at + length;
        let han = |side: &mut dyn Iterator<Item = &char>| side.take(MAX_MIXED).take_while(|c| is_han(**c)).count();
        if length > 0 {
            let (before, after) = (han(&mut characters[..at].iter().rev()), han(&mut characters[end..].iter()));
            (1..=before).for_each(|n| found.add(&characters[at - n..end].iter().collect::<String>()));
            (1..=after).for_each(|n| found.add(&characters[at..end + n].iter().collect::<String>()));
        }
        at = end.max(at + 1);
    }
}

#[derive(Default)]
struct Names {
    list: Vec<String>,
    seen: BTreeSet<String>,
}

impl Names {
    fn add(&mut self, name: &str) {
        let folded = fold(name);
        if self.list.len() < MAX_NAMES && !folded.is_empty() && self.seen.insert(folded) {
            self.list.push(name.to_owned());
        }
    }
}

enum Run<'t> {
    Han(Vec<char>),
    Words(Vec<&'t str>),
}

/// The text in runs: Chinese characters, and words with nothing but blanks between them.
fn runs(text: &str) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let mut broken = true;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if is_han(c) {
            let length = rest.find(|c| !is_han(c)).unwrap_or(rest.len());
            runs.push(Run::Han(rest[..length].chars().collect()));
            broken = true;
            length
        } else if c.is_alphanumeric() {
            let inside =
                |c: char| (c.is_alphanumeric() && !is_han(c)) || matches!(c, '\'' | '’' | '-' | '.' | '+' | '#');
            let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
            let word = words::plain(&rest[..length]);
            match runs.last_mut() {
                Some(Run::Words(words)) if !broken => words.push(word),
                _ => runs.push(Run::Words(vec![word])),
            }
            // A full stop ends the sentence, unless it is one of a title or an initial.
            broken = rest[..length].ends_with('.') && word.chars().count() > 3;
            length
        } else {
            broken |= !c.is_whitespace() && c != '&';
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    runs
}

#[cfg(test)]
mod tests;
