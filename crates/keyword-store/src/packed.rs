//! The terms of a record in two columns, for adapters over a database: sorted, with one blank between them, and how often
//! each occurs (LEB128): each in its turn, or, after a 0, those that occur more than once, each with how many before it do not.

use memory_engine_core::{Error, ErrorKind, Result, Terms};

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

/// The same, with the counts in the shorter way: of most terms it is 1, and nothing is written.
pub fn pack_short(terms: &Terms) -> (String, Vec<u8>) {
    let (words, _) = pack(terms);
    let (mut counts, mut ones) = (Vec::new(), 0);
    for (_, count) in terms.iter() {
        if count == 1 {
            ones += 1;
            continue;
        }
        if counts.is_empty() {
            counts.push(0);
        }
        push(&mut counts, ones);
        push(&mut counts, count);
        ones = 0;
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
pub fn pairs<'p>(packed: &'p str, counts: &'p [u8]) -> impl Iterator<Item = Result<(&'p str, u32)>> {
    let mut counts = Counts::of(counts);
    words(packed).map(move |term| Ok((term, counts.next().ok_or_else(mismatch)?)))
}

/// The counts in their order.
#[derive(Debug)]
enum Counts<'p> {
    Each(&'p [u8]),
    /// So many are 1 before what the rest begins with, or all that follow.
    Few(Option<u32>, &'p [u8]),
}

impl<'p> Counts<'p> {
    fn of(bytes: &'p [u8]) -> Self {
        match bytes.split_first() {
            None => Self::few(bytes),
            Some((0, rest)) => Self::few(rest),
            Some(_) => Self::Each(bytes),
        }
    }

    fn few(mut rest: &'p [u8]) -> Self {
        if rest.is_empty() {
            return Self::Few(None, rest);
        }
        match pull(&mut rest) {
            Some(ones) => Self::Few(Some(ones), rest),
            None => Self::Each(&[]),
        }
    }

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Each(rest) => pull(rest),
            Self::Few(None, _) => Some(1),
            Self::Few(Some(0), rest) => {
                let count = pull(rest)?;
                *self = Self::few(rest);
                Some(count)
            }
            Self::Few(Some(ones), _) => {
                *ones -= 1;
                Some(1)
            }
        }
    }
}

/// How often each of the `wanted` terms occurs in a document; whether any does. Both are sorted, and `found` has a
/// place for each that is wanted. Terms are compared as bytes: what is not looked for need not be known to be text.
///
/// # Errors
/// `Corrupt` when there are fewer counts than terms.
pub fn count(packed: &[u8], counts: &[u8], wanted: &[&str], found: &mut [u32]) -> Result<bool> {
    found.fill(0);
    let (mut counts, mut any) = (Counts::of(counts), false);
    let mut wanted = wanted.iter().map(|wanted| wanted.as_bytes()).zip(found).peekable();
    for term in packed.split(|byte| *byte == b' ').filter(|term| !term.is_empty()) {
        let Some((next, _)) = wanted.peek() else { break };
        let count = counts.next().ok_or_else(mismatch)?;
        // The first byte tells most of them apart.
        if term.first() < next.first() {
            continue;
        }
        while wanted.next_if(|(next, _)| *next < term).is_some() {}
        if let Some((_, found)) = wanted.next_if(|(next, _)| *next == term) {
            (*found, any) = (count, true);
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
            document in proptest::collection::vec("[a-d]{1,3}|猫[a-d猫]{0,2}|\\PC{1,2}", 0..40), often in 0..400_usize,
            wanted in proptest::collection::btree_set("[a-d]{1,3}|\\PC{1,2}", 0..20),
        ) {
            let repeated = document.first().cloned().into_iter().cycle().take(often).collect::<Vec<_>>();
            let terms: Terms = document.into_iter().chain(repeated).collect();
            let (packed, short) = pack_short(&terms);
            let in_short: Vec<(&str, u32)> = pairs(&packed, &short).collect::<Result<_>>().unwrap();
            prop_assert_eq!(in_short, terms.iter().collect::<Vec<_>>());
            let (packed, counts) = pack(&terms);
            let pairs: Vec<(&str, u32)> = pairs(&packed, &counts).collect::<Result<_>>().unwrap();
            prop_assert_eq!(pairs, terms.iter().collect::<Vec<_>>());
            prop_assert_eq!(words(&packed).collect::<Vec<_>>(), terms.iter().map(|(term, _)| term).collect::<Vec<_>>());
            let wanted: BTreeSet<String> = wanted;
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let expected: Vec<u32> = wanted.iter().map(|term| terms.count(term)).collect();
            for counts in [&counts, &short] {
                let mut found = vec![7; wanted.len()];
                let any = count(packed.as_bytes(), counts, &wanted, &mut found).unwrap();
                prop_assert_eq!(any, expected.iter().any(|n| *n > 0));
                prop_assert_eq!(&found, &expected);
            }
        }

        /// As many counts as there are terms, however often some occur.
        #[test]
        fn the_shorter_way_says_the_same(document in proptest::collection::vec("[a-p]", 0..300)) {
            let terms: Terms = document.into_iter().flat_map(|word| vec![word.clone(); if word == "a" { 300 } else { 1 }]).collect();
            let ((packed, each), (again, short)) = (pack(&terms), pack_short(&terms));
            prop_assert_eq!(&packed, &again);
            prop_assert!(short.is_empty() || short[0] == 0);
            let read = |counts: &[u8]| pairs(&packed, counts).map(|pair| pair.unwrap().1).collect::<Vec<u32>>();
            prop_assert_eq!(read(&each), read(&short));
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

    #[test]
    fn counts_that_end_too_soon_are_told() {
        for counts in [&[1_u8][..], &[0, 1], &[0, 0], &[0, 0x80], &[0, 0, 0x81]] {
            assert!(pairs("a b c", counts).any(|pair| pair.is_err()), "{counts:?}");
            assert!(count(b"a b c", counts, &["b", "c"], &mut [0, 0]).is_err(), "{counts:?}");
        }
        let all: Vec<u32> = pairs("a b c", &[0, 1, 7]).map(|pair| pair.unwrap().1).collect();
        assert_eq!(all, [1, 7, 1]);
    }
}
