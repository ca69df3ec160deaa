//! Text to token ids.

mod compositions;
mod pieces;
mod replacements;
#[cfg(test)]
mod tests;
mod unigram;

pub(crate) use pieces::PieceTable;
pub(crate) use replacements::CharReplacements;
pub(crate) use unigram::{Normalizer, Unigram, UnigramOptions};

/// The constant a of the token weight a / (a + p): the smooth inverse frequency of Arora, Liang
/// and Ma 2017, with the value they recommend.
const WEIGHT_CONSTANT: f64 = 1e-4;

/// A tokenizer of one of the kinds that encoders use.
#[derive(Debug)]
pub(crate) enum Tokenizer {
    /// SentencePiece unigram, as XLM-R and multilingual e5 have it.
    Unigram(Unigram),
    /// BERT's greedy longest-match pieces.
    #[cfg(feature = "hf")]
    WordPiece(crate::hf::WordPiece),
}

impl Tokenizer {
    /// The ids of a text without special tokens; empty for an empty text.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        match self {
            Self::Unigram(unigram) => unigram.encode(text),
            #[cfg(feature = "hf")]
            Self::WordPiece(word_piece) => word_piece.encode(text),
        }
    }

    /// The ids that open and close every sequence.
    pub(crate) fn ends(&self) -> (u32, u32) {
        match self {
            Self::Unigram(unigram) => unigram.ends(),
            #[cfg(feature = "hf")]
            Self::WordPiece(word_piece) => word_piece.ends(),
        }
    }

    /// One more than the largest id that [`Self::encode`] and [`Self::ends`] give.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Unigram(unigram) => unigram.size(),
            #[cfg(feature = "hf")]
            Self::WordPiece(word_piece) => word_piece.size(),
        }
    }

    /// How much a token says: a / (a + p), near 1 for rare tokens and near 0 for frequent ones.
    /// 1 where the tokenizer knows no frequencies.
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
