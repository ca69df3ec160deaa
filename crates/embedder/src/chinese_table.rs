//! The bundled table of Chinese word vectors.
//!
//! Reasons: `docs/design/decisions/0059-chinese-word-vectors.md`.

use std::sync::LazyLock;

use memory_engine_core::{MultiVector, text};
use rustc_hash::FxHashMap;

use crate::token_vectors::{TokenVectors, compared_part, groups, read_header};

/// Made by `scripts/build-chinese-word-vectors`, which describes the format.
static FILE: &[u8] = include_bytes!("../data/words-zh.bin");
const MAGIC: &[u8] = b"MEWORDS2";

static TABLE: LazyLock<ChineseTable> = LazyLock::new(|| match ChineseTable::read(FILE) {
    Some(table) => table,
    #[expect(clippy::panic, reason = "the file is part of the crate, and a test reads it")]
    None => panic!("the bundled table of Chinese word vectors cannot be read"),
});

/// Number of dimensions of the bundled table.
const DIMENSIONS: usize = 64;
/// Maximum number of characters of a word.
const MAX_WORD_CHARS: usize = 4;
/// The constant a of the weights a / (a + p), where p is the share of a word in all words.
const SMOOTHING: f32 = 1e-4;
/// The least share of a word. A character without a row has this share, too.
const MIN_SHARE: f32 = 1e-7;

/// Vectors of words and characters, with 8 bits a number.
#[derive(Debug)]
pub(crate) struct ChineseTable {
    /// The row of each word, by its [`packed`] characters.
    rows: FxHashMap<u64, u32>,
    /// The weight of each row, 255 for 1.
    weights: &'static [u8],
    lengths: Vec<f32>,
    /// The negative logarithm of a word's share, by its weight.
    costs: [f32; 256],
    numbers: &'static [u8],
}

/// The best segmentation of the characters up to one of them.
#[derive(Debug, Clone, Copy)]
struct Step {
    cost: f32,
    /// Number of characters of the last word.
    word_chars: usize,
    /// The row of the last word.
    row: Option<u32>,
}

impl ChineseTable {
    /// Returns the bundled table. The first call reads it, which takes a few milliseconds.
    pub(crate) fn bundled() -> &'static Self {
        &TABLE
    }

    /// Returns `None` if the file does not have the format.
    fn read(file: &'static [u8]) -> Option<Self> {
        let (row_count, rest) = read_header(file, MAGIC, DIMENSIONS)?;
        let (weights, rest) = rest.split_at_checked(row_count)?;
        let (numbers, words) = rest.split_at_checked(DIMENSIONS * row_count)?;
        let words = std::str::from_utf8(words).ok()?.split('\n');
        let rows: FxHashMap<u64, u32> = words.map(|word| word.chars().fold(0, packed)).zip(0..).collect();
        let length = |row: &[u8]| row.iter().map(|number| f32::from(number.cast_signed()).powi(2)).sum::<f32>().sqrt();
        let lengths = numbers.chunks(DIMENSIONS).map(length).collect();
        let costs = std::array::from_fn(|weight| {
            let share = SMOOTHING * (255.0 / (weight as f32).max(0.5) - 1.0);
            -share.max(MIN_SHARE).ln()
        });
        (rows.len() == row_count).then_some(Self { rows, weights, lengths, costs, numbers })
    }

    /// Returns the vectors of a text's words, scaled to length 1. Words in other letters, and numbers, are similar to
    /// no other word. `None` if there is no word.
    pub(crate) fn token_vectors(&self, text: &str) -> Option<MultiVector> {
        let mut vectors = TokenVectors::new(DIMENSIONS);
        let text = text::normalize(compared_part(text));
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            let mut rest = word;
            while let Some(first) = rest.chars().next() {
                if vectors.is_full() {
                    return vectors.finish();
                }
                let is_other = |c: char| is_han(c) != is_han(first);
                let (run, after) = rest.split_at(rest.find(is_other).unwrap_or(rest.len()));
                rest = after;
                if is_han(first) {
                    self.push_words(&run.chars().collect::<Vec<char>>(), &mut vectors);
                } else {
                    groups(run).for_each(|group| vectors.push_own(group));
                }
            }
        }
        vectors.finish()
    }

    /// Adds the words of a run of Chinese characters: those with the greatest product of their shares, as jieba cuts a
    /// text.
    fn push_words(&self, run: &[char], vectors: &mut TokenVectors) {
        let mut best = vec![Step { cost: f32::INFINITY, word_chars: 0, row: None }; run.len() + 1];
        best[0].cost = 0.0;
        for start in 0..run.len() {
            let mut key = 0;
            for (c, word_chars) in run[start..].iter().zip(1..=MAX_WORD_CHARS) {
                key = packed(key, *c);
                let row = self.rows.get(&key).copied();
                let word_cost = match row {
                    Some(row) => self.costs[usize::from(self.weights[row as usize])],
                    None if word_chars == 1 => -MIN_SHARE.ln(),
                    None => continue,
                };
                let cost = best[start].cost + word_cost;
                let step = &mut best[start + word_chars];
                if cost < step.cost {
                    *step = Step { cost, word_chars, row };
                }
            }
        }
        let mut rows = Vec::new();
        let mut end = run.len();
        while end > 0 {
            rows.extend(best[end].row);
            end -= best[end].word_chars;
        }
        for row in rows.into_iter().rev() {
            let numbers = &self.numbers[row as usize * DIMENSIONS..][..DIMENSIONS];
            let weight = f32::from(self.weights[row as usize]) / 255.0;
            vectors.push_row(row, numbers, self.lengths[row as usize], weight);
        }
    }
}

/// Appends a character to a key of a word.
fn packed(key: u64, c: char) -> u64 {
    key << 16 | u64::from(u32::from(c) & 0xffff)
}

/// Returns true for a character that words of the table may have.
fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let table = ChineseTable::bundled();
        let names: FxHashMap<u32, u64> = table.rows.iter().map(|(key, row)| (*row, *key)).collect();
        let name = |key: u64| {
            let characters = [48, 32, 16, 0].map(|shift| (key >> shift & 0xffff) as u32);
            characters.into_iter().filter(|c| *c > 0).filter_map(char::from_u32).collect()
        };
        let vectors = table.token_vectors(text);
        let tokens = vectors.iter().flat_map(|vectors| vectors.tokens());
        tokens.map(|token| names.get(&token.id).map_or_else(|| "·".to_owned(), |key| name(*key))).collect()
    }

    /// Returns the cosine of two words.
    fn cosine(a: &str, b: &str) -> f32 {
        let [a, b] = [a, b].map(|word| ChineseTable::bundled().token_vectors(word).unwrap().weighted_mean());
        a.iter().zip(&b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn a_text_is_cut_into_its_words() {
        assert_eq!(words("她在医院工作。"), ["她", "在", "医院", "工作"]);
        assert_eq!(words("用Figma开会，3点"), ["用", "·", "开会", "·", "点"]);
        assert!(words("？！").is_empty());
    }

    #[test]
    fn related_words_are_similar() {
        assert!(cosine("医生", "大夫") > cosine("医生", "火车") + 0.2);
        assert!(cosine("难过", "伤心") > cosine("难过", "桌子") + 0.2);
        assert!(cosine("kx441", "kx442") < 0.8 && cosine("kx441", "KX-441") > 0.99);
    }

    #[test]
    fn traditional_characters_are_those_of_the_table() {
        assert_eq!(words("醫院") == words("医院"), text::FOLDS_TRADITIONAL);
    }
}
