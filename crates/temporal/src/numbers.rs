//! Reads numbers in digits and in Chinese.

use crate::{
    characters::{chinese_digit, chinese_digits, is_numeral},
    date_starts::DateStart,
    scan::Scan,
};

/// The sign of ten in a Chinese number.
const TEN: char = '十';

/// Returns the starts of a number in ASCII digits.
pub(crate) fn digit_starts() -> Vec<DateStart> {
    ('0'..='9').map(DateStart::Character).collect()
}

/// Returns the starts of a year, in digits or Chinese.
pub(crate) fn year_starts() -> Vec<DateStart> {
    ('0'..='9').chain(chinese_digits()).map(DateStart::Character).collect()
}

/// Returns the starts of a number, in digits or Chinese.
pub(crate) fn number_starts() -> Vec<DateStart> {
    let mut starts = year_starts();
    starts.push(DateStart::Character(TEN));
    starts
}

/// Reads a run of at most four ASCII digits. Returns the index after it and its value.
pub(crate) fn digits(scan: &Scan, at: usize) -> Option<(usize, i64)> {
    let mut end = at;
    let mut value = 0;
    while let Some(digit) = scan.at(end).and_then(|c| c.to_digit(10)) {
        if end - at == 4 {
            return None;
        }
        value = value * 10 + i64::from(digit);
        end += 1;
    }
    (end > at).then_some((end, value))
}

/// Reads a number in digits, or a Chinese one below a hundred. Returns the index after it and its value.
pub(crate) fn number(scan: &Scan, at: usize) -> Option<(usize, i64)> {
    if let Some(found) = digits(scan, at) {
        return Some(found);
    }
    let digit = |at: usize| scan.at(at).and_then(chinese_digit);
    let (end, value) = match (digit(at), scan.at(at), scan.at(at + 1)) {
        (Some(tens), _, Some(TEN)) => match digit(at + 2) {
            Some(ones) => (at + 3, tens * 10 + ones),
            None => (at + 2, tens * 10),
        },
        (Some(one), _, _) => (at + 1, one),
        (None, Some(TEN), _) => match digit(at + 1) {
            Some(ones) => (at + 2, 10 + ones),
            None => (at + 1, 10),
        },
        (None, _, _) => return None,
    };
    // A further numeral makes a larger number, which dates do not contain.
    scan.at(end).is_none_or(|c| !is_numeral(c)).then_some((end, value))
}

/// Reads a year of four digits, also Chinese ones.
pub(crate) fn year(scan: &Scan, at: usize) -> Option<(usize, i16)> {
    let digit = |n: usize| scan.at(at + n).and_then(|c| c.to_digit(10).map(i64::from).or_else(|| chinese_digit(c)));
    let value = (0..4).try_fold(0, |value, n| Some(value * 10 + digit(n)?))?;
    let has_four_digits = scan.at(at + 4).is_none_or(|c| !is_numeral(c));
    (has_four_digits && is_year(value)).then_some((at + 4, i16::try_from(value).ok()?))
}

/// Returns true for a year from 1900 to 2100.
pub(crate) fn is_year(value: i64) -> bool {
    (1900..=2100).contains(&value)
}
