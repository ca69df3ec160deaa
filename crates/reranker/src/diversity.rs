//! Diversification: moves hits that repeat a better one towards the end (maximal marginal relevance).

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

/// Maximum number of candidates that are compared with each other. The others keep their order after them.
const MAX_COMPARED: usize = 60;
/// Similarity (0–1) above which a candidate gets a penalty.
pub const DIVERSITY_MIN_SIMILARITY: f64 = 0.3;
/// Similarity (0–1) from which the penalty is 1: the candidate repeats the other one.
pub const DIVERSITY_REPEAT_SIMILARITY: f64 = 0.8;
/// Factor of the penalty in the reported score. It is below 1 because a repetition is still a match.
const REPORTED_PENALTY_FACTOR: f64 = 0.5;
/// Weight of the penalty for candidates with a score of 0, so that the less similar one ranks first.
const TIE_BREAK_WEIGHT: f64 = 0.001;

/// A candidate with its score after diversification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diversified {
    /// The index in the list before diversification.
    pub index: usize,
    /// The score, reduced by at most half for the similarity to better candidates. Scores are in descending order.
    pub score: f64,
    /// The index of the better candidate that it repeats.
    pub repeats: Option<usize>,
}

/// Reorders candidates so that the first ones differ from each other, by a soft variant of maximal marginal relevance
/// (MMR; Carbonell & Goldstein, 1998). The next candidate is always the one with the greatest score · (1 − penalty).
/// The penalty grows linearly from 0 to 1 with the similarity (0.3 to 0.8) to the most similar candidate selected
/// before.
///
/// `scores` are in descending order. `similarity` gets two indexes and returns a value from 0 to 1. Returns at most
/// `limit` candidates.
pub fn diversify(scores: &[f64], limit: usize, similarity: impl Fn(usize, usize) -> f64) -> Vec<Diversified> {
    let compared = &scores[..scores.len().min(MAX_COMPARED)];
    let (Some(best), Some(lowest)) = (compared.first(), compared.last()) else { return Vec::new() };
    let range = (best - lowest).max(1e-9);
    let normalised = |score: f64| (score - lowest) / range;
    let mut remaining: Vec<DiversityCandidate> =
        compared.iter().enumerate().map(|(index, score)| DiversityCandidate::new(index, normalised(*score))).collect();
    let mut selected: Vec<Diversified> = Vec::new();
    while selected.len() < limit
        && let Some(next) = remove_best(&mut remaining)
    {
        for other in &mut remaining {
            other.update_most_similar(next.index, similarity(next.index, other.index));
        }
        let score = scores[next.index] * (1.0 - REPORTED_PENALTY_FACTOR * next.penalty());
        selected.push(Diversified { index: next.index, score, repeats: next.repeats() });
    }
    let others = scores.iter().enumerate().skip(compared.len()).take(limit - selected.len());
    selected.extend(others.map(|(index, score)| Diversified { index, score: *score, repeats: None }));
    // Rounding must not break the descending order, nor must the unreduced scores of candidates that were not compared.
    for rank in 1..selected.len() {
        selected[rank].score = selected[rank].score.min(selected[rank - 1].score);
    }
    selected
}

/// A candidate that is not selected yet.
#[derive(Debug)]
struct DiversityCandidate {
    index: usize,
    /// The score, normalised among the compared candidates: 0 to 1.
    score: f64,
    /// The index of the most similar selected candidate. Its own index if there is none.
    most_similar: usize,
    /// The similarity to that candidate.
    similarity: f64,
}

impl DiversityCandidate {
    fn new(index: usize, score: f64) -> Self {
        Self { index, score, most_similar: index, similarity: 0.0 }
    }

    fn update_most_similar(&mut self, selected: usize, similarity: f64) {
        if similarity > self.similarity {
            self.most_similar = selected;
            self.similarity = similarity;
        }
    }

    fn penalty(&self) -> f64 {
        ((self.similarity - DIVERSITY_MIN_SIMILARITY) / (DIVERSITY_REPEAT_SIMILARITY - DIVERSITY_MIN_SIMILARITY))
            .clamp(0.0, 1.0)
    }

    fn marginal_relevance(&self) -> f64 {
        let penalty = self.penalty();
        self.score * (1.0 - penalty) - TIE_BREAK_WEIGHT * penalty * (2.0 - self.score)
    }

    fn repeats(&self) -> Option<usize> {
        (self.penalty() >= 1.0).then_some(self.most_similar)
    }
}

/// Removes and returns the candidate with the greatest marginal relevance; of equal ones, the first.
fn remove_best(remaining: &mut Vec<DiversityCandidate>) -> Option<DiversityCandidate> {
    let values = remaining.iter().map(DiversityCandidate::marginal_relevance).enumerate();
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
        let shared = self.shared_count(other);
        let union = self.hashes.len() + other.hashes.len() - shared;
        if shared > 0 { shared as f64 / union as f64 } else { 0.0 }
    }

    /// Returns true if the text has any of these terms.
    pub fn has_any_of(&self, terms: &Self) -> bool {
        terms.hashes.iter().any(|hash| self.hashes.binary_search(hash).is_ok())
    }

    /// Returns the number of shared terms, by merging the sorted hashes.
    fn shared_count(&self, other: &Self) -> usize {
        let mut others = other.hashes.iter().peekable();
        let mut count = 0;
        for hash in &self.hashes {
            while others.next_if(|next| *next < hash).is_some() {}
            if others.next_if_eq(&hash).is_some() {
                count += 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_rank_after_new_candidates() {
        let similarity = |a: usize, b: usize| if a + b == 1 { 0.9 } else { 0.0 };
        let order = diversify(&[1.0, 0.9, 0.5, 0.2], 10, similarity);
        assert_eq!(order.iter().map(|d| d.index).collect::<Vec<_>>(), [0, 2, 3, 1]);
        assert_eq!(order[3].repeats, Some(0));
        assert!(order.windows(2).all(|pair| pair[0].score >= pair[1].score), "{order:?}");
        assert_eq!(diversify(&[1.0, 0.9, 0.5, 0.2], 2, similarity), order[..2], "the limit does not change the order");
    }

    #[test]
    fn a_partly_similar_candidate_gets_a_partial_penalty() {
        let order = diversify(&[1.0, 0.8, 0.5, 0.0], 4, |a, b| if a + b == 1 { 0.55 } else { 0.0 });
        assert_eq!(order.iter().map(|d| d.index).collect::<Vec<_>>(), [0, 2, 1, 3]);
        assert!((order[2].score - 0.5).abs() < 1e-9, "not above the score of the rank before");
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
