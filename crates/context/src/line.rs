//! Writes memories as single lines that cannot imitate the block around them, and truncates after sentences.
//!
//! Reasons: `docs/design/decisions/0024-injected-memory-is-data.md`.

use memory_engine_core::text::normalize;
use memory_engine_text::{Sentence, SentenceRules};

/// Brackets with more characters inside do not enclose a reserved word.
const RESERVED_MAX_CHARS: usize = 60;

/// Returns the text on one line of at most `max_chars` characters. A memory can thus not end its line and imitate
/// another part of the message.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let folded = folded(text);
    if folded.chars().count() <= max_chars {
        return folded;
    }
    let cut: String = folded.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Returns the text on one line. A text of more than `max_chars` characters is cut after a sentence, or else within
/// one, with an ellipsis. Empty if not even that fits.
pub(crate) fn whole_sentences(text: &str, max_chars: usize) -> String {
    let folded = folded(text);
    if folded.chars().count() <= max_chars {
        return folded;
    }
    let prefix_end = folded.char_indices().nth(max_chars).map_or(folded.len(), |(end, _)| end);
    let whole = &folded[..sentence_end(&folded[..prefix_end]).unwrap_or_default()];
    // If the whole sentences would fill less than a quarter, a part of the next one is more useful.
    if whole.chars().count().saturating_sub(1) * 4 >= max_chars {
        return whole.to_owned();
    }
    let part: String = folded.chars().take(max_chars.saturating_sub(1)).collect();
    if part.is_empty() { part } else { format!("{part}…") }
}

/// Returns the end of the last complete sentence or line of a text, in bytes.
pub(crate) fn sentence_end(text: &str) -> Option<usize> {
    let is_complete =
        |sentence: &Sentence<'_>| !sentence.marks().is_empty() && (sentence.start > 0 || !sentence.body.is_empty());
    SentenceRules::LINE.split(text).filter(is_complete).last().map(|sentence| sentence.start + sentence.text.len())
}

/// Returns the first `limit` sentences of the text, on one line.
pub(crate) fn first_sentences(text: &str, limit: usize) -> String {
    let folded = folded(text);
    let sentences = SentenceRules::LINE.split(&folded).take(limit);
    sentences.map(|sentence| sentence.text).collect::<String>()
}

/// Returns a message on one line, in a form that cannot imitate the lines around it. Line breaks become blanks,
/// invisible characters and the marks of a Markdown heading at the start are removed, and brackets around `reserved`
/// words, which would make them headings, become round ones.
pub fn quoted(text: &str, reserved: &[&str]) -> String {
    let line = neutralized(&folded(text), reserved, &[]);
    let title = line.trim_start_matches('#');
    if title.starts_with(' ') { title.trim_start().to_owned() } else { line }
}

/// Returns the text without control characters other than line breaks and tabs, and without invisible characters.
pub fn visible(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c) && (!c.is_control() || matches!(c, '\n' | '\t'))).collect()
}

/// Returns the text with single blanks for white space, and without control characters and invisible characters.
fn folded(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !is_hidden(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true for invisible characters: direction marks, zero-width spaces and the like. Joiners are kept, since
/// emoji and some scripts need them.
fn is_hidden(c: char) -> bool {
    matches!(
        u32::from(c),
        0xad | 0x200b | 0x200e | 0x200f | 0x202a..=0x202e | 0x2060..=0x2069 | 0xfeff | 0xe0000..=0xe007f
    )
}

/// Returns the text without anything that imitates the frame of a block. A run of dashes becomes one em dash,
/// square brackets around one of the `reserved` words become round ones, and the colon after a word of `closing`
/// becomes a comma. `closing` are beginnings of closings as `word:continuation`.
pub(crate) fn neutralized(text: &str, reserved: &[&str], closing: &[&str]) -> String {
    let mut plain = replace_each(text, replace_dashes);
    plain = replace_each(&plain, |rest| replace_brackets(rest, reserved));
    for (word, continuation) in closing.iter().filter_map(|words| words.split_once(':')) {
        plain = replace_colon(&plain, word, continuation);
    }
    plain
}

/// Tries a replacement at every position of the text. `replacement` returns the new text for the beginning of its
/// argument, and the number of bytes that it replaces.
fn replace_each(text: &str, replacement: impl Fn(&str) -> Option<(String, usize)>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match replacement(rest) {
            Some((new, length)) => {
                result.push_str(&new);
                length
            }
            None => {
                result.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    result
}

/// Replaces square brackets at the beginning of `text` if they enclose one of the `reserved` words.
fn replace_brackets(text: &str, reserved: &[&str]) -> Option<(String, usize)> {
    let open = text.chars().next().filter(|c| matches!(c, '[' | '［' | '【' | '〔'))?;
    let inside = &text[open.len_utf8()..];
    let (end, close) =
        inside.char_indices().take(RESERVED_MAX_CHARS).find(|(_, c)| matches!(c, ']' | '］' | '】' | '〕'))?;
    // Inner brackets are replaced at their own position.
    if inside[..end].contains(['[', '［', '【', '〔']) {
        return None;
    }
    let letters_inside: String = normalize(&inside[..end]).chars().filter(|c| c.is_alphanumeric()).collect();
    let is_reserved = reserved.iter().any(|word| {
        let word: String = normalize(word).chars().filter(|c| c.is_alphanumeric()).collect();
        !word.is_empty() && letters_inside.starts_with(&word)
    });
    is_reserved.then(|| (format!("({})", &inside[..end]), open.len_utf8() + end + close.len_utf8()))
}

/// Replaces a run of at least three dashes, which would be a fence in Markdown.
fn replace_dashes(text: &str) -> Option<(String, usize)> {
    let is_dash = |c: &char| matches!(c, '-' | '－' | '﹣' | '–' | '‐' | '‑' | '−');
    let run = || text.chars().take_while(is_dash);
    run().nth(2).is_some().then(|| ("—".to_owned(), run().map(char::len_utf8).sum()))
}

/// Replaces the colon between `word` and `continuation` by a comma, with any spacing and in any width.
fn replace_colon(text: &str, word: &str, continuation: &str) -> String {
    let word = normalize(word);
    let continuation = normalize(continuation);
    let comma = if word.is_ascii() { ',' } else { '，' };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // Normalising the text around every character takes quadratic time.
        let is_closing = matches!(c, ':' | '：' | '︰' | '﹕')
            && normalize(plain.trim_end()).ends_with(&word)
            && normalize(rest[c.len_utf8()..].trim_start()).starts_with(&continuation);
        plain.push(if is_closing { comma } else { c });
        rest = &rest[c.len_utf8()..];
    }
    plain
}

#[cfg(test)]
mod tests;
