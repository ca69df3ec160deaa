//! Converts text to token ids.
//!
//! Reasons: `docs/design/decisions/0045-own-tokenizer.md`.

#[cfg(feature = "hf")]
mod bert_tables;
#[cfg(feature = "hf")]
pub(crate) mod charsmap;
mod compositions;
pub(crate) mod pieces;
pub(crate) mod replacements;
#[cfg(test)]
mod tests;
pub(crate) mod unigram;
#[cfg(feature = "hf")]
pub(crate) mod word_piece;

use unigram::Unigram;
#[cfg(feature = "hf")]
use word_piece::WordPiece;

/// The constant a of the token weight a / (a + p): the smooth inverse frequency of Arora, Liang and Ma 2017, with the
/// value that they recommend.
const WEIGHT_CONSTANT: f64 = 1e-4;

/// A tokenizer of one of the supported kinds.
#[derive(Debug)]
pub(crate) enum Tokenizer {
    /// SentencePiece unigram, used by XLM-R and multilingual e5.
    Unigram(Unigram),
    /// BERT's greedy longest-match pieces.
    #[cfg(feature = "hf")]
    WordPiece(WordPiece),
}

impl Tokenizer {
    /// Returns the ids of a text, without special tokens.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        match self {
            Self::Unigram(unigram) => unigram.encode(text),
            #[cfg(feature = "hf")]
            Self::WordPiece(word_piece) => word_piece.encode(text),
        }
    }

    /// Returns the start and end ids of a sequence.
    pub(crate) fn ends(&self) -> (u32, u32) {
        match self {
            Self::Unigram(unigram) => unigram.ends(),
            #[cfg(feature = "hf")]
            Self::WordPiece(word_piece) => word_piece.ends(),
        }
    }

    /// Number of ids: one more than the largest id.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Unigram(unigram) => unigram.size(),
            #[cfg(feature = "hf")]
            Self::WordPiece(word_piece) => word_piece.size(),
        }
    }

    /// Returns the weight of a token: a / (a + p), near 1 for rare tokens and near 0 for frequent ones. It is 1 if the
    /// tokenizer has no frequencies.
    pub(crate) fn weight(&self, id: u32) -> f32 {
        match self {
            Self::Unigram(unigram) => {
                let p = f64::from(unigram.score(id)).exp();
                (WEIGHT_CONSTANT / (WEIGHT_CONSTANT + p)) as f32
            }
            #[cfg(feature = "hf")]
            Self::WordPiece(_) => 1.0,
        }
    }
}
