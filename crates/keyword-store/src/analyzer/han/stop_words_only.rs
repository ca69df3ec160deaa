//! Cuts Chinese text at its stop words, in builds without the feature `chinese`.

use super::token::HanToken;
use crate::analyzer::stop_words;

pub(super) const VERSION: &str = "han-pairs-snowball-2";

/// Maximum length of a stop word in characters. A test of the stop words checks it.
const STOP_WORD_MAX_CHARS: usize = 3;

/// Returns the same as [`tokens`]: without a dictionary, words have no parts.
pub(super) fn tokens_for_search(run: &[char]) -> Vec<HanToken> {
    tokens(run)
}

/// Returns the stop words of a run, the longest match at each position, and the pieces between them.
pub(super) fn tokens(run: &[char]) -> Vec<HanToken> {
    let token = |start, end, is_stop_word| HanToken { start, end, is_stop_word, is_dictionary_word: false };
    let mut tokens = Vec::new();
    let mut piece_start = 0;
    let mut position = 0;
    while position < run.len() {
        let Some(length) = stop_word_length(&run[position..]) else {
            position += 1;
            continue;
        };
        if piece_start < position {
            tokens.push(token(piece_start, position, false));
        }
        tokens.push(token(position, position + length, true));
        position += length;
        piece_start = position;
    }
    if piece_start < position {
        tokens.push(token(piece_start, position, false));
    }
    tokens
}

/// Returns the length of the longest stop word at the beginning of a run.
fn stop_word_length(run: &[char]) -> Option<usize> {
    let longest = run.len().min(STOP_WORD_MAX_CHARS);
    (1..=longest).rev().find(|length| stop_words::is_chinese(&run[..*length].iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(String, bool)> {
        let run: Vec<char> = text.chars().collect();
        let piece = |token: HanToken| (run[token.start..token.end].iter().collect(), token.is_stop_word);
        tokens(&run).into_iter().map(piece).collect()
    }

    #[test]
    fn a_run_is_cut_at_the_longest_stop_words() {
        let pair = |text: &str, is_stop_word| (text.to_owned(), is_stop_word);
        assert_eq!(pieces("我们喜欢秋天吗"), [pair("我们", true), pair("喜欢秋天", false), pair("吗", true)]);
        assert_eq!(pieces("海鲜"), [pair("海鲜", false)]);
        assert!(pieces("").is_empty());
    }
}
