//! Numbers and codes that may be written with other separators: `138 1234 5678`, `B-203`, `SF1029 3847 56`.

use std::ops::Range;

/// Maximum number of groups. More of them are a table of numbers.
const MAX_GROUPS: usize = 8;
/// Minimum number of digits of a number whose groups are joined, such as that of a telephone.
const NUMBER_MIN_DIGITS: usize = 7;
/// Maximum number of letters before the digits of a code, as in `GPT-4`.
const PREFIX_MAX_LETTERS: usize = 4;

/// Emits the numbers and codes of a text without their separators. A number may follow another, such as the code of a
/// country, so that its ends are emitted, too.
pub(super) fn analyze(characters: &[char], emit: &mut impl FnMut(String, f64)) {
    if !characters.iter().any(char::is_ascii_digit) {
        return;
    }
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut position = 0;
    while let Some(group) = next_group(characters, position) {
        position = group.end;
        let continues = groups.last().is_some_and(|last| is_separator(&characters[last.end..group.start]));
        if !continues || !belongs(characters, &group) {
            emit_run(characters, &groups, emit);
            groups.clear();
        }
        if belongs(characters, &group) {
            groups.push(group);
        }
    }
    emit_run(characters, &groups, emit);
}

/// Returns the next run of letters and digits of ASCII. A letter of another script is part of no group.
fn next_group(characters: &[char], position: usize) -> Option<Range<usize>> {
    let start = position + characters[position..].iter().position(char::is_ascii_alphanumeric)?;
    let length = characters[start..].iter().take_while(|c| c.is_ascii_alphanumeric()).count();
    Some(start..start + length)
}

fn is_separator(between: &[char]) -> bool {
    (1..=2).contains(&between.len())
        && between.iter().all(|c| matches!(c, ' ' | '-' | '.' | '·' | '_' | '/' | '(' | ')'))
}

fn is_code_separator(c: char) -> bool {
    matches!(c, '-' | '·' | '_')
}

/// Returns true if a group has a digit, or is the short prefix of one.
fn belongs(characters: &[char], group: &Range<usize>) -> bool {
    let has_digit = |group: &[char]| group.iter().any(char::is_ascii_digit);
    let is_prefix = || {
        let rest = &characters[group.end..];
        group.len() <= PREFIX_MAX_LETTERS
            && rest.first().is_some_and(|c| is_code_separator(*c))
            && rest.get(1).is_some_and(char::is_ascii_digit)
    };
    has_digit(&characters[group.clone()]) || is_prefix()
}

fn emit_run(characters: &[char], groups: &[Range<usize>], emit: &mut impl FnMut(String, f64)) {
    let (Some(first), Some(last)) = (groups.first(), groups.last()) else { return };
    if groups.len() < 2 || groups.len() > MAX_GROUPS {
        return;
    }
    let joined =
        |groups: &[Range<usize>]| groups.iter().flat_map(|group| &characters[group.clone()]).collect::<String>();
    let whole = &characters[first.start..last.end];
    let has_letter = whole.iter().any(char::is_ascii_alphabetic);
    let is_code = has_letter && whole.iter().all(|c| c.is_ascii_alphanumeric() || is_code_separator(*c));
    for start in 0..groups.len() - 1 {
        let text = joined(&groups[start..]);
        let digits = text.chars().filter(char::is_ascii_digit).count();
        if digits >= NUMBER_MIN_DIGITS || (is_code && start == 0) {
            emit(text, 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identifiers(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        analyze(&text.chars().collect::<Vec<char>>(), &mut |term, _| found.push(term));
        found
    }

    #[test]
    fn groups_of_a_number_or_code_are_joined() {
        assert_eq!(identifiers("我的电话是138 1234 5678"), ["13812345678", "12345678"]);
        assert_eq!(identifiers("call +351 912-345-678 now"), ["351912345678", "912345678"]);
        assert_eq!(identifiers("(021) 5566-7788"), ["02155667788", "55667788"]);
        assert_eq!(identifiers("sf1029 3847 56"), ["sf1029384756"]);
        assert_eq!(identifiers("门牌 b-203 室"), ["b203"]);
        assert_eq!(identifiers("沪a·12345"), ["a12345"]);
        assert_eq!(identifiers("isbn 978-7-02-000220-7")[0], "9787020002207");
    }

    #[test]
    fn other_numbers_stay_apart() {
        for text in ["3.14", "8:30", "1.2.3", "2 cats and 3 dogs", "10-20 people", "room 203", "e-mail", "13812345678"]
        {
            assert!(identifiers(text).is_empty(), "{text}: {:?}", identifiers(text));
        }
        assert!(identifiers("10 20 30 40 50 60 70 80 90 100").is_empty());
    }
}
