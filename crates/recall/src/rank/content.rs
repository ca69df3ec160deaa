//! Similarity between two candidates, for the diversity of the hits.

use memory_engine_reranker::{DIVERSITY_MIN_SIMILARITY, DIVERSITY_REPEAT_SIMILARITY, TermSet};

/// The cosine of the mean token vectors of two texts from which they begin to count as similar, and from which they say
/// the same. Measured with the token vectors of multilingual-e5-small on texts that state one fact in several wordings
/// (memdaily): nine of ten pairs lie above the first, half of them above the second. They apply to the token vectors of
/// every embedder, although another model has other cosines.
const MIN_COSINE: f64 = 0.959;
const REPEAT_COSINE: f64 = 0.989;

/// The words of a candidate, and its direction in the space of token vectors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    pub(crate) terms: TermSet,
    /// The mean of the token vectors, of length 1, if they are compared.
    pub(crate) token_mean: Option<Vec<f32>>,
}

impl Content {
    /// Returns the similarity of two candidates, 0 to 1: the greater of the Jaccard similarity of their words and the
    /// similarity of their token vectors.
    pub(crate) fn similarity(&self, other: &Self) -> f64 {
        let by_terms = self.terms.similarity(&other.terms);
        let (Some(a), Some(b)) = (&self.token_mean, &other.token_mean) else { return by_terms };
        let cosine: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        by_terms.max(similarity_of_cosine(f64::from(cosine)))
    }
}

/// Returns 0 below [`MIN_COSINE`].
fn similarity_of_cosine(cosine: f64) -> f64 {
    if cosine < MIN_COSINE {
        return 0.0;
    }
    let share = ((cosine - MIN_COSINE) / (REPEAT_COSINE - MIN_COSINE)).min(1.0);
    DIVERSITY_MIN_SIMILARITY + share * (DIVERSITY_REPEAT_SIMILARITY - DIVERSITY_MIN_SIMILARITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_similarity_counts() {
        let content = |words: &[&str], mean: [f32; 2]| Content {
            terms: words.iter().copied().collect(),
            token_mean: Some(mean.to_vec()),
        };
        let one = content(&["lin", "moved"], [1.0, 0.0]);
        assert_eq!(one.similarity(&content(&["other"], [1.0, 0.0])), DIVERSITY_REPEAT_SIMILARITY);
        assert_eq!(one.similarity(&content(&["other"], [0.0, 1.0])), 0.0);
        assert_eq!(one.similarity(&content(&["lin", "moved"], [0.0, 1.0])), 1.0);
        let without_tokens = Content { token_mean: None, ..one.clone() };
        assert_eq!(one.similarity(&without_tokens), 1.0);
    }

    #[test]
    fn similarity_grows_with_the_cosine() {
        assert_eq!(similarity_of_cosine(0.95), 0.0);
        assert!((similarity_of_cosine(0.974) - 0.55).abs() < 1e-9);
        assert_eq!(similarity_of_cosine(1.0), DIVERSITY_REPEAT_SIMILARITY);
    }
}
