#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use std::{collections::BTreeMap, convert::Infallible};

use memory_engine_core::Terms;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{WeightedTerm, find};

type Admit = fn(i64) -> Result<bool, Infallible>;

/// Words as unevenly used as real ones: the first in nearly every document, the last in hardly any.
fn word() -> impl Strategy<Value = String> {
    let all = ["的", "喜欢", "tea", "猫", "cat", "likes", "二", "@2024"];
    (0.0..1.0_f64).prop_map(move |u| all[(u * u * u * 8.0) as usize].to_owned())
}

fn clause() -> impl Strategy<Value = Clause> {
    let term = (word(), prop_oneof![4 => Just(1.0), 1 => 0.0..2.0_f64]);
    let term = term.prop_map(|(term, weight)| WeightedTerm { term, weight });
    (vec(term, 0..3), prop_oneof![4 => Just(1.0), 1 => -0.5..2.0_f64])
        .prop_map(|(terms, weight)| Clause { terms, weight })
}

/// Takes in all of another one, by way of a snapshot.
fn extend(whole: &mut SegmentedPostings<u8>, with: &SegmentedPostings<u8>) {
    let mut writer = SnapshotWriter::new(Vec::new()).unwrap();
    with.save(&mut writer, |group| i64::from(*group)).unwrap();
    let bytes = writer.finish().unwrap();
    let mut reader = SnapshotReader::new(&bytes[..], bytes.len() as u64).unwrap();
    whole.extend(&mut reader, |group| group as u8).unwrap();
    reader.finish().unwrap();
}

/// The same, by way of a snapshot.
fn saved_and_loaded(segmented: &SegmentedPostings<u8>) -> SegmentedPostings<u8> {
    let mut loaded = SegmentedPostings::default();
    extend(&mut loaded, segmented);
    loaded
}

proptest! {
    /// After any mixture of writes and removals, packed or not, filtered or not, to the last bit of a score.
    #[test]
    fn what_is_found_is_what_plain_postings_find(
        steps in vec((0_i64..120, 0_u8..3, proptest::option::weighted(0.85, vec(word(), 0..9))), 0..300),
        clauses in vec(clause(), 0..5),
        groups in proptest::option::of(vec(0_u8..3, 0..3)),
        limit in 0_usize..12,
        every in 1_i64..3,
        full in 1_usize..60,
        again: bool,
    ) {
        let mut segmented = SegmentedPostings { full, ..SegmentedPostings::default() };
        let mut plain = Postings::default();
        for (number, group, words) in steps {
            let id = RecordId::from_bytes([number as u8; 16]);
            match words {
                Some(words) => {
                    let terms: Terms = words.iter().collect();
                    segmented.insert(number, id, group, terms.length(), terms.iter());
                    plain.insert(number, id, group, terms.length(), terms.iter());
                }
                None => prop_assert_eq!(segmented.remove(number), plain.remove(number)),
            }
        }
        prop_assert_eq!(segmented.len(), plain.len());
        let segmented = if again { saved_and_loaded(&segmented) } else { segmented };
        prop_assert_eq!(segmented.len(), plain.len());
        let groups: Option<FxHashSet<u8>> = groups.map(|groups| groups.into_iter().collect());
        let named: Option<Vec<u8>> = groups.as_ref().map(|groups| groups.iter().copied().collect());
        let all = |_| Ok::<_, Infallible>(true);
        let expected = find(&Bm25::default(), &[&plain], groups.as_ref(), &clauses, limit, all).unwrap();
        let found = segmented.find(named.as_deref(), &clauses, limit, None::<Admit>).unwrap();
        prop_assert_eq!(found, expected);
        let some = |number: i64| Ok::<_, Infallible>(number % every == 0);
        let expected = find(&Bm25::default(), &[&plain], groups.as_ref(), &clauses, limit, some).unwrap();
        prop_assert_eq!(segmented.find(named.as_deref(), &clauses, limit, Some(some)).unwrap(), expected);
    }
}

proptest! {
    /// Taken in part by part, each document in place of an earlier one, condensed between them or not.
    #[test]
    fn what_was_taken_in_by_parts_is_found_as_in_one(
        steps in vec((0_i64..90, 0_u8..3, vec(word(), 0..9)), 0..200),
        clauses in vec(clause(), 0..5),
        (part, full, condensed) in (1_usize..70, 1_usize..60, 1_usize..5),
    ) {
        let mut segmented = SegmentedPostings { full, ..SegmentedPostings::default() };
        let mut plain = Postings::default();
        for (n, steps) in steps.chunks(part).enumerate() {
            let mut fresh = SegmentedPostings { full, ..SegmentedPostings::default() };
            for (number, group, words) in steps {
                let (id, terms): (_, Terms) = (RecordId::from_bytes([*number as u8; 16]), words.iter().collect());
                fresh.insert(*number, id, *group, terms.length(), terms.iter());
                plain.insert(*number, id, *group, terms.length(), terms.iter());
            }
            extend(&mut segmented, &fresh);
            if n % condensed == 0 {
                segmented.condense();
            }
        }
        prop_assert_eq!(segmented.len(), plain.len());
        let all = |_| Ok::<_, Infallible>(true);
        let expected = find(&Bm25::default(), &[&plain], None, &clauses, 9, all).unwrap();
        prop_assert_eq!(segmented.find(None, &clauses, 9, None::<Admit>).unwrap(), expected);
        for (number, _, _) in steps.iter().step_by(2) {
            prop_assert_eq!(segmented.remove(*number), plain.remove(*number));
        }
        prop_assert_eq!(segmented.len(), plain.len());
    }
}

/// Documents and questions enough for bounds to be known and used: long lists, of many segments.
#[test]
fn what_is_passed_over_is_not_among_the_best() {
    let mut segmented = SegmentedPostings { full: 500, ..SegmentedPostings::default() };
    let mut plain = Postings::default();
    let mut state = 9_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..3300_i64 {
        let mut words: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..3 + next(30) {
            // Word n about 1/n as often, from 1 to 999; now and then one more often than a byte can hold.
            let word = 1000 / (1 + next(1000));
            *words.entry(format!("w{word}")).or_default() += if next(400) == 0 { 300 } else { 1 };
        }
        let id = RecordId::from_bytes([(number % 251) as u8; 16]);
        let length = words.values().sum();
        let terms = || words.iter().map(|(word, count)| (word.as_str(), *count));
        segmented.insert(number, id, number % 5, length, terms());
        plain.insert(number, id, number % 5, length, terms());
    }
    assert_eq!((segmented.segments.len(), segmented.open.len()), (6, 300));
    let ask = |segmented: &SegmentedPostings<i64>, plain: &Postings<i64>, words: &[u64]| {
        let clauses: Vec<Clause> = words.iter().map(|word| Clause::term(format!("w{word}"))).collect();
        let all = |_| Ok::<_, Infallible>(true);
        for limit in [1, 10, 50] {
            let expected = find(&Bm25::default(), &[plain], None, &clauses, limit, all).unwrap();
            assert_eq!(segmented.find(None, &clauses, limit, None::<Admit>).unwrap(), expected, "{words:?}");
        }
    };
    for words in [&[1, 2, 333][..], &[1, 1, 2], &[2, 5, 10, 40], &[500], &[1], &[1, 3, 4, 111, 250, 1000], &[7777, 2]] {
        ask(&segmented, &plain, words);
    }
    // As they are in a file, counts of more than a byte and bounds among them.
    let mut loaded = SegmentedPostings { full: 500, ..SegmentedPostings::default() };
    let mut writer = SnapshotWriter::new(Vec::new()).unwrap();
    segmented.save(&mut writer, |group| *group).unwrap();
    let bytes = writer.finish().unwrap();
    loaded.extend(&mut SnapshotReader::new(&bytes[..], bytes.len() as u64).unwrap(), |group| group).unwrap();
    loaded.condense();
    ask(&loaded, &plain, &[1, 2, 333]);
    ask(&loaded, &plain, &[2, 5, 10, 40]);
    for number in (0..3300).filter(|n| n % 3 != 0 || *n < 400) {
        assert!(segmented.remove(number) && plain.remove(number));
    }
    assert_eq!(segmented.len(), plain.len());
    ask(&segmented, &plain, &[1, 2, 333]);
    ask(&segmented, &plain, &[2, 5, 10, 40]);
}
