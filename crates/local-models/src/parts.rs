//! The parts of a model that a file format provides.

use crate::{encoder::Encoder, pooling::Pooling, tokenizer::Tokenizer};

/// Everything that one model file or directory contains.
#[derive(Debug)]
pub(crate) struct ModelParts {
    pub(crate) encoder: Encoder,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) pooling: Pooling,
    /// Maximum window length in tokens, if it is below the encoder's own limit.
    pub(crate) max_tokens: Option<usize>,
}
