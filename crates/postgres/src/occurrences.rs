//! How often a record holds the terms of a question, straight from the bytes of its row.
//!
//! A question of a whole tenant comes back with hundreds of records of which a few terms each matter. The bytes are compared as
//! they are: what is not looked for need not be known to be text.

use memory_core::Result;
use memory_keyword_store::packed;

use crate::failure::Failure;

/// What [`packed::count`] says about the row of a record: how often each of the `wanted` terms occurs, which are sorted and have
/// a place each in `found`; whether any does.
///
/// # Errors
/// As it does, and `Corrupt` when what was to be read is no text.
pub(crate) fn count(words: &[u8], counts: &[u8], wanted: &[&str], found: &mut [u32]) -> Result<bool, Failure> {
    // No term occurs less than once: a row that says so has its counts in another order.
    if counts.first() == Some(&0) || (counts.is_empty() && !words.is_empty()) {
        let words = str::from_utf8(words).map_err(|_| Failure::corrupt("terms"))?;
        return Ok(packed::count(words, counts, wanted, found)?);
    }
    found.fill(0);
    let (mut words, mut counts, mut any) = (words, counts, false);
    let mut wanted = wanted.iter().map(|wanted| wanted.as_bytes()).zip(found).peekable();
    while let Some((next, _)) = wanted.peek() {
        if words.is_empty() {
            break;
        }
        let end = words.iter().position(|byte| *byte == b' ').unwrap_or(words.len());
        let (word, rest) = words.split_at(end);
        words = rest.get(1..).unwrap_or_default();
        let count = pull(&mut counts).ok_or_else(|| Failure::corrupt("terms without counts"))?;
        // The first byte tells most of them apart.
        if word.first() < next.first() {
            continue;
        }
        while wanted.next_if(|(next, _)| *next < word).is_some() {}
        if let Some((_, found)) = wanted.next_if(|(next, _)| *next == word) {
            (*found, any) = (count, true);
        }
    }
    Ok(any)
}

/// The next number (LEB128), as a rule a single byte.
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

    use memory_core::Terms;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_counted_as_the_keyword_store_counts_them(
            document in proptest::collection::vec("[a-d]{1,3}|猫[a-d猫]{0,2}|\\PC{1,2}", 0..60),
            often in 0..400_usize,
            wanted in proptest::collection::btree_set("[a-d]{1,3}|猫[a-d猫]{0,2}|\\PC{1,2}", 0..20),
        ) {
            let repeated = document.first().cloned().into_iter().cycle().take(often).collect::<Vec<_>>();
            let terms: Terms = document.into_iter().chain(repeated).collect();
            let (words, counts) = packed::pack(&terms);
            let wanted: BTreeSet<String> = wanted;
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let (mut here, mut there) = (vec![7; wanted.len()], vec![7; wanted.len()]);
            let any = count(words.as_bytes(), &counts, &wanted, &mut here).unwrap();
            prop_assert_eq!(any, packed::count(&words, &counts, &wanted, &mut there).unwrap());
            prop_assert_eq!(here, there);
        }
    }

    #[test]
    fn counts_that_end_too_soon_are_told() {
        let found = &mut [0, 0];
        for counts in [&[1][..], &[1, 0x80]] {
            let failure = count(b"a b c", counts, &["b", "c"], found).map_err(|failure| failure.into_error("search"));
            assert_eq!(failure.unwrap_err().kind(), memory_core::ErrorKind::Corrupt, "{counts:?}");
        }
    }
}
