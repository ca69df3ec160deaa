//! Splits texts into sentences.

/// Returns the sentences of a text. A full stop ends a sentence if a blank or the end follows.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = sentence_end(rest);
            let (sentence, after) = rest.split_at(end);
            rest = after;
            let sentence = sentence.trim();
            if sentence.contains(char::is_alphanumeric) {
                return Some(sentence);
            }
        }
        None
    })
}

fn sentence_end(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let is_end = match c {
            '。' | '！' | '？' | '!' | '?' | '；' | ';' | '\n' | '…' => true,
            '.' => characters.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if is_end {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_stops() {
        let split = |text| sentences(text).collect::<Vec<_>>();
        assert_eq!(split("他来了。 走吧！"), ["他来了。", "走吧！"]);
        assert_eq!(split("It is v1.2. Fine... ok?\nyes"), ["It is v1.2.", "Fine...", "ok?", "yes"]);
        assert_eq!(split("…… \n").len(), 0);
    }
}
