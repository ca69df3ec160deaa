use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn packed_terms_are_read_and_counted(
        document in proptest::collection::vec("[a-d]{1,3}|猫[a-d猫]{0,2}|\\PC{1,2}", 0..40),
        repetitions in 0..400_usize,
        query in proptest::collection::btree_set("[a-d]{1,3}|\\PC{1,2}", 0..20),
    ) {
        let repeated = document.first().cloned().into_iter().cycle().take(repetitions).collect::<Vec<_>>();
        let document: Terms = document.into_iter().chain(repeated).collect();
        let (packed, short) = pack_short(&document);
        let from_short: Vec<(&str, u32)> = pairs(&packed, &short).collect::<Result<_>>().unwrap();
        prop_assert_eq!(from_short, document.iter().collect::<Vec<_>>());
        let (packed, counts) = pack(&document);
        let from_full: Vec<(&str, u32)> = pairs(&packed, &counts).collect::<Result<_>>().unwrap();
        prop_assert_eq!(from_full, document.iter().collect::<Vec<_>>());
        let expected_terms: Vec<&str> = document.iter().map(|(term, _)| term).collect();
        prop_assert_eq!(terms(&packed).collect::<Vec<_>>(), expected_terms);
        let query: BTreeSet<String> = query;
        let query: Vec<&str> = query.iter().map(String::as_str).collect();
        let expected: Vec<u32> = query.iter().map(|term| document.count(term)).collect();
        for counts in [&counts, &short] {
            let mut query_counts = vec![7; query.len()];
            let contains_any = count(packed.as_bytes(), counts, &query, &mut query_counts).unwrap();
            prop_assert_eq!(contains_any, expected.iter().any(|n| *n > 0));
            prop_assert_eq!(&query_counts, &expected);
        }
    }

    /// One term with a high count among terms that occur once or a few times.
    #[test]
    fn both_encodings_hold_the_same_counts(document in proptest::collection::vec("[a-p]", 0..300)) {
        let repeated = |word: String| {
            let repetitions = if word == "a" { 300 } else { 1 };
            vec![word; repetitions]
        };
        let document: Terms = document.into_iter().flat_map(repeated).collect();
        let (packed, full) = pack(&document);
        let (packed_short, short) = pack_short(&document);
        prop_assert_eq!(&packed, &packed_short);
        prop_assert!(short.is_empty() || short[0] == 0);
        let read = |counts: &[u8]| pairs(&packed, counts).map(|pair| pair.unwrap().1).collect::<Vec<u32>>();
        prop_assert_eq!(read(&full), read(&short));
    }
}

#[test]
fn too_few_counts_are_an_error() {
    for counts in [&[1_u8][..], &[0, 1], &[0, 0], &[0, 0x80], &[0, 0, 0x81]] {
        assert!(pairs("a b c", counts).any(|pair| pair.is_err()), "{counts:?}");
        assert!(count(b"a b c", counts, &["b", "c"], &mut [0, 0]).is_err(), "{counts:?}");
    }
    let all: Vec<u32> = pairs("a b c", &[0, 1, 7]).map(|pair| pair.unwrap().1).collect();
    assert_eq!(all, [1, 7, 1]);
}
