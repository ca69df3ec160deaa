//! Codes: words that another word either equals or not, such as order numbers, flights and telephone numbers.

/// Minimum number of characters of a code with letters, and of digits of a number.
const MIN_CHARS: usize = 3;

/// Returns true if a word is a code or a number by which something is identified. These are numbers of at least three
/// digits, letters with digits after them, and versions of three parts. A year or a day is none. Digits with letters
/// after them are a measure or a time of day, such as `5km` and `6pm`, unless there are at least three digits.
///
/// ```
/// use memory_engine_core::text::is_code;
///
/// assert!(["ca1837", "20931", "1.85.2"].into_iter().all(is_code));
/// assert!(!["2024", "20240501", "12", "6pm", "flight"].into_iter().any(is_code));
/// ```
pub fn is_code(word: &str) -> bool {
    if word.contains(|c: char| !c.is_alphanumeric()) {
        return is_version(word);
    }
    let length = word.chars().count();
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits == 0 || length < MIN_CHARS {
        false
    } else if digits < length {
        digits >= MIN_CHARS || !word.starts_with(|c: char| c.is_ascii_digit())
    } else {
        !(matches!(digits, 4 | 8) && begins_with_year(word))
    }
}

fn is_version(word: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()) && !(part.len() == 4 && begins_with_year(part))
    };
    word.split('.').count() >= MIN_CHARS && word.split('.').all(is_part)
}

fn begins_with_year(digits: &str) -> bool {
    digits.starts_with("19") || digits.starts_with("20")
}
