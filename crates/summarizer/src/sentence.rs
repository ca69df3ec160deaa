//! Splits text into sentences, in Chinese and English.

use std::ops::Range;

use memory_engine_core::text::is_han;

use crate::data::{WordList, data};

data! {
    DATA = "en/sentences.toml";
    WordList: abbreviations;
}

const FENCE: &str = "```";

/// Returns the sentences of a text as byte ranges, in order and without surrounding white space.
///
/// A sentence ends after `。！？；…`, and after `. ! ?` if white space, a Chinese character or the end of the text follows.
/// Closing quotes and brackets after the mark belong to it. A line break ends a sentence too, so that a list item or a
/// heading is a sentence of its own. The dots of `Dr.`, `e.g.`, `3.14`, `J. Smith` and `example.com` end no sentence. A
/// fenced code block is one sentence. Each character other than white space belongs to exactly one sentence.
///
/// ```
/// let text = "他说：“好！”然后走了。Dr. Li paid 3.50 yuan. Why?";
/// let found: Vec<&str> = memory_engine_summarizer::sentences(text).into_iter().map(|range| &text[range]).collect();
/// assert_eq!(found, ["他说：“好！”", "然后走了。", "Dr. Li paid 3.50 yuan.", "Why?"]);
/// ```
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(fence) = fence(text, at) {
        split_prose(text, at..fence, &mut found);
        let inside = fence + FENCE.len();
        let close = text[inside..].find(FENCE).map_or(text.len(), |close| inside + close + FENCE.len());
        push_trimmed(text, fence..close, &mut found);
        at = close;
    }
    split_prose(text, at..text.len(), &mut found);
    found
}

/// Returns the position of the next code fence at the beginning of a line.
fn fence(text: &str, from: usize) -> Option<usize> {
    let begins_line = |at: &usize| text[from..*at].rsplit('\n').next().unwrap_or_default().trim().is_empty();
    text[from..].match_indices(FENCE).map(|(at, _)| from + at).find(begins_line)
}

/// Adds a range without the white space at its ends, unless it is blank.
fn push_trimmed(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let part = &text[range.clone()];
    let begin = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    if begin < end {
        found.push(begin..end);
    }
}

/// Splits text outside of code blocks.
fn split_prose(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let chars: Vec<(usize, char)> = text[range.clone()].char_indices().map(|(i, c)| (range.start + i, c)).collect();
    let byte_of = |n: usize| chars.get(n).map_or(range.end, |(byte, _)| *byte);
    let mut begin = range.start;
    let mut n = 0;
    while n < chars.len() {
        let end = match chars[n].1 {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => Some(n + 1),
            '。' | '！' | '？' | '；' | '…' | '｡' => Some(skip_closing_marks(&chars, n + 1)),
            '.' | '!' | '?' => western_sentence_end(&text[begin..byte_of(n)], &chars, n),
            _ => None,
        };
        match end {
            Some(end) => {
                push_trimmed(text, begin..byte_of(end), found);
                begin = byte_of(end);
                n = end;
            }
            None => n += 1,
        }
    }
    push_trimmed(text, begin..range.end, found);
}

/// Returns the index after all marks, closing quotes and brackets from index `n` on.
fn skip_closing_marks(chars: &[(usize, char)], mut n: usize) -> usize {
    while let Some((_, c)) = chars.get(n) {
        match c {
            '。' | '！' | '？' | '；' | '…' | '!' | '?' | '.' | '~' | '～' => n += 1,
            '”' | '’' | '」' | '』' | '）' | '】' | '》' | ')' | ']' | '"' | '\'' | '*' | '_' => n += 1,
            _ => break,
        }
    }
    n
}

/// Returns the index after the sentence that the ASCII mark at index `n` ends; `None` if it ends none.
fn western_sentence_end(before: &str, chars: &[(usize, char)], n: usize) -> Option<usize> {
    let end = skip_closing_marks(chars, n + 1);
    let next = chars.get(end).map(|(_, c)| *c);
    let may_end = next.is_none_or(|c| c.is_whitespace() || is_han(c));
    if !may_end {
        return None;
    }
    if chars[n].1 != '.' || end > n + 1 {
        return Some(end);
    }
    let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '“')).next().unwrap_or_default();
    let is_initial = word.chars().count() == 1 && word.chars().all(|c| c.is_ascii_uppercase()) && word != "I";
    // "1." at the beginning of a line is the number of a list item.
    let is_list_number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) && before.trim() == word;
    let is_abbreviation = DATA.abbreviations.iter().any(|known| word.eq_ignore_ascii_case(known));
    let continues = next.is_some_and(|c| c != '\n') && (is_initial || is_list_number || is_abbreviation);
    (!continues).then_some(end)
}

#[cfg(test)]
mod tests;
