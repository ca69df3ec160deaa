//! Reads numbers in digits and in Chinese.

use crate::{
    characters::{chinese_digit, is_numeral},
    scan::Scan,
};

/// Reads a run of ASCII digits: the place after it and its value. More than four are no number of a date.
pub(crate) fn digits(scan: &Scan, place: usize) -> Option<(usize, i64)> {
    let mut end = place;
    let mut value = 0;
    while let Some(digit) = scan.at(end).and_then(|c| c.to_digit(10)) {
        if end - place == 4 {
            return None;
        }
        value = value * 10 + i64::from(digit);
        end += 1;
    }
    (end > place).then_some((end, value))
}

/// Reads a number in digits, or below a hundred in Chinese: the place after it and its value.
pub(crate) fn number(scan: &Scan, place: usize) -> Option<(usize, i64)> {
    if let Some(found) = digits(scan, place) {
        return Some(found);
    }
    let digit = |place: usize| scan.at(place).and_then(chinese_digit);
    let (end, value) = match (digit(place), scan.at(place), scan.at(place + 1)) {
        (Some(tens), _, Some('十')) => match digit(place + 2) {
            Some(ones) => (place + 3, tens * 10 + ones),
            None => (place + 2, tens * 10),
        },
        (Some(one), _, _) => (place + 1, one),
        (None, Some('十'), _) => match digit(place + 1) {
            Some(ones) => (place + 2, 10 + ones),
            None => (place + 1, 10),
        },
        (None, _, _) => return None,
    };
    // A numeral after it makes a larger number, which no date has.
    scan.at(end).is_none_or(|c| !is_numeral(c)).then_some((end, value))
}

/// Reads a year of four digits, also Chinese ones.
pub(crate) fn year(scan: &Scan, place: usize) -> Option<(usize, i16)> {
    let digit = |n: usize| scan.at(place + n).and_then(|c| c.to_digit(10).map(i64::from).or_else(|| chinese_digit(c)));
    let value = (0..4).try_fold(0, |value, n| Some(value * 10 + digit(n)?))?;
    let ends = scan.at(place + 4).is_none_or(|c| !is_numeral(c));
    (ends && is_year(value)).then_some((place + 4, i16::try_from(value).ok()?))
}

/// Returns true for a year that people talk about.
pub(crate) fn is_year(value: i64) -> bool {
    (1900..=2100).contains(&value)
}
