//! Ranks the candidates by features of their words, their speakers and their places in the conversation.

mod codes;
mod content;
mod date_question;
mod document_terms;
mod feature_input;
mod features;
mod first_person;
mod late_interaction;
mod number_question;
mod query_shape;
mod query_terms;
mod relevance;
mod sentences;
mod tense;

use std::time::Duration;

use memory_engine_core::{ErrorKind, Record, RecordId, RecordWithTerms, Result};
use memory_engine_reranker::{Feature, FeatureValues, FeatureWeights, QueryShape, RankingModel, RelevanceModel};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::{
    candidate::Candidate,
    candidates::CandidateList,
    found_hits::FoundRecords,
    hit::FeatureScore,
    neighbors::NeighborPair,
    ranking_step::{RankingStep, record_ranks},
    retrieve::score_shares,
    run::RecallRun,
    trace::Stage,
};
pub(crate) use content::Content;
use document_terms::DocumentTerms;
use feature_input::FeatureInput;
use late_interaction::TokenSimilarities;
use query_shape::query_shape;
use query_terms::QueryTerms;
use sentences::sentences;

/// The lowest score of a candidate with features. What only an embedder without semantics found stays below.
const MIN_RANKED_SCORE: f64 = 0.01;

/// Maximum number of records that are read with their terms in one call of the store. More records are read by two
/// calls at the same time, one for the records and one for the terms.
const ONE_READ_MAX_RECORDS: usize = 32;

/// A candidate with its record.
#[derive(Debug)]
pub(crate) struct RankedCandidate {
    pub(crate) candidate: Candidate,
    pub(crate) record: Record,
    pub(crate) content: Content,
    /// Features with a value other than 0. Empty for a recall with one retriever, and for candidates that only the
    /// vectors of an embedder without semantics found.
    pub(crate) features: Vec<FeatureScore>,
    /// The estimated probability that the candidate answers the query.
    pub(crate) relevance: f64,
}

/// The candidates with their records, and the terms of candidates and query. `terms` is aligned with `with_features`.
#[derive(Debug, Default)]
struct RankInput {
    /// Candidates that get features.
    with_features: Vec<(Candidate, Record)>,
    terms: Vec<DocumentTerms>,
    /// Candidates that only the vectors of an embedder without semantics found.
    others: Vec<(Candidate, Record)>,
    query_terms: QueryTerms,
    /// Time for reading the records.
    fetch_time: Duration,
    /// Time for reading the terms of the candidates; 0 if they were read together with the records.
    terms_time: Duration,
}

impl RankInput {
    fn candidate_count(&self) -> usize {
        self.with_features.len() + self.others.len()
    }
}

impl RecallRun<'_> {
    /// Ranks the candidates: those that words, semantics or neighbors found by their features, and the others behind
    /// them. The candidates of one retriever alone, and those of [`RankingMethod::Fusion`], keep their scores. Omits
    /// candidates that may not be returned. Under `Fusion`, only as many candidates as hits are read, best first.
    ///
    /// [`RankingMethod::Fusion`]: crate::RankingMethod::Fusion
    ///
    /// # Errors
    /// `Timeout`, or the store's error, if the records cannot be read.
    pub(crate) async fn rank(&mut self, list: CandidateList) -> Result<Vec<RankedCandidate>> {
        let CandidateList { candidates, neighbors, keyword_shares, words, mut found_records } = list;
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let query_terms = self.analyze_query(words).await;
        let query_terms = self.trace.or_default(Stage::Terms, query_terms);
        let mut input = RankInput { query_terms, ..RankInput::default() };
        let max_records = if self.plan.keeps_fused_order() { self.plan.limit } else { candidates.len() };
        let mut unread = candidates.into_iter();
        loop {
            let batch: Vec<Candidate> = unread.by_ref().take(max_records - input.candidate_count()).collect();
            if batch.is_empty() {
                break;
            }
            match self.read_batch(batch, &mut found_records, &mut input).await {
                // The records of the batches before are returned.
                Err(error) if input.candidate_count() > 0 => {
                    self.trace.missing(Stage::Fetch, &error);
                    break;
                }
                outcome => outcome?,
            }
        }
        self.trace.record(Stage::Fetch.name(), input.fetch_time);
        self.trace.record(Stage::Terms.name(), input.terms_time);
        let others = std::mem::take(&mut input.others);
        let mut ranked = self.rank_by_features(input, &neighbors, &keyword_shares).await;
        for (candidate, record) in others {
            let content = Content::default();
            ranked.push(RankedCandidate { candidate, record, content, features: Vec::new(), relevance: 0.0 });
        }
        ranked.sort_by(|a, b| Candidate::best_first(&a.candidate, &b.candidate));
        self.record_ranks(RankingStep::Ranked, &mut ranked);
        Ok(ranked)
    }

    /// Notes the rank of each candidate after a step, if the query asks for a trace.
    pub(crate) fn record_ranks(&self, step: RankingStep, ranked: &mut [RankedCandidate]) {
        if self.plan.traces_ranks {
            record_ranks(step, ranked.iter_mut().map(|ranked| &mut ranked.candidate));
        }
    }

    /// Computes the features of the candidates, and from them their relevance and their scores. The order stays.
    async fn rank_by_features(
        &mut self,
        input: RankInput,
        neighbors: &[NeighborPair],
        keyword_shares: &FxHashMap<RecordId, f64>,
    ) -> Vec<RankedCandidate> {
        let RankInput { with_features: candidates, terms, query_terms, .. } = input;
        let shape = query_shape(&self.plan, &terms);
        let by_features = self.plan.ranks_by_features();
        let sentences = if by_features { self.query_sentences(shape) } else { Vec::new() };
        let sentence_shares = self.sentence_shares(&sentences).await;
        let token_similarities = if by_features {
            self.token_similarities(&candidates, &sentences).await
        } else {
            TokenSimilarities::default()
        };
        self.shape = by_features.then_some(shape);
        let values = features::compute(&FeatureInput {
            plan: &self.plan,
            candidates: &candidates,
            terms: &terms,
            neighbors,
            keyword_shares,
            sentence_shares: &sentence_shares,
            token_similarities: &token_similarities,
            query_terms: &query_terms,
        });
        let model_at = |(at, (candidate, _)): (usize, &(Candidate, Record))| {
            if token_similarities.is_comparable(at) {
                self.model_for(candidate, &token_similarities)
            } else {
                RankingModel::Words
            }
        };
        // Scores are compared within the query, so all candidates use the weights of one model.
        let models: Vec<RankingModel> = candidates.iter().enumerate().map(model_at).collect();
        let model = models.iter().copied().max().unwrap_or(RankingModel::Words);
        let weights = FeatureWeights::built_in(model, shape);
        let scores = weights.scores(&values);
        let contents = contents(terms, token_similarities, shape);
        let scored = contents.into_iter().zip(values).zip(scores.into_iter().zip(models));
        let mut ranked = Vec::with_capacity(candidates.len());
        for ((mut candidate, record), ((content, values), (score, model))) in candidates.into_iter().zip(scored) {
            // Relevance is compared with a threshold, so each candidate uses the model of its own data.
            let relevance = RelevanceModel::built_in(model).probability(&values);
            let mut features = Vec::new();
            if by_features {
                candidate.score = MIN_RANKED_SCORE + (1.0 - MIN_RANKED_SCORE) * score;
                features = feature_scores(weights, &values);
            }
            ranked.push(RankedCandidate { candidate, record, content, features, relevance });
        }
        ranked
    }

    /// Returns the model for the data that a candidate has: without a similarity, its words decide.
    fn model_for(&self, candidate: &Candidate, token_similarities: &TokenSimilarities) -> RankingModel {
        match self.plan.has_semantics() && candidate.similarity.is_some() {
            true if token_similarities.is_empty() => RankingModel::Vectors,
            true if token_similarities.are_static => RankingModel::StaticTokens,
            true => RankingModel::TokenVectors,
            false => RankingModel::Words,
        }
    }

    /// Appends the candidates of a batch, with their records and terms, to `input`. Records that a search has already
    /// read are not read again. Omits records that may not be returned: one may have been deleted or revoked since a
    /// retriever found it, and a neighbor need not pass the filter.
    async fn read_batch(
        &mut self,
        candidates: Vec<Candidate>,
        found_records: &mut FoundRecords,
        input: &mut RankInput,
    ) -> Result<()> {
        let batch = if found_records.contains_all(candidates.iter().map(|candidate| candidate.id)) {
            candidates.iter().map(|candidate| found_records.take(candidate.id)).collect()
        } else {
            self.read_records_with_terms(&candidates, input).await?
        };
        for (candidate, found) in candidates.into_iter().zip(batch) {
            let admitted = found.filter(|found| self.plan.admits(&found.record));
            let Some(RecordWithTerms { record, terms }) = admitted else { continue };
            if self.gets_features(&candidate) {
                input.with_features.push((candidate, record));
                input.terms.push(terms.map(DocumentTerms::from).unwrap_or_default());
            } else {
                input.others.push((candidate, record));
            }
        }
        Ok(())
    }

    /// Returns true if a candidate gets features: not one that only an embedder without semantics found.
    fn gets_features(&self, candidate: &Candidate) -> bool {
        self.plan.has_semantics() || !candidate.is_found_by_vector_only()
    }

    /// Reads the records of candidates with the terms of those that get features: of few candidates in one call of the
    /// store, of many in two at the same time.
    ///
    /// In one call, a failure of the terms is a failure of the records. In two calls, if no terms can be read in time,
    /// the terms of the query are removed, too. The word coverage is then 0, so that without semantics no hit is
    /// relevant. The recall is marked as degraded.
    async fn read_records_with_terms(
        &mut self,
        candidates: &[Candidate],
        input: &mut RankInput,
    ) -> Result<Vec<Option<RecordWithTerms>>> {
        let ids: Vec<RecordId> = candidates.iter().map(|candidate| candidate.id).collect();
        if ids.len() <= ONE_READ_MAX_RECORDS && self.past.is_none() {
            let started = Instant::now();
            let records = self.trace.limit(Stage::Fetch, self.scope.get_with_terms(&self.parts.store, &ids)).await;
            input.fetch_time += started.elapsed();
            if let Some(records) = self.checked_read(records, input)? {
                return Ok(records);
            }
        }
        let with_features = candidates.iter().filter(|candidate| self.gets_features(candidate));
        let ids_with_features: Vec<RecordId> = with_features.map(|candidate| candidate.id).collect();
        let started = Instant::now();
        let read_records = async {
            let records = self.trace.limit(Stage::Fetch, self.records(&ids)).await;
            (records, started.elapsed())
        };
        let read_terms = async {
            let terms = self.scope.terms(&self.parts.store, &ids_with_features);
            let terms = self.trace.limit(Stage::Terms, terms).await;
            (terms, started.elapsed())
        };
        let ((records, fetch_time), (terms, terms_time)) = tokio::join!(read_records, read_terms);
        input.fetch_time += fetch_time;
        input.terms_time += terms_time;
        let records = self.checked_read(records, input)?;
        if terms.is_err() && input.terms.is_empty() {
            input.query_terms = QueryTerms::default();
        }
        let mut terms = self.trace.or_default(Stage::Terms, terms);
        terms.resize(ids_with_features.len(), None);
        if let Some(past) = &self.past {
            past.set_terms(&ids_with_features, &mut terms);
        }
        let mut terms = terms.into_iter();
        let with_terms = candidates.iter().zip(records).map(|(candidate, record)| {
            let terms = if self.gets_features(candidate) { terms.next().flatten() } else { None };
            record.map(|record| RecordWithTerms { record, terms })
        });
        Ok(with_terms.collect())
    }

    /// Returns the result of reading the records of a batch, with the error of a recall.
    ///
    /// # Errors
    /// `Timeout`, if no record was read in time, also of the batches before; the store's error.
    fn checked_read<T>(&self, records: Result<T>, input: &RankInput) -> Result<T> {
        records.map_err(|error| {
            let is_late = error.kind() == ErrorKind::Timeout && input.candidate_count() == 0;
            if is_late { self.trace.timeout("no record of a hit was read") } else { error }
        })
    }

    /// Returns the sentences of the query to be compared one by one. One sentence, or a long query, has none.
    fn query_sentences(&self, shape: QueryShape) -> Vec<String> {
        let sentences = if shape == QueryShape::LongQuery { Vec::new() } else { sentences(&self.plan.query.text) };
        if sentences.len() < 2 { Vec::new() } else { sentences }
    }

    /// Returns the keyword shares of each sentence of the query; nothing on a failure.
    async fn sentence_shares(&mut self, sentences: &[String]) -> Vec<FxHashMap<RecordId, f64>> {
        if sentences.is_empty() {
            return Vec::new();
        }
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Sentences, self.search_sentences(sentences)).await;
        self.trace.finish(Stage::Sentences, started, outcome)
    }

    async fn search_sentences(&self, sentences: &[String]) -> Result<Vec<FxHashMap<RecordId, f64>>> {
        let thesaurus = self.thesaurus().await?;
        let mut shares = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            if let Some(found) = self.search_keywords(sentence, thesaurus.as_deref()).await? {
                shares.push(score_shares(&found.found.hits));
            }
        }
        Ok(shares)
    }
}

/// Returns the content of each candidate. Token vectors are compared for short messages only: long messages about one
/// topic have nearly the same direction.
fn contents(terms: Vec<DocumentTerms>, similarities: TokenSimilarities, shape: QueryShape) -> Vec<Content> {
    let mut means = if has_short_texts(shape) { similarities.means } else { Vec::new() };
    means.resize(terms.len(), None);
    terms.into_iter().zip(means).map(|(terms, token_mean)| Content { terms: terms.set, token_mean }).collect()
}

/// Returns true for a question about short messages.
fn has_short_texts(shape: QueryShape) -> bool {
    matches!(shape, QueryShape::Question | QueryShape::DatedQuestion)
}

/// Returns the features that a candidate has.
fn feature_scores(weights: &FeatureWeights, values: &FeatureValues) -> Vec<FeatureScore> {
    let present = Feature::ALL.into_iter().filter(|feature| values[*feature] != 0.0);
    let score =
        |feature| FeatureScore { feature, value: values[feature], contribution: weights.contribution(feature, values) };
    present.map(score).collect()
}
