//! Memories as lines: data that cannot pass for a part of the block around it.

use memory_engine_core::text::normalize;

/// The text on one line: a memory cannot end its line and pretend to be another part of the message.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let folded = folded(text);
    if folded.chars().count() <= max_chars {
        return folded;
    }
    let cut: String = folded.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// The text on one line, cut behind a sentence where it is too long, or else within one and marked; empty where not even
/// that fits.
pub(crate) fn whole_sentences(text: &str, max_chars: usize) -> String {
    let folded = folded(text);
    if folded.chars().count() <= max_chars {
        return folded;
    }
    let kept: Vec<char> = folded.chars().take(max_chars).collect();
    let ends = |n: &usize| ends_sentence(kept[*n], kept.get(n + 1).copied(), *n);
    match (0..kept.len()).rev().find(ends) {
        // A sentence that is a small part of what fits says less than the beginning of the long one.
        Some(last) if last * 4 >= max_chars => kept[..=last].iter().collect(),
        _ if max_chars > 1 => kept[..max_chars - 1].iter().chain(&['…']).collect(),
        _ => String::new(),
    }
}

/// Whether a sentence ends with the character at this place.
fn ends_sentence(c: char, next: Option<char>, place: usize) -> bool {
    match c {
        '。' | '！' | '？' | '!' | '?' | '；' | '…' => true,
        // A dot inside a number or a name ends nothing.
        '.' => next.is_none_or(char::is_whitespace) && place > 0,
        _ => false,
    }
}

/// Where the last sentence, or the last line, that is whole within a text ends, in bytes; `None` where none is.
pub(crate) fn sentence_end(text: &str) -> Option<usize> {
    let mut next = None;
    for (at, c) in text.char_indices().rev() {
        if (c == '\n' && at > 0) || ends_sentence(c, next, at) {
            return Some(at + c.len_utf8());
        }
        next = Some(c);
    }
    None
}

/// The first `limit` sentences of a text on one line.
pub(crate) fn first_sentences(text: &str, limit: usize) -> String {
    let folded = folded(text);
    let letters: Vec<char> = folded.chars().collect();
    let ends = |n: &usize| {
        // Several marks in a row end one sentence.
        let next = letters.get(n + 1).copied();
        ends_sentence(letters[*n], next, *n) && !next.is_some_and(|c| ends_sentence(c, None, 1))
    };
    match (0..letters.len()).filter(ends).nth(limit.saturating_sub(1)) {
        Some(end) if limit > 0 => letters[..=end].iter().collect(),
        Some(_) => String::new(),
        None => folded,
    }
}

/// What somebody said, word for word, made safe to stand among other lines: what cannot be seen is left out, every further
/// line is indented, so that none of them can pass for a line of somebody else, and the names of `marks` lose the brackets
/// that would make headings of them.
pub fn quoted(text: &str, marks: &[&str]) -> String {
    let mut lines = Vec::new();
    for line in
        text.trim().split(|c: char| c == '\n' || (c.is_control() && c != '\t') || c == '\u{2028}' || c == '\u{2029}')
    {
        let shown: String = line.chars().filter(|c| !is_hidden(*c)).collect();
        let shown = shown.trim_end();
        if !shown.is_empty() {
            lines.push(neutralized(shown, marks, &[]));
        }
    }
    lines.join("\n  ")
}

/// White space folded, without what could not be seen: control characters, marks of direction and of no width.
fn folded(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !is_hidden(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters that are not shown; not the joiners that emoji and some scripts are made with.
fn is_hidden(c: char) -> bool {
    matches!(u32::from(c), 0xad | 0x200b | 0x200e | 0x200f | 0x202a..=0x202e | 0x2060..=0x2069 | 0xfeff | 0xe0000..=0xe007f)
}

/// The text without what marks the parts of a block: runs of dashes become dashes of another kind, `[…]` around one of
/// the block's own words round brackets, and the colon goes from behind the words that the block ends with.
pub(crate) fn neutralized(text: &str, bracketed: &[&str], closing: &[&str]) -> String {
    let mut plain = replaced(text, dashes);
    plain = replaced(&plain, |rest| bracket(rest, bracketed));
    for (opening, continued) in closing.iter().filter_map(|words| words.split_once(':')) {
        plain = without_colon(&plain, opening, continued);
    }
    plain
}

/// The text with every place rewritten where `rewrite` has something to write, and says in place of how many bytes.
fn replaced(text: &str, rewrite: impl Fn(&str) -> Option<(String, usize)>) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match rewrite(rest) {
            Some((instead, taken)) => {
                written.push_str(&instead);
                taken
            }
            None => {
                written.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    written
}

/// A bracket around one of the words at the beginning of `text`: what to write, and how many bytes it is in place of.
fn bracket(text: &str, words: &[&str]) -> Option<(String, usize)> {
    let open = text.chars().next().filter(|c| matches!(c, '[' | '［' | '【' | '〔'))?;
    let inside = &text[open.len_utf8()..];
    // Longer than any of the words, and what is between has no meaning of its own.
    let (end, close) = inside.char_indices().take(60).find(|(_, c)| matches!(c, ']' | '］' | '】' | '〕'))?;
    // The brackets within are looked at by themselves.
    if inside[..end].contains(['[', '［', '【', '〔']) {
        return None;
    }
    let reads: String = normalize(&inside[..end]).chars().filter(|c| c.is_alphanumeric()).collect();
    let ours = words.iter().any(|word| {
        let word: String = normalize(word).chars().filter(|c| c.is_alphanumeric()).collect();
        !word.is_empty() && reads.starts_with(&word)
    });
    ours.then(|| (format!("({})", &inside[..end]), open.len_utf8() + end + close.len_utf8()))
}

/// A run of three dashes or more, which would be a fence.
fn dashes(text: &str) -> Option<(String, usize)> {
    let run: Vec<char> = text.chars().take_while(|c| matches!(c, '-' | '－' | '﹣' | '–' | '‐' | '‑' | '−')).collect();
    (run.len() > 2).then(|| ("—".to_owned(), run.iter().map(|c| c.len_utf8()).sum()))
}

/// Writes a comma for the colon between `opening` and `continued`, however it is spaced and whatever its width.
fn without_colon(text: &str, opening: &str, continued: &str) -> String {
    let (opening, continued) = (normalize(opening), normalize(continued));
    let comma = if opening.is_ascii() { ',' } else { '，' };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_colon = matches!(c, ':' | '：' | '︰' | '﹕');
        let before = normalize(plain.trim_end());
        let after = normalize(rest[c.len_utf8()..].trim_start());
        let ours = is_colon && before.ends_with(&opening) && after.starts_with(&continued);
        if ours {
            plain.push(comma)
        } else {
            plain.push(c)
        }
        rest = &rest[c.len_utf8()..];
    }
    plain
}

#[cfg(test)]
mod tests;
