#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use std::collections::BTreeMap;

use memory_engine_core::Terms;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{bm25::Bm25Candidate, distinct_terms::DistinctTerms, store::WeightedTerm};

type Admit = fn(i64) -> bool;

/// Without a filter: only the best documents are scored.
const UNFILTERED: Option<Admit> = None;

/// The reference implementation: a map of documents, which [`Bm25::rank`] scores one by one.
#[derive(Default)]
struct Reference {
    documents: BTreeMap<i64, (i64, Terms)>,
}

impl Reference {
    fn insert(&mut self, number: i64, group: i64, terms: Terms) {
        self.documents.insert(number, (group, terms));
    }

    fn remove(&mut self, number: i64) -> bool {
        self.documents.remove(&number).is_some()
    }

    fn find(
        &self,
        groups: Option<&[i64]>,
        clauses: &[Clause],
        limit: usize,
        admit: impl Fn(i64) -> bool,
    ) -> Vec<FoundDocument> {
        let query_terms = DistinctTerms::of(clauses);
        let mut searched = 0;
        let mut candidates = Vec::new();
        for (number, (group, terms)) in &self.documents {
            if groups.is_some_and(|groups| !groups.contains(group)) {
                continue;
            }
            searched += 1;
            let counts: Vec<u32> = query_terms.terms().iter().map(|term| terms.count(term)).collect();
            if counts.iter().any(|count| *count > 0) {
                candidates.push(Bm25Candidate {
                    key: (id(*number), *number),
                    frequencies: query_terms.frequencies(&counts),
                    length: terms.length(),
                    admitted: admit(*number),
                });
            }
        }
        let ranked = Bm25::default().rank(searched, clauses, &candidates, limit);
        ranked.into_iter().map(|((id, number), score)| FoundDocument { number, id, score }).collect()
    }
}

/// Returns the id of a document. Several numbers have the same id.
fn id(number: i64) -> RecordId {
    RecordId::from_bytes([(number % 101) as u8; 16])
}

fn with_segments_of(segment_documents: usize) -> SegmentedPostings {
    SegmentedPostings { segment_documents, ..SegmentedPostings::default() }
}

fn insert(postings: &mut SegmentedPostings, number: i64, group: i64, terms: &Terms) {
    postings.insert(number, id(number), group, terms.length(), terms.iter());
}

/// Words with a skewed distribution, as in real text: the first in nearly every document, the last in hardly any.
fn word() -> impl Strategy<Value = String> {
    let all = ["的", "喜欢", "tea", "猫", "cat", "likes", "二", "@2024"];
    (0.0..1.0_f64).prop_map(move |u| all[(u * u * u * 8.0) as usize].to_owned())
}

fn clause() -> impl Strategy<Value = Clause> {
    let term = (word(), prop_oneof![4 => Just(1.0), 1 => 0.0..2.0_f64]);
    let term = term.prop_map(|(term, weight)| WeightedTerm { term, weight });
    (vec(term, 0..4), prop_oneof![4 => Just(1.0), 1 => -1.0..2.0_f64])
        .prop_map(|(terms, weight)| Clause { terms, weight })
}

#[test]
fn a_segment_can_be_full() {
    let mut postings = SegmentedPostings::default();
    for number in 0..70_000 {
        postings.insert(number, id(number), number % 2, 1, [("tea", 1)]);
    }
    let found = postings.find(Some(&[1]), &[Clause::term("tea")], 100_000, None::<fn(i64) -> bool>);
    assert_eq!(found.len(), 35_000);
}

/// Adds the documents of `other` through a snapshot.
fn extend(postings: &mut SegmentedPostings, other: &SegmentedPostings) {
    let mut writer = SnapshotWriter::new(Vec::new()).unwrap();
    other.save(&mut writer).unwrap();
    let bytes = writer.finish().unwrap();
    let mut reader = SnapshotReader::new(&bytes[..], bytes.len() as u64).unwrap();
    postings.extend(&mut reader).unwrap();
    reader.finish().unwrap();
}

fn saved_and_loaded(postings: &SegmentedPostings) -> SegmentedPostings {
    let mut loaded = SegmentedPostings::default();
    extend(&mut loaded, postings);
    loaded
}

proptest! {
    /// Scores are equal to the last bit after any sequence of writes and removals, packed or not, filtered or not.
    #[test]
    fn hits_equal_those_of_scoring_every_document(
        steps in vec((0_i64..120, 0_i64..3, proptest::option::weighted(0.85, vec(word(), 0..9))), 0..300),
        clauses in vec(clause(), 0..5),
        groups in proptest::option::of(proptest::sample::subsequence(vec![0_i64, 1, 2], 0..4)),
        limit in 0_usize..12,
        every in 1_i64..4,
        // Up to 120 documents exist: with 200, none is ever packed.
        segment_documents in prop_oneof![1_usize..60, Just(200)],
        (reload, compact) in any::<(bool, bool)>(),
    ) {
        let mut postings = with_segments_of(segment_documents);
        let mut reference = Reference::default();
        for (number, group, words) in steps {
            match words {
                Some(words) => {
                    let terms: Terms = words.iter().collect();
                    insert(&mut postings, number, group, &terms);
                    reference.insert(number, group, terms);
                }
                None => prop_assert_eq!(postings.remove(number), reference.remove(number)),
            }
        }
        prop_assert_eq!(postings.len(), reference.documents.len());
        if compact {
            postings.open.compact();
        }
        let postings = if reload { saved_and_loaded(&postings) } else { postings };
        prop_assert_eq!(postings.len(), reference.documents.len());
        prop_assert_eq!(postings.last(), reference.documents.keys().next_back().copied());
        let groups = groups.as_deref();
        let found = postings.find(groups, &clauses, limit, UNFILTERED);
        prop_assert_eq!(found, reference.find(groups, &clauses, limit, |_| true));
        let admit = |number: i64| number % every == 0;
        let found = postings.find(groups, &clauses, limit, Some(admit));
        prop_assert_eq!(found, reference.find(groups, &clauses, limit, |number| number % every == 0));
    }

    /// Loads several snapshots, which replace earlier documents, with and without merging in between.
    #[test]
    fn extending_by_snapshots_equals_inserting(
        steps in vec((0_i64..90, 0_i64..3, vec(word(), 0..9)), 0..200),
        clauses in vec(clause(), 0..5),
        (chunk, segment_documents, merge_every) in (1_usize..70, 1_usize..60, 1_usize..5),
    ) {
        let mut postings = with_segments_of(segment_documents);
        let mut reference = Reference::default();
        for (n, steps) in steps.chunks(chunk).enumerate() {
            let mut fresh = with_segments_of(segment_documents);
            for (number, group, words) in steps {
                let terms: Terms = words.iter().collect();
                insert(&mut fresh, *number, *group, &terms);
                reference.insert(*number, *group, terms);
            }
            extend(&mut postings, &fresh);
            if n % merge_every == 0 {
                postings.merge();
            }
        }
        prop_assert_eq!(postings.len(), reference.documents.len());
        let found = postings.find(None, &clauses, 9, UNFILTERED);
        prop_assert_eq!(found, reference.find(None, &clauses, 9, |_| true));
        for (number, _, _) in steps.iter().step_by(2) {
            prop_assert_eq!(postings.remove(*number), reference.remove(*number));
        }
        prop_assert_eq!(postings.len(), reference.documents.len());
    }
}

/// Long posting lists in many segments, so that maximum scores are stored and used.
#[test]
fn max_score_skips_only_documents_below_the_top() {
    let mut postings = with_segments_of(500);
    let mut reference = Reference::default();
    let mut state = 9_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..3300_i64 {
        let mut words = Vec::new();
        for _ in 0..3 + next(30) {
            // Word n is about 1/n as frequent, from 1 to 999. Some frequencies do not fit into a byte.
            let word = 1000 / (1 + next(1000));
            let repetitions = if next(400) == 0 { 300 } else { 1 };
            words.extend(std::iter::repeat_n(format!("w{word}"), repetitions));
        }
        let terms: Terms = words.into_iter().collect();
        insert(&mut postings, number, number % 5, &terms);
        reference.insert(number, number % 5, terms);
    }
    assert_eq!((postings.segments.len(), postings.open.len()), (6, 300));
    let check = |postings: &SegmentedPostings, reference: &Reference, words: &[u64]| {
        let clauses: Vec<Clause> = words.iter().map(|word| Clause::term(format!("w{word}"))).collect();
        for limit in [1, 10, 50] {
            let found = postings.find(None, &clauses, limit, UNFILTERED);
            assert_eq!(found, reference.find(None, &clauses, limit, |_| true), "{words:?}");
        }
    };
    for words in [&[1, 2, 333][..], &[1, 1, 2], &[2, 5, 10, 40], &[500], &[1], &[1, 3, 4, 111, 250, 1000], &[7777, 2]] {
        check(&postings, &reference, words);
    }
    // The same through a snapshot, which stores large frequencies and maximum scores.
    let mut loaded = with_segments_of(500);
    extend(&mut loaded, &postings);
    loaded.merge();
    check(&loaded, &reference, &[1, 2, 333]);
    check(&loaded, &reference, &[2, 5, 10, 40]);
    for number in (0..3300).filter(|n| n % 3 != 0 || *n < 400) {
        assert!(postings.remove(number) && reference.remove(number));
    }
    assert_eq!(postings.len(), reference.documents.len());
    check(&postings, &reference, &[1, 2, 333]);
    check(&postings, &reference, &[2, 5, 10, 40]);
}

#[test]
fn an_open_segment_of_mostly_removed_documents_is_compacted() {
    let mut postings = SegmentedPostings::default();
    let terms: Terms = ["猫"].into_iter().collect();
    for number in 0..5000_i64 {
        insert(&mut postings, number, 0, &terms);
    }
    for number in 0..4000 {
        assert!(postings.remove(number));
    }
    assert_eq!(postings.len(), 1000);
    assert!(postings.open.slots() <= 3 * postings.len(), "{}", postings.open.slots());
    assert_eq!(postings.find(None, &[Clause::term("猫")], 9999, UNFILTERED).len(), 1000);
}
