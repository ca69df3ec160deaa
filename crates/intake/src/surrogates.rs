//! Halves of surrogate pairs in JSON.

use std::borrow::Cow;

/// The code point that stands for a lone surrogate, as a JSON escape.
const REPLACEMENT: &str = "\\ufffd";

/// Replaces each escape of a lone surrogate in a JSON text, such as one half of an emoji, by U+FFFD. No string contains
/// a lone surrogate, so that a parser would refuse the whole text.
pub fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut replaced = String::new();
    let mut copied_to = 0;
    let mut position = 0;
    while let Some(offset) = json[position..].find('\\') {
        let escape = position + offset;
        let unit = utf16_unit(json, escape);
        let next = unit.and_then(|_| utf16_unit(json, escape + 6));
        position = match (unit, next) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => escape + 12,
            (Some(0xd800..0xe000), _) => {
                replaced.push_str(&json[copied_to..escape]);
                replaced.push_str(REPLACEMENT);
                copied_to = escape + 6;
                copied_to
            }
            (Some(_), _) => escape + 6,
            // Another escape: the character after the backslash is part of it.
            (None, _) => escape + 1 + json[escape + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    if copied_to == 0 {
        return Cow::Borrowed(json);
    }
    replaced.push_str(&json[copied_to..]);
    Cow::Owned(replaced)
}

/// Returns the UTF-16 code unit of the escape `\uXXXX` at this position.
fn utf16_unit(json: &str, position: usize) -> Option<u16> {
    let digits = json.get(position..position + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\u00e9\n林\\""#, r#""\u00e9\n林\\""#),
            ("\\", "\\"),
        ] {
            assert_eq!(without_lone_surrogates(json), expected);
        }
    }
}
