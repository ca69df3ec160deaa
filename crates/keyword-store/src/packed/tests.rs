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
