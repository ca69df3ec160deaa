//! The bundled table of English word vectors, and the tokenizer that it was made with.
//!
//! Reasons: `docs/design/decisions/0055-english-word-vectors.md`.

use std::sync::LazyLock;

use memory_engine_core::{MultiVector, text::is_code};
use rustc_hash::FxHashMap;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::token_vectors::{TokenVectors, compared_part, groups, read_header};

/// Made by `scripts/build-word-vectors`, which describes the format.
static FILE: &[u8] = include_bytes!("../data/words-en.bin");
const MAGIC: &[u8] = b"MEWORDS1";

static TABLE: LazyLock<WordTable> = LazyLock::new(|| match WordTable::read(FILE) {
    Some(table) => table,
    #[expect(clippy::panic, reason = "the file is part of the crate, and a test reads it")]
    None => panic!("the bundled table of word vectors cannot be read"),
});

/// Number of dimensions of the bundled table.
pub(crate) const WORD_DIMENSIONS: usize = 128;
/// Longer words have no vector.
const MAX_WORD_CHARS: usize = 100;

/// Vectors of words and parts of words, with 8 bits a number.
#[derive(Debug)]
pub(crate) struct WordTable {
    /// The row of each token. A token that continues a word begins with `##`.
    rows: FxHashMap<&'static str, u32>,
    /// The factor of the numbers of each row.
    scales: Vec<f32>,
    /// The length of each row, as a share of the longest. The model makes the rows of frequent words short.
    weights: Vec<f32>,
    numbers: &'static [u8],
    /// Length of the longest token, in bytes.
    max_token_bytes: usize,
}

impl WordTable {
    /// Returns the bundled table. The first call reads it, which takes a few milliseconds.
    pub(crate) fn bundled() -> &'static Self {
        &TABLE
    }

    /// Returns `None` if the file does not have the format.
    fn read(file: &'static [u8]) -> Option<Self> {
        let (row_count, rest) = read_header(file, MAGIC, WORD_DIMENSIONS)?;
        let (scales, rest) = rest.split_at_checked(4 * row_count)?;
        let (numbers, tokens) = rest.split_at_checked(WORD_DIMENSIONS * row_count)?;
        let (scales, []) = scales.as_chunks::<4>() else { return None };
        let rows: FxHashMap<&str, u32> = std::str::from_utf8(tokens).ok()?.split('\n').zip(0..).collect();
        let scales: Vec<f32> = scales.iter().copied().map(f32::from_le_bytes).collect();
        let row_lengths = numbers.chunks(WORD_DIMENSIONS).zip(&scales).map(|(row, scale)| scale * length(row));
        let mut weights: Vec<f32> = row_lengths.collect();
        let longest = weights.iter().copied().fold(f32::EPSILON, f32::max);
        weights.iter_mut().for_each(|weight| *weight /= longest);
        let max_token_bytes = rows.keys().map(|token| token.len()).max().unwrap_or_default();
        (rows.len() == row_count).then_some(Self { rows, scales, weights, numbers, max_token_bytes })
    }

    fn row(&self, token: u32) -> &'static [u8] {
        &self.numbers[token as usize * WORD_DIMENSIONS..][..WORD_DIMENSIONS]
    }

    /// Returns the vectors of a text's tokens, scaled to length 1, with the weights of the model. The numbers of a code
    /// are similar to no other token: its pieces would match other numbers. `None` if there is no token.
    pub(crate) fn token_vectors(&self, text: &str) -> Option<MultiVector> {
        let mut vectors = TokenVectors::new(WORD_DIMENSIONS);
        let mut rows = Vec::new();
        for_each_word(compared_part(text), |word| {
            if vectors.is_full() {
                return;
            }
            let is_code = is_code(word);
            for group in groups(word).filter(|_| is_code) {
                if group.starts_with(|c: char| c.is_ascii_digit()) {
                    vectors.push_own(group);
                } else {
                    self.add_pieces(group, &mut rows);
                    self.push_rows(&mut rows, &mut vectors);
                }
            }
            if !is_code {
                self.add_pieces(word, &mut rows);
                self.push_rows(&mut rows, &mut vectors);
            }
        });
        vectors.finish()
    }

    fn push_rows(&self, rows: &mut Vec<u32>, vectors: &mut TokenVectors) {
        for id in rows.drain(..) {
            let row = self.row(id);
            vectors.push_row(id, row, length(row), self.weights[id as usize]);
        }
    }

    /// Returns the mean of the vectors of a text's tokens, scaled to length 1; `None` if no token is in the table.
    pub(crate) fn embed(&self, text: &str) -> Option<Vec<f32>> {
        let mut sum = vec![0.0_f32; WORD_DIMENSIONS];
        for token in self.tokens(text) {
            let scale = self.scales[token as usize];
            for (sum, number) in sum.iter_mut().zip(self.row(token)) {
                *sum += scale * f32::from(number.cast_signed());
            }
        }
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        (length > f32::EPSILON).then(|| sum.into_iter().map(|value| value / length).collect())
    }

    /// Returns the rows of the tokens of a text: words in lower case and without accents, cut into pieces where the
    /// table lacks a word (WordPiece, Wu et al. 2016, as BERT uses it). A word that no pieces make up is left out.
    fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for_each_word(text, |word| self.add_pieces(word, &mut tokens));
        tokens
    }

    /// Appends the pieces of a word, the longest first.
    fn add_pieces(&self, word: &str, tokens: &mut Vec<u32>) {
        if word.chars().nth(MAX_WORD_CHARS).is_some() {
            return;
        }
        let known = tokens.len();
        let mut start = 0;
        // The piece that is looked up. It is shortened until the table has it.
        let mut piece = String::new();
        while start < word.len() {
            let prefix = if start == 0 { "" } else { "##" };
            let longest = word[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
            let longest = longest.take_while(|end| prefix.len() + end - start <= self.max_token_bytes).last();
            piece.clear();
            piece.push_str(prefix);
            piece.push_str(&word[start..longest.unwrap_or(start)]);
            let found = loop {
                if piece.len() == prefix.len() {
                    break None;
                }
                if let Some(row) = self.rows.get(piece.as_str()) {
                    break Some(*row);
                }
                piece.pop();
            };
            let Some(row) = found else {
                tokens.truncate(known);
                return;
            };
            tokens.push(row);
            start += piece.len() - prefix.len();
        }
    }
}

/// Calls `visit` for each word and each punctuation mark of a text, in lower case and without accents.
fn for_each_word(text: &str, mut visit: impl FnMut(&str)) {
    let plain: String = text.to_lowercase().nfd().filter(|c| !is_combining_mark(*c)).collect();
    for chunk in plain.split(|c: char| c.is_whitespace() || c.is_control()) {
        split_punctuation(chunk).for_each(&mut visit);
    }
}

/// Returns the length of a vector of 8-bit numbers.
fn length(row: &[u8]) -> f32 {
    row.iter().map(|number| f32::from(number.cast_signed()).powi(2)).sum::<f32>().sqrt()
}

/// Splits a text without blanks into words and single punctuation marks.
fn split_punctuation(text: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: char| !c.is_alphanumeric();
    text.split_inclusive(is_mark).flat_map(move |part| {
        let mark = part.chars().next_back().filter(|c| is_mark(*c)).map_or(0, char::len_utf8);
        let (word, mark) = part.split_at(part.len() - mark);
        [word, mark].into_iter().filter(|piece| !piece.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&'static str> {
        let table = WordTable::bundled();
        let names: FxHashMap<u32, &'static str> = table.rows.iter().map(|(name, row)| (*row, *name)).collect();
        table.tokens(text).into_iter().map(|row| names[&row]).collect()
    }

    fn similarity(a: &str, b: &str) -> f32 {
        let embed = |text| WordTable::bundled().embed(text).unwrap();
        embed(a).iter().zip(embed(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn words_are_cut_as_the_model_cuts_them() {
        assert_eq!(pieces("I'm unhappily MARRIED."), ["i", "'", "m", "un", "##ha", "##pp", "##ily", "married", "."]);
        assert_eq!(pieces("Café embeddings"), ["cafe", "em", "##bed", "##ding", "##s"]);
        assert_eq!(pieces("我"), Vec::<&str>::new());
        assert!(pieces(&"a".repeat(101)).is_empty());
    }

    #[test]
    fn a_code_is_similar_to_itself_only() {
        let vectors = |text: &str| WordTable::bundled().token_vectors(text).unwrap();
        assert_eq!(vectors("gate TK7719"), vectors("gate TK 7719"));
        let number = |text: &str| vectors(text).codes().rchunks(128).next().unwrap().to_vec();
        let product =
            |a: &str, b: &str| number(a).iter().zip(number(b)).map(|(a, b)| i32::from(*a) * i32::from(b)).sum::<i32>();
        assert_eq!(product("gate tk7719", "gate TK7719"), 128);
        assert!(product("gate tk7719", "gate tk7718") < 64);
        assert_eq!(vectors("in 2019").tokens().len(), 2);
        assert!(vectors("in 2019").tokens().iter().all(|token| token.id < 27_660), "a year is a word");
    }

    #[test]
    fn texts_with_related_words_are_similar() {
        let question = "Where do I live?";
        assert!(similarity(question, "I moved to Lisbon last month") > similarity(question, "The soup was too salty"));
        assert!(similarity("my dog is ill", "the puppy has a fever") > 0.3);
        assert!(WordTable::bundled().embed("　。").is_none());
    }
}
