#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

use std::{collections::BTreeMap, convert::Infallible};

use memory_engine_core::Terms;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{Candidate, Wanted, WeightedTerm};

type Document = (u8, Vec<String>);

/// What [`Bm25::rank`] makes of all documents, one by one.
fn ranked(
    documents: &BTreeMap<i64, Document>,
    groups: Option<&FxHashSet<u8>>,
    clauses: &[Clause],
    limit: usize,
    admit: impl Fn(i64) -> bool,
) -> Vec<(RecordId, Score)> {
    let wanted = Wanted::of(clauses);
    let reached: Vec<_> =
        documents.iter().filter(|(_, (g, _))| groups.is_none_or(|groups| groups.contains(g))).collect();
    let candidate = |(number, (_, words)): &(&i64, &Document)| {
        let terms: Terms = words.iter().collect();
        let counts: Vec<u32> = wanted.terms().iter().map(|term| terms.count(term)).collect();
        counts.iter().any(|count| *count > 0).then(|| Candidate {
            key: id(**number),
            frequencies: wanted.frequencies(&counts),
            length: terms.length(),
            admitted: admit(**number),
        })
    };
    let candidates: Vec<_> = reached.iter().filter_map(candidate).collect();
    Bm25::default().rank(reached.len() as u64, clauses, &candidates, limit)
}

fn id(number: i64) -> RecordId {
    RecordId::from_bytes([number as u8; 16])
}

fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["猫", "喜欢", "喜欢猫", "tea", "cat", "likes", "二", "@2024"]).prop_map(str::to_owned)
}

fn clause() -> impl Strategy<Value = Clause> {
    let term = (word(), prop_oneof![Just(1.0), 0.0..2.0_f64]).prop_map(|(term, weight)| WeightedTerm { term, weight });
    (vec(term, 0..4), prop_oneof![Just(1.0), -1.0..2.0_f64]).prop_map(|(terms, weight)| Clause { terms, weight })
}

proptest! {
    /// After any mixture of writes and removals, in two parts, to the last bit of a score.
    #[test]
    fn what_is_found_is_what_the_ranking_says(
        steps in vec((0_i64..30, 0_u8..3, proptest::option::weighted(0.8, vec(word(), 0..6))), 0..60),
        clauses in vec(clause(), 0..5),
        groups in proptest::option::of(proptest::collection::vec(0_u8..3, 0..3)),
        limit in 0_usize..12,
        every in 1_i64..4,
    ) {
        let mut parts = [Postings::default(), Postings::default()];
        let mut plain: BTreeMap<i64, Document> = BTreeMap::new();
        for (number, group, words) in steps {
            let part = &mut parts[(number % 2) as usize];
            match words {
                Some(words) => {
                    let terms: Terms = words.iter().collect();
                    part.insert(number, id(number), group, terms.length(), terms.iter());
                    plain.insert(number, (group, words));
                }
                None => prop_assert_eq!(part.remove(number), plain.remove(&number).is_some()),
            }
        }
        parts[0].clear_away();
        prop_assert_eq!(parts.iter().map(Postings::len).sum::<usize>(), plain.len());
        let groups: Option<FxHashSet<u8>> = groups.map(|groups| groups.into_iter().collect());
        let [a, b] = &parts;
        let admit = |number: i64| Ok::<_, Infallible>(number % every == 0);
        let found = find(&Bm25::default(), &[a, b], groups.as_ref(), &clauses, limit, admit).unwrap();
        prop_assert_eq!(found, ranked(&plain, groups.as_ref(), &clauses, limit, |number| number % every == 0));
    }
}

#[test]
fn what_was_removed_is_cleared_away_when_it_is_most() {
    let mut postings = Postings::default();
    for number in 0..5000_i64 {
        postings.insert(number, RecordId::from_bytes([0; 16]), 0, 1, [("猫", 1)]);
    }
    for number in 0..4000 {
        assert!(postings.remove(number));
    }
    assert_eq!(postings.len(), 1000);
    assert!(postings.documents.len() <= 2 * postings.len() + FEW, "{}", postings.documents.len());
    let limit = 9999;
    let found =
        find(&Bm25::default(), &[&postings], None, &[Clause::term("猫")], limit, |_| Ok::<_, Infallible>(true));
    assert_eq!(found.unwrap().len(), 1000);
}
