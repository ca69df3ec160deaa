//! Queries about what is true now, or what was true before.

use std::sync::LazyLock;

use memory_engine_core::Phrases;
use memory_engine_reranker::{Feature, FeatureValues};
use memory_engine_text::Words;
use serde::Deserialize;

use super::feature_input::FeatureInput;

/// Candidates with at least this share (0–1) of the greatest word coverage are treated as statements about the same
/// thing.
const SAME_STATEMENT_SHARE: f64 = 0.7;

memory_engine_text::data!(DATA: Tense = "tense.toml");

#[derive(Debug, Deserialize)]
struct Tense {
    present: Words,
    past: Words,
}

static PRESENT: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(DATA.present.iter()));
static PAST: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(DATA.past.iter()));

/// Adds the order in time of the candidates that state the same thing, if the query asks for a present or a past
/// state. Reads the word coverage that [`add_relevance`](super::relevance::add_relevance) adds.
pub(super) fn add_validity(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let Some(direction) = direction(&input.plan.query.text) else { return };
    let best = values.iter().map(|values| values[Feature::WordCoverage]).fold(0.0, f64::max);
    let states_it = |values: &FeatureValues| best > 0.0 && values[Feature::WordCoverage] >= SAME_STATEMENT_SHARE * best;
    let mut statements: Vec<usize> = (0..values.len()).filter(|index| states_it(&values[*index])).collect();
    if statements.len() < 2 {
        return;
    }
    statements.sort_by_key(|index| (input.candidates[*index].1.occurred_at, input.candidates[*index].1.id));
    let last = (statements.len() - 1) as f64;
    for (position, index) in statements.into_iter().enumerate() {
        values[index][Feature::Validity] = direction * (2.0 * position as f64 / last - 1.0);
    }
}

/// Returns 1 if a query asks about the present, −1 if it asks about the past, and `None` if it says neither, or both.
fn direction(query: &str) -> Option<f64> {
    match (PRESENT.find(query).is_some(), PAST.find(query).is_some()) {
        (true, false) => Some(1.0),
        (false, true) => Some(-1.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_and_past_are_recognised_in_both_languages() {
        for query in ["Where do I live now?", "What is my current job?", "我现在住在哪里？", "他目前的工作是什么"]
        {
            assert_eq!(direction(query), Some(1.0), "{query}");
        }
        for query in ["What was the original plan?", "Where did I live at first?", "我原来住在哪里？"] {
            assert_eq!(direction(query), Some(-1.0), "{query}");
        }
        for query in ["Where do I live?", "Is the original plan still on now?", "我住在哪里？", "I don't know him"]
        {
            assert_eq!(direction(query), None, "{query}");
        }
    }
}
