//! Features of relevance. They are not scaled by the best candidate, so they are comparable between queries. The idf
//! of the words and the feature of unknown names are computed over all candidates of the query.

use memory_engine_reranker::{Feature, FeatureValues};

use super::feature_input::FeatureInput;
use crate::{candidate::Candidate, hit::Retriever};

/// Returns the keyword score of a candidate for a query without words: it names dates only.
fn date_score(candidate: &Candidate) -> f64 {
    let keyword = candidate.found_by.iter().find(|found| found.retriever == Retriever::Keyword);
    keyword.map_or(0.0, |found| found.score.value().min(1.0))
}

/// Adds the features of relevance.
pub(super) fn add_relevance(input: &FeatureInput<'_>, values: &mut [FeatureValues]) {
    let coverage = input.query_terms.coverage(input.terms);
    for ((values, (candidate, record)), share) in values.iter_mut().zip(input.candidates).zip(coverage.shares) {
        values[Feature::WordCoverage] = if input.query_terms.has_words() { share } else { date_score(candidate) };
        values[Feature::Personal] = if coverage.is_personal { 1.0 } else { 0.0 };
        values[Feature::UnknownNames] = coverage.unknown_names;
        if let Some(similarity) = candidate.similarity.filter(|_| input.plan.has_semantics()) {
            let unrelated = input.plan.backend.embedder.unrelated(&input.plan.query.text, &record.text);
            values[Feature::Similarity] = (similarity - unrelated) / (1.0 - unrelated).max(f64::EPSILON);
        }
    }
}
