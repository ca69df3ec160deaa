//! The sentences of a query, which may ask for several things.

use memory_engine_core::text::is_han;
use memory_engine_text::{SentenceRules, Words};
use serde::Deserialize;

/// Minimum length of a sentence that is searched by itself: a Han character counts 1, a word of another script 2.
const MIN_SENTENCE_UNITS: usize = 6;

memory_engine_text::data!(DATA: SentenceWords = "zh/sentences.toml");

/// The content of the data file, which explains each list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentenceWords {
    continuations: Words,
}

/// Splits a query into its sentences. A short one belongs to the sentence before it.
pub(super) fn sentences(query: &str) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for piece in SentenceRules::MESSAGE.texts(query).flat_map(pieces) {
        let body = piece.trim_matches(|c: char| !c.is_alphanumeric());
        if body.is_empty() {
            continue;
        }
        match sentences.last_mut() {
            Some(previous) if units(body) < MIN_SENTENCE_UNITS => {
                previous.push(' ');
                previous.push_str(piece);
            }
            _ => sentences.push(piece.to_owned()),
        }
    }
    sentences
}

/// Cuts a sentence before the phrases that begin another question.
fn pieces(sentence: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in sentence.char_indices().skip(1) {
        if DATA.continuations.any_starts(&sentence[at..]) {
            pieces.push(sentence[start..at].trim());
            start = at;
        }
    }
    pieces.push(sentence[start..].trim());
    pieces
}

fn units(text: &str) -> usize {
    let han = text.chars().filter(|c| is_han(*c)).count();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).count();
    han + 2 * words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_split_at_the_end_of_its_sentences() {
        assert_eq!(
            sentences("我妹妹的生日是哪天？另外，她喜欢吃什么？"),
            ["我妹妹的生日是哪天？", "另外，她喜欢吃什么？"]
        );
        assert_eq!(
            sentences("Where does Lin work. And who is her boss at the new place?"),
            ["Where does Lin work.", "And who is her boss at the new place?"]
        );
        assert_eq!(
            sentences("我上司的爱好是什么，另外，他住在哪个城市"),
            ["我上司的爱好是什么，", "另外，他住在哪个城市"]
        );
        assert_eq!(sentences("version 2.5 of the tool"), ["version 2.5 of the tool"]);
    }

    #[test]
    fn a_short_sentence_belongs_to_the_one_before() {
        assert_eq!(sentences("她的生日是哪一天？是吗？"), ["她的生日是哪一天？ 是吗？"]);
        assert_eq!(sentences("Hi! Where do I live?"), ["Hi!", "Where do I live?"]);
        assert_eq!(sentences("？！…"), Vec::<String>::new());
    }
}
