//! The retrievers, side by side, and the fusion of their hits.

mod graph;
mod keywords;
mod vectors;

use memory_engine_core::{Error, ErrorKind, Hit, RecordId, Result, Score};
use memory_engine_keyword_store::Clause;
use memory_engine_reranker::{Fused, Fusion, Ranking};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::{
    candidate::Candidate,
    found_hits::{FoundHits, FoundRecords},
    plan::Plan,
    run::RecallRun,
    trace::Stage,
};
use keywords::KeywordHits;

/// The hits of each retriever.
#[derive(Debug)]
pub(crate) struct Retrieved {
    keywords: KeywordHits,
    vectors: FoundHits,
    graph: Vec<Hit>,
}

impl Retrieved {
    /// Returns the words of the query, and removes them.
    pub(crate) fn take_words(&mut self) -> Vec<Clause> {
        std::mem::take(&mut self.keywords.words)
    }

    /// Returns the records that the searches have read, and removes them.
    pub(crate) fn take_records(&mut self) -> FoundRecords {
        let mut records = std::mem::take(&mut self.keywords.found.records);
        records.extend(std::mem::take(&mut self.vectors.records));
        records
    }

    /// Returns the keyword score of each record as a share of the best one.
    pub(crate) fn keyword_shares(&self) -> FxHashMap<RecordId, f64> {
        score_shares(&self.keywords.found.hits)
    }
}

/// Returns the score of each hit as a share of the best one.
pub(crate) fn score_shares(hits: &[Hit]) -> FxHashMap<RecordId, f64> {
    let best = hits.first().map_or(0.0, |hit| hit.score.value());
    let share = |hit: &Hit| if best > 0.0 { hit.score.value() / best } else { 0.0 };
    hits.iter().map(|hit| (hit.id, share(hit))).collect()
}

impl RecallRun<'_> {
    /// Asks all retrievers at once. One that fails or is late is noted in the trace, and the others count.
    ///
    /// # Errors
    /// If no retriever answered: `Timeout` if one was late, otherwise the error of one that failed. A retriever that
    /// had nothing to search for, as the keyword retriever for a query of stop words, has not answered; neither has
    /// the vector retriever if it found nothing and the keyword retriever has not answered.
    pub(crate) async fn retrieve(&mut self) -> Result<Retrieved> {
        let started = Instant::now();
        let keywords_with_synonyms = async {
            let thesaurus = self.trace.limit(Stage::Synonyms, self.thesaurus()).await;
            let known = thesaurus.as_ref().ok().and_then(Option::as_deref);
            let keywords = self.trace.limit(Stage::Keyword, self.search_keywords(&self.plan.query.text, known)).await;
            (thesaurus, keywords)
        };
        let ((thesaurus, keywords), mut vectors, graph) = tokio::join!(
            keywords_with_synonyms,
            self.trace.limit(Stage::Vector, self.search_vectors()),
            self.trace.limit(Stage::Graph, self.search_graph()),
        );
        // The store may have cut over to the other embedder since the plan was made.
        let embedding = self.parts.store.embedding();
        if vectors.as_ref().is_err_and(|e| e.kind() == ErrorKind::SchemaMismatch)
            && embedding.fail_over(&self.plan.backend)
        {
            self.plan.set_backend(embedding.serving().clone());
            vectors = self.trace.limit(Stage::Vector, self.search_vectors()).await;
        }
        self.trace.or_default(Stage::Synonyms, thesaurus);
        self.trace.time(Stage::RETRIEVE, started);
        let mut failures = Vec::new();
        let keywords = answer_of(Stage::Keyword, keywords, &mut failures);
        // Words are indexed with the write, vectors later: without the words, finding no vector says nothing about
        // what is stored.
        let vectors = answer_of(Stage::Vector, vectors, &mut failures)
            .filter(|found| keywords.is_some() || !found.hits.is_empty());
        // The graph only adds: a query that names no stored entity is no answer about what is stored.
        let graph = answer_of(Stage::Graph, graph, &mut failures).filter(|hits| !hits.is_empty());
        let has_answer = keywords.is_some() || vectors.is_some() || graph.is_some();
        if !has_answer && !failures.is_empty() {
            let is_late = failures.iter().any(|(_, error)| error.kind() == ErrorKind::Timeout);
            return Err(if is_late { self.trace.timeout("no retriever answered") } else { failures.swap_remove(0).1 });
        }
        for (stage, error) in &failures {
            self.trace.missing(*stage, error);
        }
        Ok(Retrieved {
            keywords: keywords.unwrap_or_default(),
            vectors: vectors.unwrap_or_default(),
            graph: graph.unwrap_or_default(),
        })
    }
}

/// Returns the answer of a retriever, if it had anything to search for. A failure is added to `failures`.
fn answer_of<T>(stage: Stage, outcome: Result<Option<T>>, failures: &mut Vec<(Stage, Error)>) -> Option<T> {
    outcome.unwrap_or_else(|error| {
        failures.push((stage, error));
        None
    })
}

/// The union of what the retrievers found, best first.
pub(crate) fn fuse(plan: &Plan<'_>, retrieved: Retrieved) -> Vec<Candidate> {
    let Retrieved { keywords, vectors: FoundHits { hits: vectors, .. }, graph } = retrieved;
    let options = &plan.options;
    let semantic_weight = plan.scale.semantic_weight.clamp(0.0, 1.0);
    let vector_weight = (options.vector_weight * semantic_weight).max(options.min_vector_weight).clamp(0.0, 1.0);
    let last_vector = vectors.last().filter(|_| vectors.len() >= plan.max_candidates).map(|hit| hit.score.value());
    let rankings = [
        Ranking { weight: 1.0 - vector_weight, hits: keywords.found.hits, zero: Some(Score::new(0.0)) },
        Ranking { weight: vector_weight, hits: vectors, zero: None },
        // The graph only adds: without one the weights of the others stay as they are.
        Ranking { weight: options.graph_weight.max(0.0), hits: graph, zero: Some(Score::new(0.0)) },
    ];
    let fusion = Fusion { method: options.fusion, candidates: plan.max_candidates.saturating_mul(2) };
    let word_score = |id: &RecordId| {
        let scores = keywords.word_scores.as_ref()?;
        Some(scores.get(id).copied().unwrap_or(0.0))
    };
    let candidate = |fused: Fused| {
        let similarity = fused.places[1].map(|place| place.score.value()).or(last_vector);
        Candidate { word_score: word_score(&fused.id), similarity, ..Candidate::of(fused) }
    };
    memory_engine_reranker::fuse(&rankings, fusion).into_iter().map(candidate).collect()
}
