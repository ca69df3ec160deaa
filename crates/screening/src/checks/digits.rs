//! Check digits.

/// Returns the values of the digits of a text.
pub(super) fn digits_of(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

/// Returns true if the last digit is the Luhn digit of the others.
pub(super) fn has_luhn_digit(digits: &[u32]) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let values = digits.iter().rev().enumerate().map(|(i, digit)| if i % 2 == 0 { *digit } else { doubled(*digit) });
    digits.len() > 1 && values.sum::<u32>().is_multiple_of(10)
}

/// Returns the sum of the digits, each multiplied by its weight.
pub(super) fn weighted_sum(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// Returns true if all digits are equal.
pub(super) fn is_repetition(digits: &[u32]) -> bool {
    digits.windows(2).all(|pair| pair[0] == pair[1])
}

/// Returns the remainder of a number of any length.
pub(super) fn remainder(digits: impl IntoIterator<Item = u32>, divisor: u32) -> u32 {
    digits.into_iter().fold(0, |remainder, digit| (remainder * if digit > 9 { 100 } else { 10 } + digit) % divisor)
}

/// Returns true if the last digit is the check digit of the others after Verhoeff.
pub(super) fn has_verhoeff_digit(digits: &[u32]) -> bool {
    const PERMUTATION: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u32, times: usize| (0..times % 8).fold(digit, |digit, _| PERMUTATION[digit as usize]);
    let values = digits.iter().rev().enumerate().map(|(i, digit)| permuted(*digit, i));
    values.fold(0, dihedral_product) == 0
}

/// Returns the product of two elements of the dihedral group of order 10.
fn dihedral_product(a: u32, b: u32) -> u32 {
    match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => 5 + (a + b) % 5,
        (false, true) => 5 + (a - b) % 5,
        (false, false) => (5 + a - b) % 5,
    }
}

/// Returns true if year, month and day can be a date. The year is not checked.
pub(super) fn is_date(month: u32, day: u32) -> bool {
    let days = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Returns the number that two digits make.
pub(super) fn pair(digits: &[u32], at: usize) -> u32 {
    match digits.get(at..at + 2) {
        Some([tens, ones]) => 10 * tens + ones,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits() {
        assert!(has_luhn_digit(&digits_of("79927398713")) && !has_luhn_digit(&digits_of("79927398710")));
        assert!(has_verhoeff_digit(&digits_of("2363")) && !has_verhoeff_digit(&digits_of("2364")));
        assert_eq!(remainder(digits_of("1234567"), 97), 1_234_567 % 97);
    }

    #[test]
    fn dates() {
        assert!(is_date(2, 29) && is_date(12, 31));
        assert!(!is_date(13, 1) && !is_date(4, 31) && !is_date(0, 1) && !is_date(1, 0));
    }
}
