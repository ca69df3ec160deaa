//! Late interaction: comparing a query with a text token by token (ColBERT, Khattab and Zaharia 2020).

use memory_engine_core::{Kernel, MultiVector};
use rustc_hash::FxHashMap;

use crate::kernel::{self, rows::RowSelection};

/// The inverse document frequency (idf) of tokens in a set of texts, as in BM25.
#[derive(Debug, Clone, Default)]
pub struct TokenIdf {
    document_counts: FxHashMap<u32, u32>,
    documents: usize,
}

impl TokenIdf {
    /// Counts the documents of each token. Fewer texts than `min_documents` count as that many.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a MultiVector>, min_documents: usize) -> Self {
        let mut counts = Self::default();
        for text in texts {
            let mut ids: Vec<u32> = text.tokens().iter().map(|token| token.id).collect();
            ids.sort_unstable();
            ids.dedup();
            for id in ids {
                *counts.document_counts.entry(id).or_insert(0) += 1;
            }
            counts.documents += 1;
        }
        counts.documents = counts.documents.max(min_documents);
        counts
    }

    /// Returns the inverse document frequency of a token.
    pub fn idf(&self, token: u32) -> f32 {
        let count = self.document_counts.get(&token).copied().unwrap_or(0) as f32;
        (1.0 + (self.documents as f32 - count + 0.5) / (count + 0.5)).ln()
    }
}

/// The similarity of a query and a text, in both directions. For a text with several parts, each direction takes its
/// best part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaxSim {
    /// The mean over the tokens of the query of the greatest cosine with a token of the part, weighted by the tokens'
    /// idf and weight. Range: −1 to 1.
    pub of_query: f32,
    /// The mean over the tokens of the part of the greatest cosine with a token of the query, weighted the same way.
    pub of_text: f32,
}

/// Compares a query with a text token by token. Returns `None` if one of them has no tokens, or they have different
/// dimensions.
pub fn max_sim(query: &MultiVector, text: &MultiVector, idf: &TokenIdf) -> Option<MaxSim> {
    if query.is_empty() || text.is_empty() || query.dimensions() != text.dimensions() {
        return None;
    }
    let kernel = Kernel::detect();
    let dimensions = query.dimensions();
    let scales: Vec<f32> = text.tokens().iter().map(|token| token.scale).collect();
    let mut best_of_text = vec![f32::NEG_INFINITY; scales.len()];
    let mut parts = vec![WeightedMean::default(); text.part_ends().len()];
    let mut products: Vec<i32> = Vec::with_capacity(scales.len());
    for (codes, token) in query.codes().chunks_exact(dimensions).zip(query.tokens()) {
        products.clear();
        kernel::code_products(kernel, codes, text.codes(), RowSelection::First(scales.len()), &mut products);
        let weight = token.weight * idf.idf(token.id);
        let mut start = 0;
        for (part, end) in parts.iter_mut().zip(text.part_ends()) {
            let mut best = f32::NEG_INFINITY;
            for at in start..*end {
                let cosine = products[at] as f32 * scales[at] * token.scale;
                best = best.max(cosine);
                best_of_text[at] = best_of_text[at].max(cosine);
            }
            part.add(best, weight);
            start = *end;
        }
    }
    let of_query = parts.iter().map(WeightedMean::value).reduce(f32::max)?;
    Some(MaxSim { of_query, of_text: best_part_of_text(text, &best_of_text, idf) })
}

/// Returns the greatest mean over the tokens of a part of their best cosines.
fn best_part_of_text(text: &MultiVector, best: &[f32], idf: &TokenIdf) -> f32 {
    let mut greatest = f32::NEG_INFINITY;
    let mut start = 0;
    for end in text.part_ends() {
        let mut mean = WeightedMean::default();
        for (token, best) in text.tokens()[start..*end].iter().zip(&best[start..*end]) {
            mean.add(*best, token.weight * idf.idf(token.id));
        }
        greatest = greatest.max(mean.value());
        start = *end;
    }
    greatest
}

#[derive(Debug, Clone, Copy, Default)]
struct WeightedMean {
    sum: f32,
    weights: f32,
}

impl WeightedMean {
    fn add(&mut self, value: f32, weight: f32) {
        self.sum += value * weight;
        self.weights += weight;
    }

    /// Returns 0 if nothing with a weight was added.
    fn value(&self) -> f32 {
        if self.weights > 0.0 { self.sum / self.weights } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use memory_engine_core::CodeBits;

    use super::*;

    fn vectors(rows: &[[f32; 2]], ids: &[u32], max_part_tokens: usize) -> MultiVector {
        let tokens: Vec<(u32, f32)> = ids.iter().map(|id| (*id, 1.0)).collect();
        MultiVector::quantize(CodeBits::Eight, 2, &rows.concat(), &tokens, max_part_tokens).unwrap()
    }

    #[test]
    fn the_best_token_counts() {
        let query = vectors(&[[1.0, 0.0], [0.0, 1.0]], &[1, 2], 8);
        let text = vectors(&[[1.0, 0.0], [-1.0, 0.0]], &[3, 4], 8);
        let found = max_sim(&query, &text, &TokenIdf::default()).unwrap();
        assert!((found.of_query - 0.5).abs() < 1e-3, "{found:?}");
        assert!((found.of_text - 0.5).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn rare_tokens_count_more() {
        let query = vectors(&[[1.0, 0.0], [0.0, 1.0]], &[1, 2], 8);
        let text = vectors(&[[1.0, 0.0]], &[1], 8);
        let others = vec![vectors(&[[1.0, 0.0]], &[1], 8); 50];
        let rare_second = max_sim(&query, &text, &TokenIdf::of_texts(&others, 0)).unwrap();
        assert!(rare_second.of_query < 0.1, "{rare_second:?}");
        let idf = TokenIdf::of_texts(&others, 1000);
        assert!(idf.idf(1) > 2.0, "{}", idf.idf(1));
    }

    #[test]
    fn the_best_part_counts() {
        let query = vectors(&[[1.0, 0.0], [0.0, 1.0]], &[1, 2], 8);
        let text = vectors(&[[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], &[1, 2, 3, 4], 2);
        let found = max_sim(&query, &text, &TokenIdf::default()).unwrap();
        assert!((found.of_query - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn texts_without_tokens_or_of_other_dimensions_are_not_compared() {
        let query = vectors(&[[1.0, 0.0]], &[1], 8);
        assert_eq!(max_sim(&query, &vectors(&[], &[], 8), &TokenIdf::default()), None);
        let other = MultiVector::quantize(CodeBits::Eight, 1, &[1.0], &[(1, 1.0)], 8).unwrap();
        assert_eq!(max_sim(&query, &other, &TokenIdf::default()), None);
    }
}
