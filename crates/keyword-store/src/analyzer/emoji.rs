//! Emoji as terms.

/// Emits the emoji at the beginning of `characters`, if there is one. Returns the number of characters to skip. The
/// signs that change an emoji (colour, presentation, joiner) are no terms, so that it is found in every form.
pub(super) fn analyze(characters: &[char], emit: &mut impl FnMut(String, f64)) -> usize {
    match characters {
        [first, second, ..] if is_flag_part(*first) && is_flag_part(*second) => {
            emit([first, second].into_iter().collect(), 1.0);
            2
        }
        [first, ..] => {
            if is_emoji(*first) {
                emit(first.to_string(), 1.0);
            }
            1
        }
        [] => 0,
    }
}

/// Returns true for one of the two signs of a flag.
fn is_flag_part(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

fn is_emoji(c: char) -> bool {
    match c {
        '\u{1f3fb}'..='\u{1f3ff}' => false,
        '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' => true,
        '\u{231a}' | '\u{231b}' | '\u{23e9}'..='\u{23fa}' | '\u{2b1b}' | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}' => true,
        _ => false,
    }
}
