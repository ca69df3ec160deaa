//! Diversity: hits that repeat a better one move back.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

/// Number of best candidates that are compared with each other; the others keep their order behind them.
const MAX_COMPARED: usize = 60;
/// Similarity (0–1) from which a candidate loses score.
pub const DIVERSITY_MIN_SIMILARITY: f64 = 0.3;
/// Similarity from which it loses all of it: it repeats the other.
pub const DIVERSITY_REPEAT_SIMILARITY: f64 = 0.8;
/// Share of the penalty that the score of a result shows: a repetition is still a match.
const REPORTED_PENALTY: f64 = 0.5;
/// Part of the penalty that applies to candidates without a score, too, so that the less similar one comes first.
const TIE_BREAK: f64 = 0.001;

/// A candidate in its place after diversification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diversified {
    /// Its index in the list before.
    pub index: usize,
    /// Its score, less by up to half for its similarity to better ones. The scores never increase from one candidate to
    /// the next.
    pub score: f64,
    /// The index of the better candidate that it repeats.
    pub repeats: Option<usize>,
}

/// Reorders candidates so that the first ones say different things: a soft variant of maximal marginal relevance
/// (MMR; Carbonell & Goldstein, 1998). The next candidate is always the one with the greatest score · (1 − penalty).
/// The penalty grows from 0 to 1 with the similarity (0.3 to 0.8) to the most similar candidate taken before.
///
/// `scores` are in descending order; `similarity` of two indices is between 0 and 1. At most `limit` are returned.
pub fn diversify(scores: &[f64], limit: usize, similarity: impl Fn(usize, usize) -> f64) -> Vec<Diversified> {
    let compared = &scores[..scores.len().min(MAX_COMPARED)];
    let (Some(best), Some(lowest)) = (compared.first(), compared.last()) else { return Vec::new() };
    let range = (best - lowest).max(1e-9);
    let relative = |score: f64| (score - lowest) / range;
    let mut remaining: Vec<Remaining> =
        compared.iter().enumerate().map(|(index, score)| Remaining::new(index, relative(*score))).collect();
    let mut taken: Vec<Diversified> = Vec::new();
    while taken.len() < limit
        && let Some(next) = take_best(&mut remaining)
    {
        for other in &mut remaining {
            other.compare(next.index, similarity(next.index, other.index));
        }
        let score = scores[next.index] * (1.0 - REPORTED_PENALTY * next.penalty());
        taken.push(Diversified { index: next.index, score, repeats: next.repeats() });
    }
    let others = scores.iter().enumerate().skip(compared.len()).take(limit - taken.len());
    taken.extend(others.map(|(index, score)| Diversified { index, score: *score, repeats: None }));
    // Rounding, and the candidates that were not compared, must not end up above a better place.
    for place in 1..taken.len() {
        taken[place].score = taken[place].score.min(taken[place - 1].score);
    }
    taken
}

/// A candidate that is not taken yet.
#[derive(Debug)]
struct Remaining {
    index: usize,
    score: f64,
    /// The most similar candidate taken so far, with the similarity.
    most_similar: (usize, f64),
}

impl Remaining {
    fn new(index: usize, score: f64) -> Self {
        Self { index, score, most_similar: (index, 0.0) }
    }

    fn compare(&mut self, taken: usize, similarity: f64) {
        if similarity > self.most_similar.1 {
            self.most_similar = (taken, similarity);
        }
    }

    fn penalty(&self) -> f64 {
        ((self.most_similar.1 - DIVERSITY_MIN_SIMILARITY) / (DIVERSITY_REPEAT_SIMILARITY - DIVERSITY_MIN_SIMILARITY))
            .clamp(0.0, 1.0)
    }

    fn value(&self) -> f64 {
        let penalty = self.penalty();
        self.score * (1.0 - penalty) - TIE_BREAK * penalty * (2.0 - self.score)
    }

    fn repeats(&self) -> Option<usize> {
        (self.penalty() >= 1.0).then_some(self.most_similar.0)
    }
}

/// Takes the candidate with the greatest value, of equal ones the first.
fn take_best(remaining: &mut Vec<Remaining>) -> Option<Remaining> {
    let values = remaining.iter().map(Remaining::value).enumerate();
    let best = values.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    Some(remaining.remove(best.0))
}

/// The distinct terms of a text, for comparing it with others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TermSet {
    /// Hashes of the terms, sorted.
    hashes: Vec<u64>,
}

impl<'t> FromIterator<&'t str> for TermSet {
    fn from_iter<I: IntoIterator<Item = &'t str>>(terms: I) -> Self {
        let mut hashes: Vec<u64> = terms.into_iter().map(|term| FxBuildHasher.hash_one(term)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes }
    }
}

impl TermSet {
    /// Returns the Jaccard similarity of two texts: shared terms as a share of all terms of both. 0 if either has no
    /// terms.
    pub fn similarity(&self, other: &Self) -> f64 {
        let shared = self.shared(other);
        let union = self.hashes.len() + other.hashes.len() - shared;
        if shared > 0 { shared as f64 / union as f64 } else { 0.0 }
    }

    /// Returns true if the text has any of these terms.
    pub fn has_any_of(&self, terms: &Self) -> bool {
        terms.hashes.iter().any(|hash| self.hashes.binary_search(hash).is_ok())
    }

    fn shared(&self, other: &Self) -> usize {
        let mut rest = other.hashes.iter().peekable();
        let mut shared = 0;
        for hash in &self.hashes {
            while rest.next_if(|next| *next < hash).is_some() {}
            shared += usize::from(rest.next_if_eq(&hash).is_some());
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_goes_behind_what_is_new() {
        let similarity = |a: usize, b: usize| if a + b == 1 { 0.9 } else { 0.0 };
        let order = diversify(&[1.0, 0.9, 0.5, 0.2], 10, similarity);
        assert_eq!(order.iter().map(|d| d.index).collect::<Vec<_>>(), [0, 2, 3, 1]);
        assert_eq!(order[3].repeats, Some(0));
        assert!(order.windows(2).all(|pair| pair[0].score >= pair[1].score), "{order:?}");
        assert_eq!(diversify(&[1.0, 0.9, 0.5, 0.2], 2, similarity), order[..2], "the limit does not change the order");
    }

    #[test]
    fn a_partly_similar_candidate_loses_part_of_its_score() {
        let order = diversify(&[1.0, 0.8, 0.5, 0.0], 4, |a, b| if a + b == 1 { 0.55 } else { 0.0 });
        assert_eq!(order.iter().map(|d| d.index).collect::<Vec<_>>(), [0, 2, 1, 3]);
        assert!((order[2].score - 0.5).abs() < 1e-9, "not above the score of the place before");
        assert_eq!(order[2].repeats, None);
    }

    #[test]
    fn candidates_beyond_those_compared_keep_their_order() {
        let scores: Vec<f64> = (0..80).map(|n| 1.0 - f64::from(n) / 100.0).collect();
        let order = diversify(&scores, 100, |_, _| 0.0);
        assert_eq!(order.iter().map(|d| d.index).collect::<Vec<_>>(), (0..80).collect::<Vec<_>>());
        assert!(order.windows(2).all(|pair| pair[0].score >= pair[1].score));
        assert!(diversify(&[], 10, |_, _| 0.0).is_empty());
    }

    #[test]
    fn similarity_is_the_share_of_common_terms() {
        let set = |terms: &[&'static str]| terms.iter().copied().collect::<TermSet>();
        let a = set(&["seafood", "allergy", "allergy", "shrimp"]);
        let b = set(&["allergy", "peanut"]);
        assert_eq!((a.similarity(&b), b.similarity(&a)), (0.25, 0.25));
        assert_eq!(a.similarity(&a), 1.0);
        assert_eq!((a.similarity(&set(&[])), set(&[]).similarity(&set(&[]))), (0.0, 0.0));
    }
}
