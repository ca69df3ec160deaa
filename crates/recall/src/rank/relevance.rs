//! Features that say whether a candidate answers the query at all. They do not depend on how good the others are.

use memory_engine_reranker::{Feature, FeatureValues};

use super::feature_input::FeatureInput;

/// Adds the features of relevance.
pub(super) fn add(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let coverage = input.query_terms.coverage(input.terms);
    for ((values, (candidate, record)), share) in values.iter_mut().zip(input.candidates).zip(coverage.shares) {
        values[Feature::WordCoverage] = share;
        values[Feature::UnknownWords] = coverage.unknown_words;
        values[Feature::UnknownNames] = coverage.unknown_names;
        if let Some(similarity) = candidate.similarity.filter(|_| input.plan.has_semantics()) {
            let unrelated = input.plan.backend.embedder.unrelated(&input.plan.query.text, &record.text);
            values[Feature::Similarity] = (similarity - unrelated) / (1.0 - unrelated).max(f64::EPSILON);
        }
    }
}
