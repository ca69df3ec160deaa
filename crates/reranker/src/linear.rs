//! Ranking by a weighted sum of features.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::feature::{Feature, FeatureValues};

memory_engine_text::data!(RANKING: RankingFile = "ranking.toml");

/// The kind of embedder that the weights are for, from the one that says least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RankingModel {
    /// Words only: the embedder has no semantics.
    Words,
    /// Words and vectors.
    Vectors,
    /// Words, vectors, and vectors of words from a table, which do not depend on their context.
    StaticTokens,
    /// Words, vectors, and vectors of tokens in their context.
    TokenVectors,
}

/// The kind of the query and of its candidates. Each has weights of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryShape {
    /// A question of usual length about short messages.
    Question,
    /// A question of usual length that names a date, about short messages. Words and dates have more weight than in
    /// [`Question`](Self::Question), vectors less.
    DatedQuestion,
    /// A dialogue or another long text, with too many words for the features of single questions.
    LongQuery,
    /// A question about long messages.
    LongMessages,
}

/// The weights of the features: a linear model, fitted listwise on the development sets (softmax cross entropy).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct FeatureWeights(BTreeMap<Feature, f64>);

#[derive(Debug, Deserialize)]
struct RankingFile {
    words: ShapeWeights,
    vectors: ShapeWeights,
    static_tokens: ShapeWeights,
    token_vectors: ShapeWeights,
}

#[derive(Debug, Deserialize)]
struct ShapeWeights {
    question: FeatureWeights,
    dated_question: Option<FeatureWeights>,
    long_query: FeatureWeights,
    long_messages: FeatureWeights,
}

impl FeatureWeights {
    /// Returns the built-in weights.
    pub fn built_in(model: RankingModel, shape: QueryShape) -> &'static Self {
        let weights = match model {
            RankingModel::Words => &RANKING.words,
            RankingModel::Vectors => &RANKING.vectors,
            RankingModel::StaticTokens => &RANKING.static_tokens,
            RankingModel::TokenVectors => &RANKING.token_vectors,
        };
        match shape {
            QueryShape::Question => &weights.question,
            QueryShape::DatedQuestion => weights.dated_question.as_ref().unwrap_or(&weights.question),
            QueryShape::LongQuery => &weights.long_query,
            QueryShape::LongMessages => &weights.long_messages,
        }
    }

    /// Returns the contribution of a feature to the score of a candidate: weight × value.
    pub fn contribution(&self, feature: Feature, values: &FeatureValues) -> f64 {
        self.0.get(&feature).map_or(0.0, |weight| weight * values[feature])
    }

    /// Returns the score of a candidate: the sum of the contributions.
    pub fn score(&self, values: &FeatureValues) -> f64 {
        self.0.iter().map(|(feature, weight)| weight * values[*feature]).sum()
    }

    /// Returns the scores of candidates, scaled to 0 to 1. The best candidate has 1. A candidate without any feature
    /// has 0, unless the sum of another one is negative: then the lowest has 0.
    pub fn scores(&self, candidates: &[FeatureValues]) -> Vec<f64> {
        let mut scores: Vec<f64> = candidates.iter().map(|values| self.score(values)).collect();
        scale_to_unit(&mut scores);
        scores
    }
}

fn scale_to_unit(scores: &mut [f64]) {
    let lowest = scores.iter().copied().fold(0.0, f64::min);
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = highest - lowest;
    for score in scores {
        *score = if range > 1e-9 { (*score - lowest) / range } else { 1.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(features: &[(Feature, f64)]) -> FeatureValues {
        let mut values = FeatureValues::default();
        features.iter().for_each(|(feature, value)| values[*feature] = *value);
        values
    }

    #[test]
    fn all_weights_include_the_keyword_score() {
        let shapes = [QueryShape::Question, QueryShape::DatedQuestion, QueryShape::LongQuery, QueryShape::LongMessages];
        let models =
            [RankingModel::Words, RankingModel::Vectors, RankingModel::StaticTokens, RankingModel::TokenVectors];
        for model in models {
            for shape in shapes {
                let weights = FeatureWeights::built_in(model, shape);
                assert!(weights.score(&values(&[(Feature::Keyword, 1.0)])) > 0.0, "{model:?} {shape:?}");
            }
        }
    }

    #[test]
    fn scores_lie_between_zero_and_one() {
        let weights = FeatureWeights::built_in(RankingModel::Words, QueryShape::Question);
        let candidates = [
            values(&[(Feature::Keyword, 1.0), (Feature::KeywordSentence, 1.0)]),
            values(&[(Feature::Keyword, 1.0), (Feature::KeywordSentence, 1.0), (Feature::Assistant, 1.0)]),
            values(&[]),
        ];
        let scores = weights.scores(&candidates);
        assert_eq!((scores[0], scores[2]), (1.0, 0.0));
        assert!(scores[1] > 0.0 && scores[1] < 1.0);
        assert_eq!(weights.scores(&candidates[..1]), [1.0]);
        assert!(weights.scores(&[]).is_empty());
    }
}
