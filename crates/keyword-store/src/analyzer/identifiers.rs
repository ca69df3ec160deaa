//! Numbers and codes that may be written with other separators: `138 1234 5678`, `B-203`, `SF1029 3847 56`.

use std::ops::Range;

use memory_engine_core::text::is_identifier_separator;

use super::stop_words;

/// Maximum number of groups. More of them are a table of numbers.
const MAX_GROUPS: usize = 8;
/// Minimum number of digits of a number whose groups are joined, such as that of a telephone.
const NUMBER_MIN_DIGITS: usize = 7;
/// Maximum number of letters before the digits of a code, as in `GPT-4`.
const PREFIX_MAX_LETTERS: usize = 4;
/// As [`PREFIX_MAX_LETTERS`], if a space follows, as in `CA 1837`.
const SPACED_PREFIX_MAX_LETTERS: usize = 3;
/// Minimum number of digits after a prefix and a space.
const SPACED_MIN_DIGITS: usize = 3;
/// Weight in a query of a whole number, for each of its groups: a number that is found whole is a better match than the
/// same groups apart.
const NUMBER_GROUP_WEIGHT: f64 = 2.0;
/// Weight in a query of the end of a number.
const END_WEIGHT: f64 = 0.1;
/// Weight in a query of a code.
const CODE_WEIGHT: f64 = 1.0;
/// Weight in a query of a code whose prefix is followed by a space.
const SPACED_CODE_WEIGHT: f64 = 0.5;

/// Emits the numbers and codes of a folded text without their separators. The ends of a number are emitted, too,
/// because its first groups may be another number, such as the code of a country.
pub(super) fn analyze(characters: &[char], emit: &mut impl FnMut(String, f64)) {
    if !characters.iter().any(char::is_ascii_digit) {
        return;
    }
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut position = 0;
    while let Some(group) = next_group(characters, position) {
        position = group.end;
        let continues = groups.last().is_some_and(|last| is_separator(&characters[last.end..group.start]));
        if !continues || !is_part(characters, &group) {
            emit_run(characters, &groups, emit);
            groups.clear();
        }
        if is_part(characters, &group) {
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
    // A point and a space end a sentence.
    (1..=2).contains(&between.len()) && between != ['.', ' '] && between.iter().all(|c| is_identifier_separator(*c))
}

fn is_code_separator(c: char) -> bool {
    matches!(c, '-' | '·' | '_')
}

/// Returns true if a group has a digit, or is the short prefix of a group that has one.
fn is_part(characters: &[char], group: &Range<usize>) -> bool {
    let word = &characters[group.clone()];
    if word.iter().any(char::is_ascii_digit) {
        return true;
    }
    let rest = characters.get(group.end + 1..).unwrap_or_default();
    let digits = &rest[..rest.iter().take_while(|c| c.is_ascii_digit()).count()];
    match characters.get(group.end) {
        Some(' ') => {
            let text: String = word.iter().collect();
            let is_number = digits.len() >= SPACED_MIN_DIGITS && !is_year(digits);
            is_number && word.len() <= SPACED_PREFIX_MAX_LETTERS && !stop_words::is_english(&text)
        }
        Some(c) => word.len() <= PREFIX_MAX_LETTERS && is_code_separator(*c) && !digits.is_empty(),
        None => false,
    }
}

fn is_year(digits: &[char]) -> bool {
    matches!(digits, ['1', '9', _, _] | ['2', '0', _, _])
}

/// Returns true if the groups contain a day in digits, also before a time of the day, or are two years.
fn has_date(characters: &[char], groups: &[Range<usize>]) -> bool {
    let is_year = |group: &Range<usize>| is_year(&characters[group.clone()]);
    let is_part_of_day = |group: &Range<usize>| {
        let text = &characters[group.clone()];
        // The third group of 2026-04-03t14:30 has the hour.
        text.iter().position(|c| *c == 't').unwrap_or(text.len()) <= 2
    };
    groups.windows(3).any(|three| {
        is_part_of_day(&three[1])
            && (is_year(&three[0]) && is_part_of_day(&three[2]) || is_part_of_day(&three[0]) && is_year(&three[2]))
    }) || matches!(groups, [first, second] if is_year(first) && is_year(second))
}

fn emit_run(characters: &[char], groups: &[Range<usize>], emit: &mut impl FnMut(String, f64)) {
    let (Some(first), Some(last)) = (groups.first(), groups.last()) else { return };
    if groups.len() < 2 || groups.len() > MAX_GROUPS || has_date(characters, groups) {
        return;
    }
    let joined =
        |groups: &[Range<usize>]| groups.iter().flat_map(|group| &characters[group.clone()]).collect::<String>();
    let whole = &characters[first.start..last.end];
    let has_letter = whole.iter().any(char::is_ascii_alphabetic);
    let is_code = has_letter && whole.iter().all(|c| c.is_ascii_alphanumeric() || is_code_separator(*c));
    let is_spaced_code = groups.len() == 2 && characters[first.clone()].iter().all(char::is_ascii_alphabetic);
    for start in 0..groups.len() - 1 {
        let text = joined(&groups[start..]);
        let digits = text.chars().filter(char::is_ascii_digit).count();
        match start {
            0 if digits >= NUMBER_MIN_DIGITS => emit(text, NUMBER_GROUP_WEIGHT * groups.len() as f64),
            0 if is_code => emit(text, CODE_WEIGHT),
            0 if is_spaced_code => emit(text, SPACED_CODE_WEIGHT),
            _ if digits >= NUMBER_MIN_DIGITS => emit(text, END_WEIGHT),
            _ => {}
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
        assert_eq!(identifiers("flight ca 1837 seat"), ["ca1837"]);
        assert_eq!(identifiers("护照 e 12345678"), ["e12345678"]);
        assert_eq!(identifiers("isbn 978-7-02-000220-7")[0], "9787020002207");
    }

    #[test]
    fn other_numbers_stay_apart() {
        for text in [
            "3.14",
            "8:30",
            "1.2.3",
            "2 cats and 3 dogs",
            "10-20 people",
            "room 203",
            "e-mail",
            "13812345678",
            "in 1837 steps",
            "may 2023",
            "2026-04-03",
            "3.4.2026",
            "2026-04-03 14:30",
            "2026-04-03t14:30",
            "from 2019-2020 on",
            "call 5551234. 20 people came",
        ] {
            assert!(identifiers(text).is_empty(), "{text}: {:?}", identifiers(text));
        }
        assert!(identifiers("10 20 30 40 50 60 70 80 90 100").is_empty());
    }
}
