//! Splits text into sentences, in Chinese and English.

use std::ops::Range;

use memory_engine_core::text::is_han;

use crate::data::{Words, data};

data! {
    DATA = "en/sentences.toml";
    Words: abbreviations;
}

const FENCE: &str = "```";

/// The sentences of a text, as ranges of its bytes, in order and without the white space around them.
///
/// A sentence ends behind `。！？；…` and behind `. ! ?` where white space, a Chinese character or the end follows, with
/// the quotes and brackets that close behind the mark; a line break ends one, too, so that a list item or a heading is
/// a sentence of its own. The dots of `Dr.`, `e.g.`, `3.14`, `J. Smith` and `example.com` end nothing. A fenced block
/// of code is one sentence. Every character that is no white space lies in exactly one of them; a blank text has none.
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
        plain(text, at..fence, &mut found);
        let inside = fence + FENCE.len();
        let close = text[inside..].find(FENCE).map_or(text.len(), |close| inside + close + FENCE.len());
        push(text, fence..close, &mut found);
        at = close;
    }
    plain(text, at..text.len(), &mut found);
    found
}

/// The next fence from a place on that begins its line.
fn fence(text: &str, from: usize) -> Option<usize> {
    let begins_line = |at: &usize| text[from..*at].rsplit('\n').next().unwrap_or_default().trim().is_empty();
    text[from..].match_indices(FENCE).map(|(at, _)| from + at).find(begins_line)
}

fn push(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let part = &text[range.clone()];
    let begin = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    if begin < end {
        found.push(begin..end);
    }
}

fn plain(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let letters: Vec<(usize, char)> = text[range.clone()].char_indices().map(|(i, c)| (range.start + i, c)).collect();
    let place = |n: usize| letters.get(n).map_or(range.end, |(byte, _)| *byte);
    let (mut begin, mut n) = (range.start, 0);
    while n < letters.len() {
        let end = match letters[n].1 {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => Some(n + 1),
            '。' | '！' | '？' | '；' | '…' | '｡' => Some(closed(&letters, n + 1)),
            '.' | '!' | '?' => ends(&text[begin..place(n)], &letters, n),
            _ => None,
        };
        match end {
            Some(end) => {
                push(text, begin..place(end), found);
                (begin, n) = (place(end), end);
            }
            None => n += 1,
        }
    }
    push(text, begin..range.end, found);
}

/// The place behind all marks and closing quotes and brackets that follow a mark.
fn closed(letters: &[(usize, char)], mut n: usize) -> usize {
    while let Some((_, c)) = letters.get(n) {
        match c {
            '。' | '！' | '？' | '；' | '…' | '!' | '?' | '.' | '~' | '～' => n += 1,
            '”' | '’' | '」' | '』' | '）' | '】' | '》' | ')' | ']' | '"' | '\'' | '*' | '_' => n += 1,
            _ => break,
        }
    }
    n
}

/// The place behind the sentence that a mark of the western kind ends, if it ends one.
fn ends(before: &str, letters: &[(usize, char)], n: usize) -> Option<usize> {
    let end = closed(letters, n + 1);
    let next = letters.get(end).map(|(_, c)| *c);
    let free = next.is_none_or(|c| c.is_whitespace() || is_han(c));
    if !free {
        return None;
    }
    if letters[n].1 != '.' || end > n + 1 {
        return Some(end);
    }
    let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '“')).next().unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(|c| c.is_ascii_uppercase()) && word != "I";
    // "1." at the beginning of a line numbers what follows it.
    let number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) && before.trim() == word;
    let short = DATA.abbreviations.iter().any(|known| word.eq_ignore_ascii_case(known));
    let goes_on = next.is_some_and(|c| c != '\n') && (initial || number || short);
    (!goes_on).then_some(end)
}

#[cfg(test)]
mod tests;
