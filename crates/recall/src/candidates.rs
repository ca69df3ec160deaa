//! Builds the list of candidates of a recall: retrieve, fuse, add neighbors.

use memory_engine_core::{RecordId, Result};
use memory_engine_keyword_store::Clause;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::{
    candidate::Candidate,
    found_hits::FoundRecords,
    neighbors::{self, NeighborPair},
    ranking_step::{RankingStep, record_ranks},
    retrieve::fuse,
    run::RecallRun,
    trace::Stage,
};

/// The candidates of a recall, best first, with what their ranking needs to know about the search.
#[derive(Debug)]
pub(crate) struct CandidateList {
    pub(crate) candidates: Vec<Candidate>,
    /// Candidates next to each other in their conversation.
    pub(crate) neighbors: Vec<NeighborPair>,
    /// Keyword score of each record as a share of the best one, also of records that are not among the candidates.
    pub(crate) keyword_shares: FxHashMap<RecordId, f64>,
    /// The words of the query with their synonyms.
    pub(crate) words: Vec<Clause>,
    /// The records that the searches have read.
    pub(crate) found_records: FoundRecords,
}

impl RecallRun<'_> {
    /// Returns the candidates of all retrievers.
    pub(crate) async fn candidates(&mut self) -> Result<CandidateList> {
        let mut retrieved = self.retrieve().await?;
        let keyword_shares = retrieved.keyword_shares();
        let words = retrieved.take_words();
        let found_records = retrieved.take_records();
        let mut candidates = fuse(&self.plan, retrieved);
        let mut neighbors = Vec::new();
        if self.plan.ranks_by_features() && !candidates.is_empty() {
            neighbors = self.neighbors(&candidates).await;
            let gains = neighbors::gains(&candidates, &neighbors, self.plan.options.neighbor_share);
            neighbors::add_gains(gains, &mut candidates);
            candidates.truncate(self.plan.max_candidates);
        }
        if self.plan.traces_ranks {
            record_ranks(RankingStep::Fused, candidates.iter_mut());
        }
        Ok(CandidateList { candidates, neighbors, keyword_shares, words, found_records })
    }

    /// Returns the pairs of adjacent records of different speakers; none if they cannot be read in time.
    async fn neighbors(&mut self, candidates: &[Candidate]) -> Vec<NeighborPair> {
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Neighbors, self.neighbor_pairs(candidates)).await;
        self.trace.finish(Stage::Neighbors, started, outcome)
    }
}
