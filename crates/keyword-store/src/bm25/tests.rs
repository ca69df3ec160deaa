use super::*;

fn candidate(key: u32, frequency: f64, length: u32) -> Candidate<u32> {
    Candidate { key, frequencies: vec![frequency], length, admitted: true }
}

#[test]
fn agrees_with_the_formula_worked_by_hand() {
    // f = 2, twice as long as the pivot, against f = 1, as long as it. Then the same with a second clause that none of
    // N = 4 records holds: the rarity is ln(1 + 2.5 / 2.5) of one and ln(1 + 4.5 / 0.5) of the other.
    let candidates = [candidate(1, 2.0, 80), candidate(2, 1.0, 40)];
    let ranked = Bm25::default().rank(4, &[Clause::term("x")], &candidates, 9);
    let both = Bm25::default().rank(
        4,
        &[Clause::term("x"), Clause::term("y")],
        &candidates.map(|c| Candidate { frequencies: vec![c.frequencies[0], 0.0], ..c }),
        9,
    );
    let part = 2.0_f64.ln() / (2.0_f64.ln() + 10.0_f64.ln());
    let expected = [(1, 2.0 * 2.2 / (2.0 + 1.2 * 1.6)), (2, 1.0)];
    for (n, (wanted, value)) in expected.into_iter().enumerate() {
        assert_eq!((ranked[n].0, both[n].0), (wanted, wanted));
        assert!((ranked[n].1.value() - value).abs() < 1e-6, "{ranked:?}");
        assert!((both[n].1.value() - value * part).abs() < 1e-6, "{both:?}");
    }
}

#[test]
fn a_filtered_candidate_counts_but_is_not_given() {
    let mut hidden = candidate(1, 1.0, 3);
    hidden.admitted = false;
    let both = |c: Candidate<u32>| Candidate { frequencies: vec![c.frequencies[0], 0.0], ..c };
    let clauses = [Clause::term("x"), Clause::term("y")];
    let with = Bm25::default().rank(3, &clauses, &[both(hidden), both(candidate(2, 1.0, 3))], 9);
    let without = Bm25::default().rank(3, &clauses, &[both(candidate(2, 1.0, 3))], 9);
    assert_eq!(with.len(), 1);
    assert!(with[0].1 < without[0].1, "a term that two records hold is less rare");
}

#[test]
fn ties_go_by_key_and_the_limit_holds() {
    let all: Vec<_> = (0..10).rev().map(|key| candidate(key, 1.0, 3)).collect();
    let ranked = Bm25::default().rank(10, &[Clause::term("x")], &all, 3);
    assert_eq!(ranked.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(Bm25::default().rank(0, &[Clause::term("x")], &all, 0).is_empty());
}
