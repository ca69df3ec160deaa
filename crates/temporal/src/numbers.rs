//! Numbers, in digits and in words.

use crate::{calendar::Count, scan::Scan};

/// A run of ASCII digits at a place: the place after it and its value. More than four are no number of a date.
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

/// The value of an English number word.
pub(crate) fn english(word: &str) -> Option<i64> {
    const WORDS: [&str; 13] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let value = match word {
        "a" | "an" => 1,
        "thirteen" => 13,
        "fourteen" => 14,
        "fifteen" => 15,
        "twenty" => 20,
        "thirty" => 30,
        "ninety" => 90,
        _ => return WORDS.iter().position(|known| *known == word).and_then(|n| i64::try_from(n).ok()),
    };
    Some(value)
}

/// The value of a Chinese digit.
pub(crate) fn chinese_digit(c: char) -> Option<i64> {
    let value = match c {
        '〇' | '零' => 0,
        '一' => 1,
        '二' | '两' => 2,
        '三' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' => 7,
        '八' => 8,
        '九' => 9,
        _ => return None,
    };
    Some(value)
}

/// Whether a character can be part of a number.
pub(crate) fn is_numeral(c: char) -> bool {
    c.is_ascii_digit() || chinese_digit(c).is_some() || matches!(c, '十' | '百' | '千' | '万' | '亿' | '廿')
}

/// A number at a place, in digits or in Chinese below a hundred: the place after it and its value.
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
    // What goes on is a larger number, and not one that a date has.
    scan.at(end).is_none_or(|c| !is_numeral(c)).then_some((end, value))
}

/// A year at a place: four digits, Chinese ones too.
pub(crate) fn year(scan: &Scan, place: usize) -> Option<(usize, i16)> {
    let digit = |n: usize| scan.at(place + n).and_then(|c| c.to_digit(10).map(i64::from).or_else(|| chinese_digit(c)));
    let value = (0..4).try_fold(0, |value, n| Some(value * 10 + digit(n)?))?;
    let ends = scan.at(place + 4).is_none_or(|c| !is_numeral(c));
    (ends && is_year(value)).then_some((place + 4, i16::try_from(value).ok()?))
}

/// Whether a number of four digits is a year that people talk about.
pub(crate) fn is_year(value: i64) -> bool {
    (1900..=2100).contains(&value)
}

/// How many, in Chinese: a number, 半, 几 or 好几.
pub(crate) fn chinese_count(scan: &Scan, place: usize) -> Option<(usize, Count)> {
    if let Some(end) = scan.word(place, "半") {
        return Some((end, Count::Half));
    }
    if let Some((end, _)) = scan.one_of(place, &["好几", "几", "数"]) {
        return Some((end, Count::Few));
    }
    let (end, value) = number(scan, place)?;
    Some((end, Count::Exactly(value)))
}
