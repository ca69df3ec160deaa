//! A token counter with the table of a real tokenizer.

use bpe_openai::Tokenizer;

use super::counter::TokenCounter;

/// Counts tokens as OpenAI's models since GPT-4o do (byte pair encoding with the table `o200k`). The first count of a
/// process loads the table, which takes about 0.2 s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BpeTokens;

impl BpeTokens {
    fn table() -> &'static Tokenizer {
        bpe_openai::o200k_base()
    }
}

impl TokenCounter for BpeTokens {
    fn name(&self) -> &str {
        "o200k"
    }

    fn count(&self, text: &str) -> usize {
        Self::table().count(text)
    }
}
