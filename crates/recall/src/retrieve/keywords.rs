//! The keyword retriever.

use std::sync::Arc;

use memory_engine_core::{Hit, RecordId, Result};
use memory_engine_indexing::date_clauses;
use memory_engine_keyword_store::{Clause, KeywordQuery};
use memory_engine_synonyms::Thesaurus;
use rustc_hash::FxHashMap;

use crate::{found_hits::FoundHits, query::Retrievers, run::RecallRun};

/// The hits of the keyword retriever.
#[derive(Debug, Default)]
pub(crate) struct KeywordHits {
    /// Hits by the query's words and by the dates that it names.
    pub(crate) found: FoundHits,
    /// Scores by the words alone, if the query names both words and dates.
    pub(crate) word_scores: Option<FxHashMap<RecordId, f64>>,
    /// The words of the query with their synonyms, without its dates.
    pub(crate) words: Vec<Clause>,
}

impl RecallRun<'_> {
    /// Returns the synonyms that apply; `None` if the query does not look for any.
    pub(crate) async fn thesaurus(&self) -> Result<Option<Arc<Thesaurus>>> {
        if !self.plan.options.synonyms || self.plan.query.retrievers == Retrievers::VectorOnly {
            return Ok(None);
        }
        self.scope.thesaurus(&self.parts.thesaurus).await.map(Some)
    }

    /// Searches for the words of a text, their synonyms and the dates that it names; `None` if it has none of them, or
    /// if only vectors are searched.
    pub(crate) async fn search_keywords(
        &self,
        text: &str,
        thesaurus: Option<&Thesaurus>,
    ) -> Result<Option<KeywordHits>> {
        let plan = &self.plan;
        if plan.query.retrievers == Retrievers::VectorOnly {
            return Ok(None);
        }
        let mut words = self.parts.store.analysis().query_clauses(text.to_owned()).await?;
        if let Some(thesaurus) = thesaurus {
            words = thesaurus.expand(text, words);
        }
        let dates = match plan.options.date_weight {
            weight if weight > 0.0 => date_clauses(text, plan.asked_at, &plan.zone, weight),
            _ => Vec::new(),
        };
        if words.is_empty() && dates.is_empty() {
            return Ok(None); // Stop words alone prove nothing.
        }
        let clauses = [words.as_slice(), &dates].concat();
        let mut word_scores = None;
        if !words.is_empty() && !dates.is_empty() {
            let word_hits = self.search_clauses(words.clone()).await?;
            word_scores = Some(word_hits.into_iter().map(|hit| (hit.id, hit.score.value())).collect());
        }
        if plan.reads_every_hit() && self.past.is_none() {
            let query = self.keyword_query(clauses.clone());
            let keywords = self.parts.store.keywords().as_ref();
            if let Some(found) = self.scope.search_keyword_records(keywords, query).await? {
                return Ok(Some(KeywordHits { found: found.into(), word_scores, words }));
            }
        }
        let found = self.search_clauses(clauses).await?.into();
        Ok(Some(KeywordHits { found, word_scores, words }))
    }

    fn keyword_query(&self, clauses: Vec<Clause>) -> KeywordQuery {
        KeywordQuery::new(clauses, self.plan.max_candidates).with_filter(self.plan.filter.clone())
    }

    async fn search_clauses(&self, clauses: Vec<Clause>) -> Result<Vec<Hit>> {
        let query = self.keyword_query(clauses.clone());
        let hits = self.scope.search_keywords(self.parts.store.keywords().as_ref(), query).await?;
        self.add_past_keywords(&clauses, hits).await
    }
}
