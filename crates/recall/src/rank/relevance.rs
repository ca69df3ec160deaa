//! Features of relevance. They are not scaled by the best candidate, so they are comparable between queries. The idf
//! of the words and the features of unknown words and names are computed over all candidates of the query.

use memory_engine_reranker::{Feature, FeatureValues};

use super::feature_input::FeatureInput;

/// Adds the features of relevance.
pub(super) fn add_relevance(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
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
