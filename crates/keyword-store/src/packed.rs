//! The terms of a record in two columns, for adapters over a database: sorted, with one blank between them, and how often
//! each occurs (LEB128).

use memory_core::{Error, ErrorKind, Result, Terms};

/// The terms, sorted, one blank between them, and their counts; no term holds a blank.
pub fn pack(terms: &Terms) -> (String, Vec<u8>) {
    let (mut words, mut counts) = (String::new(), Vec::new());
    for (term, count) in terms.iter() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(term);
        push(&mut counts, count);
    }
    (words, counts)
}

/// The packed terms one by one.
pub fn words(packed: &str) -> impl Iterator<Item = &str> {
    packed.split(' ').filter(|term| !term.is_empty())
}

/// The packed terms one by one, each with how often it occurs.
///
/// # Errors
/// `Corrupt` when there are fewer counts than terms.
pub fn pairs<'p>(packed: &'p str, mut counts: &'p [u8]) -> impl Iterator<Item = Result<(&'p str, u32)>> {
    words(packed).map(move |term| Ok((term, pull(&mut counts).ok_or_else(mismatch)?)))
}

/// How often each of the `wanted` terms occurs in a document; whether any does. Both are sorted, and `found` has a
/// place for each that is wanted.
///
/// # Errors
/// `Corrupt` when there are fewer counts than terms.
pub fn count(packed: &str, counts: &[u8], wanted: &[&str], found: &mut [u32]) -> Result<bool> {
    found.fill(0);
    let (mut next, mut any) = (0, false);
    for pair in pairs(packed, counts) {
        let (term, count) = pair?;
        while wanted.get(next).is_some_and(|wanted| *wanted < term) {
            next += 1;
        }
        match wanted.get(next) {
            None => break,
            Some(wanted) if *wanted == term => {
                found[next] = count;
                any = true;
            }
            Some(_) => {}
        }
    }
    Ok(any)
}

fn mismatch() -> Error {
    let message = "stored terms and their counts do not match; `memory reindex` makes them anew";
    Error::new(ErrorKind::Corrupt, "read", message)
}

fn push(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn pull(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..32).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_packed_is_counted(
            document in proptest::collection::vec("[a-d]{1,3}|\\PC{1,2}", 0..40),
            wanted in proptest::collection::btree_set("[a-d]{1,3}|\\PC{1,2}", 0..20),
        ) {
            let terms: Terms = document.into_iter().collect();
            let (packed, counts) = pack(&terms);
            let pairs: Vec<(&str, u32)> = pairs(&packed, &counts).collect::<Result<_>>().unwrap();
            prop_assert_eq!(pairs, terms.iter().collect::<Vec<_>>());
            prop_assert_eq!(words(&packed).collect::<Vec<_>>(), terms.iter().map(|(term, _)| term).collect::<Vec<_>>());
            let wanted: BTreeSet<String> = wanted;
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let mut found = vec![7; wanted.len()];
            let any = count(&packed, &counts, &wanted, &mut found).unwrap();
            let expected: Vec<u32> = wanted.iter().map(|term| terms.count(term)).collect();
            prop_assert_eq!(any, expected.iter().any(|n| *n > 0));
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn numbers_of_any_size_come_back(numbers in proptest::collection::vec(any::<u32>(), 0..20)) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|n| push(&mut bytes, *n));
            let mut rest = &bytes[..];
            prop_assert_eq!(numbers.iter().map(|_| pull(&mut rest).unwrap()).collect::<Vec<_>>(), numbers);
            prop_assert_eq!(pull(&mut rest), None);
        }
    }
}
