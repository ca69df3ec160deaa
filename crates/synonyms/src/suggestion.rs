//! Suggests pairs of synonyms from stored text.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Embedding, RecordId, phrases::fold};
use memory_engine_keyword_store::words;
use serde::Serialize;

use crate::{
    pair::{PairVerdict, WordPair},
    thesaurus::Thesaurus,
};

/// Suggests pairs of words that may be synonyms. It changes nothing.
///
/// Two signals support a pair: the words occur in the same records far more often than by chance (normalised
/// pointwise mutual information; Bouma, "Normalized (Pointwise) Mutual Information in Collocation Extraction", 2009),
/// and their vectors are similar. Neither is a proof, so a person has to accept each pair.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Suggester {
    /// Minimum number of records with both words. Default: 3.
    pub min_together: u32,
    /// Minimum association: 0 is chance, 1 means always together. Default: 0.6.
    pub min_association: f64,
    /// Minimum cosine similarity of the two vectors. Default: 0.9.
    pub min_nearness: f64,
    /// Maximum number of words that are considered, most frequent first. Default: 500.
    pub max_words: usize,
    /// Maximum number of suggested pairs, strongest first. Default: 50.
    pub limit: usize,
}

impl Default for Suggester {
    fn default() -> Self {
        Self { min_together: 3, min_association: 0.6, min_nearness: 0.9, max_words: 500, limit: 50 }
    }
}

/// A suggested pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// The two words.
    pub pair: WordPair,
    /// The evidence for the pair.
    pub evidence: PairEvidence,
}

/// The evidence for a suggested pair.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PairEvidence {
    /// Number of records with both words.
    pub together: u32,
    /// Association from −1 to 1: 0 is chance. 0 if they never occur together.
    pub association: f64,
    /// The cosine similarity of their vectors, if both have one.
    pub nearness: Option<f64>,
    /// Up to three records with both words.
    pub examples: Vec<RecordId>,
}

impl PairEvidence {
    fn strength(&self) -> f64 {
        self.association.max(self.nearness.unwrap_or(0.0))
    }
}

impl Suggester {
    /// Sets the maximum number of suggested pairs.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the words that may form pairs, most frequent first. Only these need a vector.
    pub fn words(&self, texts: &[(RecordId, &str)]) -> Vec<String> {
        self.frequent(&occurrences(texts)).into_iter().map(|(word, _)| word.to_owned()).collect()
    }

    /// Suggests pairs from texts and, if given, from the vectors of words. Pairs in the thesaurus and pairs with a
    /// decision are left out.
    pub fn suggest(
        &self,
        texts: &[(RecordId, &str)],
        vectors: &[(String, Embedding)],
        known: &Thesaurus,
        verdicts: &[PairVerdict],
    ) -> Vec<Suggestion> {
        let occurrences = occurrences(texts);
        let frequent = self.frequent(&occurrences);
        let mut pairs: BTreeMap<WordPair, PairEvidence> = BTreeMap::new();
        for (n, (a, of_a)) in frequent.iter().enumerate() {
            for (b, of_b) in &frequent[n + 1..] {
                let both: Vec<RecordId> = of_a.intersection(of_b).copied().collect();
                let association = association(both.len(), of_a.len(), of_b.len(), texts.len());
                if both.len() >= self.min_together as usize
                    && association >= self.min_association
                    && let Some(pair) = WordPair::new(a, b)
                {
                    let together = u32::try_from(both.len()).unwrap_or(u32::MAX);
                    let examples = both.into_iter().take(3).collect();
                    pairs.insert(pair, PairEvidence { together, association, nearness: None, examples });
                }
            }
        }
        for (n, (a, of_a)) in vectors.iter().enumerate() {
            for (b, of_b) in &vectors[n + 1..] {
                let Some(pair) = WordPair::new(a, b) else { continue };
                let nearness = cosine(of_a.values(), of_b.values());
                if nearness >= self.min_nearness {
                    pairs.entry(pair).or_default().nearness = Some(nearness);
                } else if let Some(evidence) = pairs.get_mut(&pair) {
                    evidence.nearness = Some(nearness);
                }
            }
        }
        let decided: BTreeSet<&WordPair> = verdicts.iter().map(|verdict| &verdict.pair).collect();
        let mut suggestions: Vec<Suggestion> = pairs
            .into_iter()
            .filter(|(pair, _)| !decided.contains(pair) && !known.relates(pair.first(), pair.second()))
            .map(|(pair, evidence)| Suggestion { pair, evidence })
            .collect();
        suggestions.sort_by(|a, b| b.evidence.strength().total_cmp(&a.evidence.strength()).then(a.pair.cmp(&b.pair)));
        suggestions.truncate(self.limit);
        suggestions
    }

    fn frequent<'o>(&self, occurrences: &'o Occurrences) -> Vec<(&'o str, &'o BTreeSet<RecordId>)> {
        let mut words: Vec<_> = occurrences.iter().map(|(word, records)| (word.as_str(), records)).collect();
        words.retain(|(_, records)| records.len() >= self.min_together as usize);
        words.sort_by(|(a, of_a), (b, of_b)| of_b.len().cmp(&of_a.len()).then(a.cmp(b)));
        words.truncate(self.max_words);
        words
    }
}

type Occurrences = BTreeMap<String, BTreeSet<RecordId>>;

/// Returns the records of each word. Single characters and numbers are left out.
fn occurrences(texts: &[(RecordId, &str)]) -> Occurrences {
    let mut occurrences = Occurrences::new();
    for (id, text) in texts {
        for word in words(&fold(text)) {
            if word.text.chars().count() > 1 && !word.text.chars().all(|c| c.is_numeric() || c.is_ascii_punctuation()) {
                occurrences.entry(word.text.to_owned()).or_default().insert(*id);
            }
        }
    }
    occurrences
}

/// Returns the normalised pointwise mutual information of two words: ln(p(ab) / (p(a) p(b))) / −ln p(ab).
fn association(both: usize, a: usize, b: usize, texts: usize) -> f64 {
    if both == 0 || texts == 0 {
        return 0.0;
    }
    let share = |count: usize| count as f64 / texts as f64;
    if both == texts {
        return 0.0; // Both words are in every text, so their co-occurrence shows nothing.
    }
    (share(both) / (share(a) * share(b))).ln() / -share(both).ln()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0; // vectors of different models
    }
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let norms = (product(a, a) * product(b, b)).sqrt();
    if norms > 0.0 { product(a, b) / norms } else { 0.0 }
}

#[cfg(test)]
mod tests;
