//! Numbers of cards, accounts and people. Each function gets a value in the form that the expression of its rule finds.

use std::ops::Range;

use super::digits::{
    digits_of, has_luhn_digit, has_verhoeff_digit, is_date, is_repetition, pair, remainder, weighted_sum,
};
use crate::words::words;

pub(super) fn is_card(value: &str) -> bool {
    let digits = digits_of(value);
    if !has_luhn_digit(&digits) || is_repetition(&digits) {
        return false;
    }
    let prefix = |length: usize| digits.iter().take(length).fold(0, |number, digit| 10 * number + digit);
    match digits.len() {
        13 => prefix(1) == 4,
        14 => matches!(prefix(2), 30 | 36 | 38 | 39),
        15 => matches!(prefix(2), 34 | 37),
        16 => {
            matches!(prefix(1), 4)
                || matches!(prefix(2), 51..=55 | 62 | 65)
                || matches!(prefix(4), 2221..=2720 | 3528..=3589 | 6011)
                || matches!(prefix(3), 644..=649)
        }
        17 | 18 => prefix(2) == 62,
        19 => prefix(2) == 62 || prefix(1) == 4,
        _ => false,
    }
}

/// Returns the position of an IBAN without the words after it, which the expression may have found, too.
pub(super) fn without_next_words(text: &str, range: Range<usize>) -> Range<usize> {
    let value = &text[range.clone()];
    let country = value.get(..2).unwrap_or_default().to_ascii_uppercase();
    let Some(length) = words().iban_lengths.get(&country) else { return range };
    let mut ends = value.char_indices().filter(|(_, c)| !c.is_whitespace()).map(|(at, c)| at + c.len_utf8());
    match ends.nth(length - 1) {
        Some(end) => range.start..range.start + end,
        None => range,
    }
}

pub(super) fn is_iban(value: &str) -> bool {
    let compact: Vec<char> = value.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_uppercase()).collect();
    let country: String = compact.iter().take(2).collect();
    if words().iban_lengths.get(&country) != Some(&compact.len()) {
        return false;
    }
    let rotated = compact[4..].iter().chain(&compact[..4]);
    rotated.clone().all(|c| c.is_ascii_alphanumeric()) && remainder(rotated.filter_map(|c| c.to_digit(36)), 97) == 1
}

pub(super) fn is_china_resident_id(value: &str) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    const CHECK_CHARACTERS: &[u8] = b"10X98765432";
    let compact: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    let digits = digits_of(&compact[..compact.len().min(17)]);
    if compact.len() != 18 || digits.len() != 17 || !matches!(pair(&digits, 6), 18..=20) {
        return false;
    }
    let expected = CHECK_CHARACTERS[(weighted_sum(&digits, &WEIGHTS) % 11) as usize];
    let is_region =
        matches!(pair(&digits, 0), 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83);
    is_region
        && is_date(pair(&digits, 10), pair(&digits, 12))
        && compact.as_bytes()[17].to_ascii_uppercase() == expected
}

pub(super) fn is_taiwan_id(value: &str) -> bool {
    // The letters in the order of their numbers, from 10.
    const LETTERS: &str = "ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let letter = value.chars().next().map_or('?', |c| c.to_ascii_uppercase());
    let Some(index) = LETTERS.find(letter) else { return false };
    let number = 10 + index as u32;
    let digits = digits_of(&value[1..]);
    let sum = number / 10 + number % 10 * 9 + weighted_sum(&digits, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    digits.len() == 9 && sum.is_multiple_of(10)
}

pub(super) fn is_hong_kong_id(value: &str) -> bool {
    let compact: Vec<char> =
        value.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    let Some((check, body)) = compact.split_last() else { return false };
    // A missing first letter counts as a space, 36.
    let letters = if body.len() == 7 { 36 * 9 } else { 0 };
    let weights = (2..=body.len() as u32 + 1).rev();
    let sum: u32 = body.iter().filter_map(|c| c.to_digit(36)).zip(weights).map(|(value, weight)| value * weight).sum();
    let expected = (11 - (letters + sum) % 11) % 11;
    check.to_digit(36) == Some(expected)
}

pub(super) fn is_singapore_nric(value: &str) -> bool {
    let value = value.to_ascii_uppercase();
    let digits = digits_of(&value);
    let sum = weighted_sum(&digits, &[2, 7, 6, 5, 4, 3, 2]);
    let (offset, letters): (u32, &[u8]) = match value.as_bytes().first() {
        Some(b'S') => (0, b"JZIHGFEDCBA"),
        Some(b'T') => (4, b"JZIHGFEDCBA"),
        Some(b'F') => (0, b"XWUTRQPNMLK"),
        Some(b'G') => (4, b"XWUTRQPNMLK"),
        Some(b'M') => (3, b"KLJNPQRTUWX"),
        Some(_) | None => return false,
    };
    let index = (sum + offset) % 11;
    let index = if value.starts_with('M') { 10 - index } else { index };
    digits.len() == 7 && value.as_bytes().last() == letters.get(index as usize)
}

pub(super) fn is_korea_rrn(value: &str) -> bool {
    let digits = digits_of(value);
    let Some((check, body)) = digits.split_last() else { return false };
    let sum = weighted_sum(body, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    // Numbers issued since October 2020 have no check digit; they are found only if it is right by chance.
    is_date(pair(body, 2), pair(body, 4)) && (11 - sum % 11) % 10 == *check
}

pub(super) fn is_japan_my_number(value: &str) -> bool {
    let digits = digits_of(value);
    let Some((check, body)) = digits.split_last() else { return false };
    let remainder = weighted_sum(body, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let expected = if remainder <= 1 { 0 } else { 11 - remainder };
    digits.len() == 12 && *check == expected
}

pub(super) fn is_india_aadhaar(value: &str) -> bool {
    let digits = digits_of(value);
    digits.len() == 12 && digits[0] > 1 && has_verhoeff_digit(&digits)
}

pub(super) fn is_us_ssn(value: &str) -> bool {
    let digits = digits_of(value);
    let number = |from: usize, to: usize| digits[from..to].iter().fold(0, |number, digit| 10 * number + digit);
    if digits.len() != 9 {
        return false;
    }
    let area = number(0, 3);
    // 078-05-1120 and 219-09-9999 are numbers of advertisements.
    let is_example = matches!(number(0, 9), 78_051_120 | 219_099_999);
    !is_example && area != 0 && area != 666 && area < 900 && number(3, 5) != 0 && number(5, 9) != 0
}

pub(super) fn is_canada_sin(value: &str) -> bool {
    let digits = digits_of(value);
    digits.len() == 9 && !matches!(digits[0], 0 | 8) && has_luhn_digit(&digits) && !is_repetition(&digits)
}

pub(super) fn is_brazil_cpf(value: &str) -> bool {
    let digits = digits_of(value);
    if digits.len() != 11 || is_repetition(&digits) {
        return false;
    }
    let check_digit = |length: usize| {
        let weights: Vec<u32> = (2..=length as u32 + 1).rev().collect();
        weighted_sum(&digits[..length], &weights) * 10 % 11 % 10
    };
    digits[9] == check_digit(9) && digits[10] == check_digit(10)
}

pub(super) fn is_mexico_curp(value: &str) -> bool {
    const CHARACTERS: &str = "0123456789ABCDEFGHIJKLMN_OPQRSTUVWXYZ";
    let value = value.to_ascii_uppercase();
    let values = value.chars().filter_map(|c| CHARACTERS.find(c)).map(|index| index as u32);
    let sum: u32 = values.take(17).zip((2..=18).rev()).map(|(value, weight)| value * weight).sum();
    let digits = digits_of(&value);
    is_date(pair(&digits, 2), pair(&digits, 4))
        && value.ends_with(|c: char| c.to_digit(10) == Some((10 - sum % 10) % 10))
}

pub(super) fn is_chile_rut(value: &str) -> bool {
    let compact: Vec<char> = value.chars().filter(char::is_ascii_alphanumeric).collect();
    let Some((check, body)) = compact.split_last() else { return false };
    let weights = [2, 3, 4, 5, 6, 7].into_iter().cycle();
    let sum: u32 =
        body.iter().rev().filter_map(|c| c.to_digit(10)).zip(weights).map(|(digit, weight)| digit * weight).sum();
    let expected = match 11 - sum % 11 {
        10 => 'K',
        11 => '0',
        digit => char::from_digit(digit, 10).unwrap_or('?'),
    };
    check.to_ascii_uppercase() == expected
}

pub(super) fn is_spain_dni(value: &str) -> bool {
    const LETTERS: &[u8] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let value = value.to_ascii_uppercase();
    let first = match value.as_bytes().first() {
        Some(b'X') => Some(0),
        Some(b'Y') => Some(1),
        Some(b'Z') => Some(2),
        Some(_) | None => None,
    };
    let digits = first.into_iter().chain(digits_of(&value));
    value.as_bytes().last() == LETTERS.get(remainder(digits, 23) as usize)
}

pub(super) fn is_france_nir(value: &str) -> bool {
    let compact: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    // The departments of Corsica count as 19 and 18.
    let digits = digits_of(&compact.to_ascii_uppercase().replace("2A", "19").replace("2B", "18"));
    digits.len() == 15 && 97 - remainder(digits[..13].iter().copied(), 97) == pair(&digits, 13)
}

pub(super) fn is_italy_codice_fiscale(value: &str) -> bool {
    // The values of the characters 0 to 9, and A to Z, at odd positions.
    const DIGITS: [u32; 10] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21];
    const LETTERS: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let value = value.to_ascii_uppercase();
    let Some((body, check)) = value.as_bytes().split_at_checked(15) else { return false };
    let values = body.iter().enumerate().map(|(i, byte)| {
        let is_digit = byte.is_ascii_digit();
        let index = if is_digit { byte - b'0' } else { byte.wrapping_sub(b'A') % 26 };
        match (i % 2 == 0, is_digit) {
            (true, true) => DIGITS[usize::from(index)],
            (true, false) => LETTERS[usize::from(index)],
            (false, _) => u32::from(index),
        }
    });
    let expected = values.sum::<u32>() % 26;
    check.first().is_some_and(|check| u32::from(check.wrapping_sub(b'A')) == expected)
}

pub(super) fn is_netherlands_bsn(value: &str) -> bool {
    let digits = digits_of(value);
    digits.len() == 9
        && !is_repetition(&digits)
        && (weighted_sum(&digits, &[9, 8, 7, 6, 5, 4, 3, 2]) + 10 * digits[8]).is_multiple_of(11)
}

pub(super) fn is_poland_pesel(value: &str) -> bool {
    let digits = digits_of(value);
    digits.len() == 11
        && is_date(pair(&digits, 2) % 20, pair(&digits, 4))
        && weighted_sum(&digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]).is_multiple_of(10)
}

pub(super) fn is_sweden_personnummer(value: &str) -> bool {
    let digits = digits_of(value);
    let short = &digits[digits.len().saturating_sub(10)..];
    // The days of coordination numbers are 60 higher.
    short.len() == 10 && is_date(pair(short, 2), pair(short, 4) % 60) && has_luhn_digit(short)
}

pub(super) fn is_finland_hetu(value: &str) -> bool {
    const CHECK_CHARACTERS: &[u8] = b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    let value = value.to_ascii_uppercase();
    let Some(body) = value.get(..value.len().saturating_sub(1)) else { return false };
    let digits = digits_of(body);
    digits.len() == 9
        && is_date(pair(&digits, 2), pair(&digits, 0))
        && value.as_bytes().last() == CHECK_CHARACTERS.get(remainder(digits, 31) as usize)
}

pub(super) fn is_switzerland_ahv(value: &str) -> bool {
    let digits = digits_of(value);
    digits.len() == 13 && weighted_sum(&digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
}

pub(super) fn is_germany_tax_id(value: &str) -> bool {
    let digits = digits_of(value);
    let Some((check, body)) = digits.split_last() else { return false };
    // ISO 7064, MOD 11,10.
    let product = body.iter().fold(10, |product, digit| {
        let sum = (digit + product) % 10;
        2 * (if sum == 0 { 10 } else { sum }) % 11
    });
    digits.len() == 11 && digits[0] != 0 && (11 - product) % 10 == *check
}

pub(super) fn is_uk_nhs(value: &str) -> bool {
    let digits = digits_of(value);
    let expected = 11 - weighted_sum(&digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digits.len() == 10 && !is_repetition(&digits) && expected != 10 && digits[9] == expected % 11
}

pub(super) fn is_turkey_tckn(value: &str) -> bool {
    let digits = digits_of(value);
    if digits.len() != 11 || digits[0] == 0 {
        return false;
    }
    let odd: u32 = digits[..9].iter().step_by(2).sum();
    let even: u32 = digits[1..8].iter().step_by(2).sum();
    (7 * odd + 90 - even) % 10 == digits[9] && digits[..10].iter().sum::<u32>() % 10 == digits[10]
}

pub(super) fn is_south_africa_id(value: &str) -> bool {
    let digits = digits_of(value);
    digits.len() == 13 && is_date(pair(&digits, 2), pair(&digits, 4)) && digits[10] < 2 && has_luhn_digit(&digits)
}

pub(super) fn is_australia_tfn(value: &str) -> bool {
    let digits = digits_of(value);
    digits.len() == 9
        && !is_repetition(&digits)
        && weighted_sum(&digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
}
