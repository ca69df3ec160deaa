//! The vector retriever.

use memory_engine_core::{Hit, Result};
use memory_engine_embedder::Purpose;
use memory_engine_vector_store::VectorQuery;

use crate::{query::Retrievers, run::RecallRun};

impl RecallRun<'_> {
    /// Returns the records nearest to the query's vector, above the similarity that the embedder finds between any two
    /// texts; `None` if only keywords are searched.
    pub(crate) async fn search_vectors(&self) -> Result<Option<Vec<Hit>>> {
        let plan = &self.plan;
        if plan.query.retrievers == Retrievers::KeywordOnly {
            return Ok(None);
        }
        let mut vectors = plan.backend.embed(vec![plan.query.text.clone()], Purpose::Query).await?;
        let Some(embedding) = vectors.pop() else { return Ok(None) };
        let query = VectorQuery::new(embedding, plan.max_candidates).with_filter(plan.filter.clone());
        let hits = self.scope.search_vectors(plan.backend.vectors.as_ref(), query.clone()).await?;
        let mut hits = self.add_past_vectors(query, hits).await?;
        hits.retain(|hit| hit.score.value() > plan.scale.score_floor);
        Ok(Some(hits))
    }
}
