//! Words with near vectors.

use memory_engine_core::Embedding;
use memory_engine_text::data;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meaning {
    /// Pairs of words with near vectors that are no synonyms.
    en_contrasts: Vec<[String; 2]>,
    /// Pairs of characters of opposite meaning.
    zh_opposites: Vec<String>,
}

data!(MEANING: Meaning = "en/meaning.toml", "zh/meaning.toml");

/// Two alphabetic words with a common prefix of at least this number of letters are forms of one word (choose, choice).
const COMMON_BEGINNING: usize = 3;

/// Returns the pairs of words that are nearest to each other, at least as near as `min_nearness`. Forms of one word and
/// words of opposite meaning are left out.
pub(super) fn near_pairs(vectors: &[(String, Embedding)], min_nearness: f64) -> Vec<(&str, &str)> {
    let nearest: Vec<Option<(usize, f64)>> = (0..vectors.len())
        .map(|a| {
            let others = (0..vectors.len()).filter(|b| *b != a);
            let by_nearness = others.map(|b| (b, cosine(vectors[a].1.values(), vectors[b].1.values())));
            by_nearness.max_by(|(_, x), (_, y)| x.total_cmp(y))
        })
        .collect();
    let mut pairs = Vec::new();
    for (a, found) in nearest.iter().enumerate() {
        let Some((b, nearness)) = *found else { continue };
        let is_mutual = nearest[b].is_some_and(|(back, _)| back == a);
        let (first, second) = (vectors[a].0.as_str(), vectors[b].0.as_str());
        if a < b && is_mutual && nearness >= min_nearness && !are_forms(first, second) && !are_opposites(first, second)
        {
            pairs.push((first, second));
        }
    }
    pairs
}

/// Returns the cosine similarity of two words, if both have a vector.
pub(super) fn nearness(vectors: &[(String, Embedding)], a: &str, b: &str) -> Option<f64> {
    let vector = |word: &str| vectors.iter().find(|(known, _)| known == word).map(|(_, vector)| vector.values());
    Some(cosine(vector(a)?, vector(b)?))
}

fn are_forms(a: &str, b: &str) -> bool {
    let common = a.chars().zip(b.chars()).take_while(|(x, y)| x == y && x.is_ascii()).count();
    common >= COMMON_BEGINNING
}

fn are_opposites(a: &str, b: &str) -> bool {
    let differing = || a.chars().zip(b.chars()).filter(|(x, y)| x != y);
    let is_opposite =
        |(x, y): (char, char)| MEANING.zh_opposites.iter().any(|pair| pair.contains(x) && pair.contains(y));
    let is_contrast = |pair: &[String; 2]| pair.iter().all(|word| word == a || word == b);
    differing().any(is_opposite) || MEANING.en_contrasts.iter().any(is_contrast)
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0; // vectors of different models
    }
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let norms = (product(a, a) * product(b, b)).sqrt();
    if norms > 0.0 { product(a, b) / norms } else { 0.0 }
}
