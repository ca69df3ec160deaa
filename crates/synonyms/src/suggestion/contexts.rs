//! The sentences around words.

use rustc_hash::FxHashMap;

use super::corpus::{Corpus, WordId};

/// Maximum number of sentences of a word that are compared.
const MAX_SENTENCES: usize = 500;
/// Maximum share of all sentences in which a word still describes a context.
const MAX_COMMON_SHARE: f64 = 0.1;
/// A word that occurs in at most this number of texts counts as a context, even if that is a large share of them.
const RARE_RECORDS: u32 = 10;

/// The sentences with each of some words.
pub(super) struct Contexts<'c> {
    corpus: &'c Corpus<'c>,
    sentences: FxHashMap<WordId, Vec<usize>>,
}

impl<'c> Contexts<'c> {
    pub(super) fn new(corpus: &'c Corpus<'c>, words: impl IntoIterator<Item = WordId>) -> Self {
        let mut sentences: FxHashMap<WordId, Vec<usize>> = words.into_iter().map(|word| (word, Vec::new())).collect();
        for sentence in 0..corpus.sentences.len() {
            for word in corpus.words_of(sentence) {
                if let Some(list) = sentences.get_mut(word)
                    && list.last() != Some(&sentence)
                {
                    list.push(sentence);
                }
            }
        }
        Self { corpus, sentences }
    }

    fn of(&self, word: WordId) -> &[usize] {
        self.sentences.get(&word).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the number of sentences with a word.
    pub(super) fn count(&self, word: WordId) -> usize {
        self.of(word).len()
    }

    /// Returns the number of sentences with both words.
    pub(super) fn together(&self, a: WordId, b: WordId) -> usize {
        let of_b = self.of(b);
        self.of(a).iter().filter(|sentence| of_b.binary_search(sentence).is_ok()).count()
    }

    /// Returns the cosine similarity of the other words in the sentences of two words, weighted by their idf.
    pub(super) fn similarity(&self, a: WordId, b: WordId) -> f64 {
        let (of_a, of_b) = (self.vector(a, b), self.vector(b, a));
        let norm = |vector: &FxHashMap<WordId, f64>| vector.values().map(|x| x * x).sum::<f64>().sqrt();
        let product: f64 = of_a.iter().filter_map(|(word, x)| Some(x * of_b.get(word)?)).sum();
        let norms = norm(&of_a) * norm(&of_b);
        if norms > 0.0 { (product / norms).abs() } else { 0.0 }
    }

    fn vector(&self, word: WordId, other: WordId) -> FxHashMap<WordId, f64> {
        let total = self.corpus.sentences.len() as f64;
        let mut counts: FxHashMap<WordId, f64> = FxHashMap::default();
        for sentence in self.of(word).iter().take(MAX_SENTENCES) {
            for neighbour in self.corpus.words_of(*sentence) {
                if *neighbour != word && *neighbour != other {
                    *counts.entry(*neighbour).or_default() += 1.0;
                }
            }
        }
        counts.retain(|neighbour, count| {
            let records = self.corpus.usage(*neighbour).records;
            let share = (f64::from(records) / total).min(1.0);
            *count = (1.0 + *count).ln() * -share.ln();
            share < MAX_COMMON_SHARE || records <= RARE_RECORDS
        });
        counts
    }
}
