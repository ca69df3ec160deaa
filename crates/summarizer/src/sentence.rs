//! Where sentences begin and end, in Chinese and English.

use std::ops::Range;

use memory_engine_core::text::is_han;

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "vs", "no", "vol", "fig", "dept", "approx", "inc", "ltd", "co",
    "e.g", "i.e", "eg", "ie", "cf", "al", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov",
    "dec", "mt", "ft", "gen", "col", "sgt", "capt", "lt", "rev", "hon",
];

const FENCE: &str = "```";

/// The sentences of a text, as ranges of its bytes, in order and without the white space around them.
///
/// A sentence ends behind `。！？；…` and behind `. ! ?` where white space, a Chinese character or the end follows, with the
/// quotes and brackets that close behind the mark; a line break ends one, too, so that a list item or a heading is a
/// sentence of its own. The dots of `Dr.`, `e.g.`, `3.14`, `J. Smith` and `example.com` end nothing. A fenced block of code
/// is one sentence. Every character that is no white space lies in exactly one of them; a blank text has none.
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
    let short = ABBREVIATIONS.iter().any(|known| word.eq_ignore_ascii_case(known));
    let goes_on = next.is_some_and(|c| c != '\n') && (initial || number || short);
    (!goes_on).then_some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn chinese_marks_end_sentences_with_what_closes_behind_them() {
        assert_eq!(split("你好！！我叫小雨（真的。）再见……好"), ["你好！！", "我叫小雨（真的。）", "再见……", "好"]);
        assert_eq!(split("“走吧。”她说。"), ["“走吧。”", "她说。"]);
        assert_eq!(split("一；二"), ["一；", "二"]);
    }

    #[test]
    fn dots_within_words_numbers_and_abbreviations_end_nothing() {
        for whole in ["Mr. Li met J. Smith at 3.14 p.m. sharp", "See example.com/a?b=c for v1.2.", "e.g. this one"] {
            let expected = if whole.contains("p.m.") { 2 } else { 1 };
            assert!(split(whole).len() <= expected, "{:?}", split(whole));
        }
        assert_eq!(split("I live with my mom and I. Then we left."), ["I live with my mom and I.", "Then we left."]);
        assert_eq!(split("1. first thing\n2. second"), ["1. first thing", "2. second"]);
        assert_eq!(split("OK.好的"), ["OK.", "好的"]);
    }

    #[test]
    fn a_fenced_block_is_one_sentence_and_an_open_one_runs_to_the_end() {
        assert_eq!(
            split("Look.\n```rs\nlet a = 1;\n\nb.c();\n```\nDone!"),
            ["Look.", "```rs\nlet a = 1;\n\nb.c();\n```", "Done!"]
        );
        assert_eq!(split("a\n```\nx. y. z"), ["a", "```\nx. y. z"]);
        assert_eq!(split("use ``` inline. yes"), ["use ``` inline.", "yes"]);
    }

    proptest! {
        #[test]
        fn every_letter_lies_in_exactly_one_sentence(text in "(\\PC|[。！？；….!?\n ]|```|\\. |Dr\\. ){0,80}") {
            let mut at = 0;
            for range in sentences(&text) {
                prop_assert!(range.start >= at && range.start < range.end);
                prop_assert!(text[at..range.start].trim().is_empty(), "{:?}", &text[at..range.start]);
                prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
                at = range.end;
            }
            prop_assert!(text[at..].trim().is_empty());
        }
    }
}
