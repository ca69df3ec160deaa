//! Cuts Chinese text into the words of jieba's dictionary.

mod packed;
mod segmenter;

use std::sync::LazyLock;

use jieba_rs::TokenizeMode;

use self::segmenter::Segmenter;
use super::token::HanToken;
use crate::analyzer::stop_words;

pub(super) const VERSION: &str = "han-pairs-jieba-snowball-2";

static SEGMENTER: LazyLock<Segmenter> = LazyLock::new(|| match Segmenter::new(packed::FILE) {
    Some(segmenter) => segmenter,
    #[expect(clippy::panic, reason = "the file is part of the crate, and a test reads it")]
    None => panic!("the bundled Chinese dictionary cannot be read"),
});

/// Returns the words of a run in their order. The parts of a long word come before the word itself.
pub(super) fn tokens_for_search(run: &[char]) -> Vec<HanToken> {
    tokenize(run, TokenizeMode::Search)
}

/// Returns the words of a run in their order, without overlaps.
pub(super) fn tokens(run: &[char]) -> Vec<HanToken> {
    tokenize(run, TokenizeMode::Default)
}

fn tokenize(run: &[char], mode: TokenizeMode) -> Vec<HanToken> {
    let text: String = run.iter().collect();
    let jieba = SEGMENTER.load_for(run);
    let tokens = jieba.tokenize(&text, mode, true).into_iter().map(|token| HanToken {
        start: token.start,
        end: token.end,
        is_stop_word: stop_words::is_chinese(token.word),
        is_dictionary_word: true,
    });
    tokens.collect()
}

#[cfg(test)]
mod tests;
