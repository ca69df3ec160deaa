//! The vector retriever.

use memory_engine_core::Result;
use memory_engine_embedder::Purpose;
use memory_engine_vector_store::VectorQuery;

use crate::{found_hits::FoundHits, query::Retrievers, run::RecallRun};

impl RecallRun<'_> {
    /// Returns the records nearest to the query's vector, above the similarity that the embedder finds between any two
    /// texts; `None` if only keywords are searched.
    pub(crate) async fn search_vectors(&self) -> Result<Option<FoundHits>> {
        let plan = &self.plan;
        if plan.query.retrievers == Retrievers::KeywordOnly {
            return Ok(None);
        }
        let mut vectors = plan.backend.embed(vec![plan.query.text.clone()], Purpose::Query).await?;
        let Some(embedding) = vectors.pop() else { return Ok(None) };
        let query = VectorQuery::new(embedding, plan.max_candidates).with_filter(plan.filter.clone());
        let mut found = self.search_nearest(query).await?;
        found.hits.retain(|hit| hit.score.value() > plan.scale.score_floor);
        Ok(Some(found))
    }

    async fn search_nearest(&self, query: VectorQuery) -> Result<FoundHits> {
        let vectors = self.plan.backend.vectors.as_ref();
        if self.plan.reads_every_hit()
            && self.past.is_none()
            && let Some(found) = self.scope.search_vector_records(vectors, query.clone()).await?
        {
            return Ok(found.into());
        }
        let hits = self.scope.search_vectors(vectors, query.clone()).await?;
        Ok(self.add_past_vectors(query, hits).await?.into())
    }
}
