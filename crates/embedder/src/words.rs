//! An embedder without a model: word vectors for English, feature hashing for other languages.

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, MultiVector, Result};

use crate::{
    embedder::{Embedder, Purpose, Scale},
    hash::HashEmbedder,
    word_table::{WORD_DIMENSIONS, WordTable},
    word_vectors::{is_english, word_vectors},
};

/// An embedder that needs no download. The vectors of English texts compare the meaning of their words, all others
/// spelling. With the feature `chinese`, the words of Chinese texts have token vectors, too.
///
/// The first 128 dimensions of a vector are the mean of the text's word vectors, from a bundled table of 27 660 words
/// and WordPiece tokens (potion-base-8M by MinishLab, MIT License, reduced to 128 dimensions of 8 bits). They are 0 for
/// a text that is mainly Chinese. The other 256 numbers are those of [`HashEmbedder`]. In an English vector they make
/// up a fifth of the squared length, so that other spellings of a word are found too.
#[derive(Debug, Clone)]
pub struct WordEmbedder {
    space: EmbeddingSpace,
    spelling: HashEmbedder,
}

/// Share of the spelling in the similarity of two English texts (0–1).
const SPELLING_SHARE: f32 = 0.2;
const SPELLING_DIMENSIONS: usize = 256;
const MODEL: &str = if memory_engine_core::text::FOLDS_TRADITIONAL { "words-v1" } else { "words-v1-as-written" };

/// Weight of the vector retriever for English queries (0–1).
const ENGLISH_SEMANTIC_WEIGHT: f64 = 1.0;
/// Typical similarity of unrelated English texts. The median is 0.09 to 0.26, and that of a question and its answer
/// 0.34 to 0.53 (word vectors alone; locomo, realtalk, madial_en, lifebench_en).
const ENGLISH_UNRELATED: f64 = 0.13;
/// Minimum similarity of a vector hit for an English query (0–1).
const ENGLISH_SCORE_FLOOR: f64 = 0.2;

impl WordEmbedder {
    /// Number of dimensions.
    pub const DIMENSIONS: usize = WORD_DIMENSIONS + SPELLING_DIMENSIONS;

    /// Creates the embedder.
    pub fn new() -> Self {
        Self {
            space: EmbeddingSpace::cosine(MODEL, Self::DIMENSIONS),
            spelling: HashEmbedder::of_dimensions(SPELLING_DIMENSIONS),
        }
    }

    fn combine(text: &str, spelling: &Embedding) -> Result<Embedding> {
        let words = if is_english(text) { WordTable::bundled().embed(text) } else { None };
        let spelling_length = if words.is_some() { SPELLING_SHARE.sqrt() } else { 1.0 };
        let word_length = (1.0 - SPELLING_SHARE).sqrt();
        let mut values = words.unwrap_or_else(|| vec![0.0; WORD_DIMENSIONS]);
        values.iter_mut().for_each(|value| *value *= word_length);
        values.extend(spelling.values().iter().map(|value| value * spelling_length));
        Embedding::new(values)
    }
}

impl Default for WordEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Embedder for WordEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        self.spelling.max_batch()
    }

    fn semantic_weight(&self) -> f64 {
        0.0
    }

    fn score_floor(&self) -> f64 {
        self.spelling.score_floor()
    }

    fn scale(&self, query: &str) -> Scale {
        if is_english(query) {
            return Scale { semantic_weight: ENGLISH_SEMANTIC_WEIGHT, score_floor: ENGLISH_SCORE_FLOOR };
        }
        Scale { semantic_weight: self.semantic_weight(), score_floor: self.score_floor() }
    }

    fn unrelated(&self, query: &str, text: &str) -> f64 {
        if is_english(query) && is_english(text) { ENGLISH_UNRELATED } else { self.score_floor() }
    }

    fn static_tokens(&self, text: &str) -> Option<MultiVector> {
        word_vectors(text)
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        let spellings = self.spelling.embed(texts, purpose).await?;
        texts.iter().zip(&spellings).map(|(text, spelling)| Self::combine(text, spelling)).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let vectors = block_on(WordEmbedder::new().embed(&[a, b], Purpose::Document)).unwrap();
        vectors[0].values().iter().zip(vectors[1].values()).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn english_is_compared_by_meaning_and_spelling() {
        assert!(cosine("Which city is my home?", "I moved to Lisbon last month") > 0.2);
        assert!(cosine("appointmnt", "appointment") > cosine("appointmnt", "umbrella"));
        assert!((cosine("I moved", "I moved") - 1.0).abs() < 1e-4);
    }

    #[test]
    fn chinese_is_compared_by_spelling() {
        assert!(cosine("我对海鲜过敏", "她对海鮮過敏嗎") > 0.5);
        assert!(cosine("我对海鲜过敏", "I am allergic to seafood").abs() < 0.2);
        assert!((cosine("我在 Google 上班", "我在 Google 上班") - 1.0).abs() < 1e-4);
    }

    #[test]
    fn texts_have_token_vectors_of_their_language() {
        let embedder = WordEmbedder::new();
        let tokens = embedder.static_tokens("I moved to Lisbon").unwrap();
        assert_eq!((tokens.tokens().len(), tokens.dimensions()), (4, 128));
        let lengths = tokens.codes().chunks(128).zip(tokens.tokens()).map(|(codes, token)| {
            codes.iter().map(|code| (f32::from(*code) * token.scale).powi(2)).sum::<f32>().sqrt()
        });
        assert!(lengths.into_iter().all(|length| (length - 1.0).abs() < 1e-4));
        let weight = |at: usize| tokens.tokens()[at].weight;
        assert!(weight(3) > weight(2), "Lisbon says more than to");
        let chinese = embedder.static_tokens("我搬到了里斯本").map(|tokens| tokens.dimensions());
        assert_eq!(chinese, cfg!(feature = "chinese").then_some(64));
        assert_eq!(embedder.static_tokens("Я переехал"), None);
        assert_eq!(embedder.static_tokens(""), None);
    }

    #[test]
    fn the_scale_depends_on_the_language_of_the_query() {
        let embedder = WordEmbedder::new();
        assert!(embedder.scale("Where do I live?").semantic_weight > 0.0);
        for query in ["我住在哪里？", "Где я живу?", "どこに住んでいますか", "2024-05-01"] {
            assert!(embedder.scale(query).semantic_weight <= 0.0, "{query}");
        }
        assert!(embedder.unrelated("Where do I live?", "我住在里斯本") > embedder.unrelated("a cat", "a dog"));
    }

    #[test]
    fn texts_without_known_words_have_a_vector() {
        for text in ["！？", "привет", "ᚠᚢᚦ", "😀"] {
            assert!((cosine(text, text) - 1.0).abs() < 1e-4, "{text}");
        }
        assert!(block_on(WordEmbedder::new().embed(&[" "], Purpose::Query)).is_err());
    }
}
