use super::*;

fn candidate(key: u32, frequency: f64, length: u32) -> Bm25Candidate<u32> {
    Bm25Candidate { key, frequencies: vec![frequency], length, admitted: true }
}

#[test]
fn scores_equal_the_formula_computed_by_hand() {
    // One record has f = 2 and twice the pivot's length, the other f = 1 and the pivot's length. The second query has
    // another clause, which none of the N = 4 records contains. The idf of the clauses is ln(1 + 2.5 / 2.5) and
    // ln(1 + 4.5 / 0.5).
    let candidates = [candidate(1, 2.0, 80), candidate(2, 1.0, 40)];
    let ranked = Bm25::default().rank(4, &[Clause::term("x")], &candidates, 9);
    let both = Bm25::default().rank(
        4,
        &[Clause::term("x"), Clause::term("y")],
        &candidates.map(|c| Bm25Candidate { frequencies: vec![c.frequencies[0], 0.0], ..c }),
        9,
    );
    let share = 2.0_f64.ln() / (2.0_f64.ln() + 10.0_f64.ln());
    let expected = [(1, 2.0 * 2.2 / (2.0 + 1.2 * 1.6)), (2, 1.0)];
    for (n, (key, value)) in expected.into_iter().enumerate() {
        assert_eq!((ranked[n].0, both[n].0), (key, key));
        assert!((ranked[n].1.value() - value).abs() < 1e-6, "{ranked:?}");
        assert!((both[n].1.value() - value * share).abs() < 1e-6, "{both:?}");
    }
}

#[test]
fn a_filtered_candidate_counts_but_is_not_returned() {
    let mut hidden = candidate(1, 1.0, 3);
    hidden.admitted = false;
    let two_clauses = |c: Bm25Candidate<u32>| Bm25Candidate { frequencies: vec![c.frequencies[0], 0.0], ..c };
    let clauses = [Clause::term("x"), Clause::term("y")];
    let with_hidden = Bm25::default().rank(3, &clauses, &[two_clauses(hidden), two_clauses(candidate(2, 1.0, 3))], 9);
    let without_hidden = Bm25::default().rank(3, &clauses, &[two_clauses(candidate(2, 1.0, 3))], 9);
    assert_eq!(with_hidden.len(), 1);
    assert!(with_hidden[0].1 < without_hidden[0].1, "a term that two records contain has a lower idf");
}

#[test]
fn equal_scores_are_ordered_by_key_and_limited() {
    let all: Vec<_> = (0..10).rev().map(|key| candidate(key, 1.0, 3)).collect();
    let ranked = Bm25::default().rank(10, &[Clause::term("x")], &all, 3);
    assert_eq!(ranked.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(Bm25::default().rank(0, &[Clause::term("x")], &all, 0).is_empty());
}
