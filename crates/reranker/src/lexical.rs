//! A reranker without a model.

use async_trait::async_trait;
use memory_engine_core::{Result, Score, text};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::reranker::Reranker;

/// Scores candidates by character bigrams: the share of the question's bigrams that a candidate contains, weighted by
/// idf among the candidates. 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct LexicalReranker;

#[async_trait]
impl Reranker for LexicalReranker {
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        let query_bigrams = bigrams(question);
        let bigrams_of_candidates: Vec<FxHashSet<Bigram>> = candidates.iter().map(|text| bigrams(text)).collect();
        let document_frequency =
            |bigram: &Bigram| bigrams_of_candidates.iter().filter(|bigrams| bigrams.contains(bigram)).count() as f64;
        let idf = |bigram: &Bigram| (1.0 + (candidates.len() as f64 + 1.0) / (document_frequency(bigram) + 1.0)).ln();
        let weights: FxHashMap<Bigram, f64> = query_bigrams.iter().map(|bigram| (*bigram, idf(bigram))).collect();
        let total = weight_sum(&query_bigrams, &weights);
        let score = |candidate: &FxHashSet<Bigram>| {
            let shared: FxHashSet<Bigram> = query_bigrams.intersection(candidate).copied().collect();
            Score::new(if total > 0.0 { weight_sum(&shared, &weights) / total } else { 0.0 })
        };
        Ok(bigrams_of_candidates.iter().map(score).collect())
    }
}

type Bigram = (char, char);

/// Returns the sum of the weights of some bigrams. It is added up in a fixed order, so that rounding is the same in
/// every run.
fn weight_sum(bigrams: &FxHashSet<Bigram>, weights: &FxHashMap<Bigram, f64>) -> f64 {
    let mut sorted: Vec<&Bigram> = bigrams.iter().collect();
    sorted.sort_unstable();
    sorted.into_iter().filter_map(|bigram| weights.get(bigram)).sum()
}

/// Returns the character bigrams of a text, with a space for each character other than a letter or digit.
fn bigrams(text: &str) -> FxHashSet<Bigram> {
    let characters: Vec<char> =
        text::normalize(text).chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    characters.windows(2).map(|pair| (pair[0], pair[1])).filter(|bigram| *bigram != (' ', ' ')).collect()
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn candidates_with_rare_bigrams_of_the_question_rank_first() {
        let candidates = ["我喜欢咖啡", "我对海鲜过敏，喜欢吃面", "对，我喜欢", ""];
        let scores = block_on(LexicalReranker.rerank("我对海鲜过敏吗", &candidates)).unwrap();
        assert!(scores[1] > scores[0] && scores[1] > scores[2] && scores[3] == Score::new(0.0));
        assert!(block_on(LexicalReranker.rerank("", &["x"])).unwrap()[0] == Score::new(0.0));
    }
}
