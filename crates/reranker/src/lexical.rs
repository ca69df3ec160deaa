//! The reranker that needs no model.

use async_trait::async_trait;
use memory_engine_core::{Result, Score, text};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::reranker::Reranker;

/// Judges by shared letters: the part of the question's character pairs that a candidate holds, each weighed by how few
/// of the candidates hold it. 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct LexicalReranker;

#[async_trait]
impl Reranker for LexicalReranker {
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        let wanted = pairs(question);
        let held: Vec<FxHashSet<(char, char)>> = candidates.iter().map(|text| pairs(text)).collect();
        let holders = |pair: &(char, char)| held.iter().filter(|h| h.contains(pair)).count() as f64;
        let weigh = |pair: &(char, char)| (1.0 + (candidates.len() as f64 + 1.0) / (holders(pair) + 1.0)).ln();
        let weights: FxHashMap<(char, char), f64> = wanted.iter().map(|pair| (*pair, weigh(pair))).collect();
        let whole: f64 = sum(&wanted, &weights);
        let share = |held: &FxHashSet<(char, char)>| {
            let shared: FxHashSet<(char, char)> = wanted.intersection(held).copied().collect();
            Score::new(if whole > 0.0 { sum(&shared, &weights) / whole } else { 0.0 })
        };
        Ok(held.iter().map(share).collect())
    }
}

/// Added up in one order, so that the last digit is the same on every run.
fn sum(pairs: &FxHashSet<(char, char)>, weights: &FxHashMap<(char, char), f64>) -> f64 {
    let mut pairs: Vec<&(char, char)> = pairs.iter().collect();
    pairs.sort_unstable();
    pairs.into_iter().filter_map(|pair| weights.get(pair)).sum()
}

fn pairs(text: &str) -> FxHashSet<(char, char)> {
    let characters: Vec<char> =
        text::normalize(text).chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    characters.windows(2).map(|w| (w[0], w[1])).filter(|pair| *pair != (' ', ' ')).collect()
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn what_holds_the_rare_part_of_the_question_comes_first() {
        let candidates = ["我喜欢咖啡", "我对海鲜过敏，喜欢吃面", "对，我喜欢", ""];
        let scores = block_on(LexicalReranker.rerank("我对海鲜过敏吗", &candidates)).unwrap();
        assert!(scores[1] > scores[0] && scores[1] > scores[2] && scores[3] == Score::new(0.0));
        assert!(block_on(LexicalReranker.rerank("", &["x"])).unwrap()[0] == Score::new(0.0));
    }
}
