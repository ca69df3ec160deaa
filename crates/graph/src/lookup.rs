//! Finds the possible names in a text.

use std::collections::BTreeSet;

use memory_engine_core::{phrases::fold, text::is_han};

use crate::words;

/// Maximum number of characters of a text that are searched for names. Of a longer text, the end is searched, because
/// the question is there.
const MAX_CHARACTERS: usize = 600;
/// Maximum length of a name, in words.
const MAX_WORDS: usize = 5;
/// Maximum length of a Chinese name, in characters.
const MAX_HAN_CHARS: usize = 8;
/// Maximum number of Chinese characters of a name before or after a word of another script.
const MAX_HAN_CHARS_NEXT_TO_WORD: usize = 4;
/// Maximum number of names returned.
const MAX_NAMES: usize = 2000;

/// Returns every part of a text that may be a name, as it is spelled: up to five words in a row, two to eight Chinese
/// characters, or both next to each other. Spellings that are equal after folding are returned once.
///
/// A walk ignores the names that are no entity of the graph. Common English words alone are left out, so that a
/// question with "will" is not about Will, except if it is capitalised and not the first word.
pub fn names_in(text: &str) -> Vec<String> {
    let skipped = text.chars().count().saturating_sub(MAX_CHARACTERS);
    let text: String = text.chars().skip(skipped).collect();
    let mut found = NameList::default();
    for run in runs(&text) {
        match run {
            TextRun::Han(characters) => {
                for length in (2..=MAX_HAN_CHARS.min(characters.len())).rev() {
                    for part in characters.windows(length) {
                        found.add(&part.iter().collect::<String>());
                    }
                }
                if let [single] = characters.as_slice() {
                    found.add(&single.to_string());
                }
            }
            TextRun::Words(parts) => {
                for length in (1..=MAX_WORDS.min(parts.len())).rev() {
                    for (at, part) in parts.windows(length).enumerate() {
                        let all_common = part.iter().all(|word| words::is_common(&word.to_lowercase()));
                        // The first word of a run may have its capital because it begins a sentence.
                        let is_capitalised = at > 0 && part[0].starts_with(char::is_uppercase);
                        if !all_common || (is_capitalised && part[0] != "I") {
                            found.add(&part.join(" "));
                        }
                    }
                }
            }
        }
    }
    add_mixed_names(&text, &mut found);
    found.list
}

/// Adds names of both scripts, such as "Krueger小队": a word with the Chinese characters right before or after it.
fn add_mixed_names(text: &str, found: &mut NameList) {
    let is_other_script = |c: char| c.is_alphanumeric() && !is_han(c);
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let length = characters[at..].iter().take_while(|c| is_other_script(**c)).count();
        let end = at + length;
        if length > 0 {
            for n in 1..=han_run_length(characters[..at].iter().rev()) {
                found.add(&characters[at - n..end].iter().collect::<String>());
            }
            for n in 1..=han_run_length(characters[end..].iter()) {
                found.add(&characters[at..end + n].iter().collect::<String>());
            }
        }
        at = end.max(at + 1);
    }
}

/// Returns the number of Chinese characters at the beginning, at most [`MAX_HAN_CHARS_NEXT_TO_WORD`].
fn han_run_length<'c>(characters: impl Iterator<Item = &'c char>) -> usize {
    characters.take(MAX_HAN_CHARS_NEXT_TO_WORD).take_while(|c| is_han(**c)).count()
}

/// Names in the order in which they were found, each once after folding, at most [`MAX_NAMES`].
#[derive(Default)]
struct NameList {
    list: Vec<String>,
    seen: BTreeSet<String>,
}

impl NameList {
    fn add(&mut self, name: &str) {
        let folded = fold(name);
        if self.list.len() < MAX_NAMES && !folded.is_empty() && self.seen.insert(folded) {
            self.list.push(name.to_owned());
        }
    }
}

/// A part of a text in one script.
enum TextRun<'t> {
    Han(Vec<char>),
    Words(Vec<&'t str>),
}

/// Returns the runs of a text: Chinese characters, and words with only white space or `&` between them.
fn runs(text: &str) -> Vec<TextRun<'_>> {
    let mut runs: Vec<TextRun<'_>> = Vec::new();
    let mut starts_run = true;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if is_han(c) {
            let length = rest.find(|c| !is_han(c)).unwrap_or(rest.len());
            runs.push(TextRun::Han(rest[..length].chars().collect()));
            starts_run = true;
            length
        } else if c.is_alphanumeric() {
            let is_in_word =
                |c: char| (c.is_alphanumeric() && !is_han(c)) || matches!(c, '\'' | '’' | '-' | '.' | '+' | '#');
            let length = rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
            let word = words::without_ending(&rest[..length]);
            match runs.last_mut() {
                Some(TextRun::Words(words)) if !starts_run => words.push(word),
                _ => runs.push(TextRun::Words(vec![word])),
            }
            // A full stop ends the sentence, unless it is one of a title or an initial.
            starts_run = rest[..length].ends_with('.') && word.chars().count() > 3;
            length
        } else {
            starts_run |= !c.is_whitespace() && c != '&';
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    runs
}

#[cfg(test)]
mod tests;
