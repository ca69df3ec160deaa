//! The probability that a candidate answers the query.

use serde::Deserialize;

use crate::{
    feature::{Feature, FeatureValues},
    linear::{FeatureWeights, RankingModel},
};

memory_engine_text::data!(RELEVANCE: RelevanceFile = "relevance.toml");

/// A logistic regression over features that are not scaled by the best candidate.
///
/// It was fitted with equal weight for questions that the memories answer and for questions that they do not.
#[derive(Debug, Clone, Deserialize)]
pub struct RelevanceModel {
    intercept: f64,
    weights: FeatureWeights,
}

#[derive(Debug, Deserialize)]
struct RelevanceFile {
    words: RelevanceModel,
    vectors: RelevanceModel,
    static_tokens: RelevanceModel,
    token_vectors: RelevanceModel,
}

impl RelevanceModel {
    /// Returns the built-in model.
    pub fn built_in(model: RankingModel) -> &'static Self {
        match model {
            RankingModel::Words => &RELEVANCE.words,
            RankingModel::Vectors => &RELEVANCE.vectors,
            RankingModel::StaticTokens => &RELEVANCE.static_tokens,
            RankingModel::TokenVectors => &RELEVANCE.token_vectors,
        }
    }

    /// Returns the estimated probability, 0 to 1, that a candidate answers the query. It is 0 if the candidate contains
    /// no word of the query and its similarity is at most that of unrelated texts.
    pub fn probability(&self, values: &FeatureValues) -> f64 {
        if values[Feature::WordCoverage] <= 0.0 && values[Feature::Similarity] <= 0.0 {
            return 0.0;
        }
        1.0 / (1.0 + (-self.intercept - self.weights.score(values)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_raise_the_probability_and_unknown_names_lower_it() {
        let models =
            [RankingModel::Words, RankingModel::Vectors, RankingModel::StaticTokens, RankingModel::TokenVectors];
        for model in models {
            let model = RelevanceModel::built_in(model);
            let mut values = FeatureValues::default();
            assert_eq!(model.probability(&values), 0.0);
            values[Feature::WordCoverage] = 0.4;
            let with_some_words = model.probability(&values);
            values[Feature::WordCoverage] = 1.0;
            let with_all_words = model.probability(&values);
            values[Feature::UnknownNames] = 1.0;
            let with_unknown_name = model.probability(&values);
            assert!(
                0.0 < with_some_words && with_some_words < with_all_words && with_all_words < 1.0,
                "{with_some_words} {with_all_words}"
            );
            assert!(with_unknown_name < with_all_words, "{with_unknown_name} {with_all_words}");
        }
    }
}
