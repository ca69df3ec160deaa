//! The explanation of one record in a recall.

use memory_engine_core::{RecordId, Result, Scope, State};

use crate::{
    explanation::{Explanation, Verdict},
    parts::RecallParts,
    query::RecallQuery,
    run::RecallRun,
    trace::Stage,
};

/// Explains the place of a record in the result of a query, or its absence.
pub(crate) async fn explain(
    parts: &RecallParts,
    scope: &Scope,
    query: &RecallQuery,
    id: RecordId,
) -> Result<Explanation> {
    let mut run = RecallRun::begin(parts, scope, query).await?;
    run.plan.traces_ranks = true;
    if let Some(verdict) = run.trace.require(Stage::Fetch, run.excluded(id)).await? {
        return Ok(Explanation { verdict, hit: None, degraded: Vec::new() });
    }
    let candidates = run.candidates().await?;
    // All candidates are selected, so that one below the limit is found, too.
    let limit = std::mem::replace(&mut run.plan.limit, candidates.candidates.len().max(1));
    let hits = run.select(candidates).await?;
    let index = hits.iter().position(|hit| hit.record.id == id);
    let hit = index.map(|n| hits[n].clone());
    let verdict = match (index, hit.as_ref().and_then(|hit| hit.repeats)) {
        (None, _) => Verdict::NotFound { max_candidates: run.plan.max_candidates },
        (Some(n), _) if n < limit => Verdict::Hit { place: n + 1 },
        (_, Some(id)) => Verdict::Repeats { id },
        (Some(n), None) => Verdict::BelowTheCut { place: n + 1, limit },
    };
    Ok(Explanation { verdict, hit, degraded: run.trace.into_recall(Vec::new()).degraded })
}

impl RecallRun<'_> {
    /// Returns the reason why no retriever can find a record, if there is one.
    async fn excluded(&self, id: RecordId) -> Result<Option<Verdict>> {
        let Some((record, is_visible)) = self.scope.locate(&self.parts.store, id).await? else {
            return Ok(Some(Verdict::NotThere));
        };
        if record.is_expired(self.plan.now) {
            return Ok(Some(Verdict::NotThere));
        }
        let record = match self.plan.query.as_of {
            Some(at) => match record.as_of(at) {
                Some(record) => record,
                None => return Ok(Some(Verdict::NotThen { as_of: at })),
            },
            None => record,
        };
        if record.state != State::Active {
            return Ok(Some(Verdict::NotActive { state: record.state }));
        }
        if self.plan.query.filter.as_ref().is_some_and(|filter| !filter.matches(&record)) {
            return Ok(Some(Verdict::Filtered));
        }
        if let Some(valid_until) = record.valid_until.filter(|_| self.plan.is_ended(&record)) {
            return Ok(Some(Verdict::Ended { valid_until }));
        }
        let policy = &self.parts.scene_policy;
        if let Some(from) = self.plan.query.scene.clone()
            && (!policy.recalls(&from) || policy.weight(&from, record.scene.as_deref()) <= 0.0)
        {
            return Ok(Some(Verdict::OutOfSight { from, scene: record.scene }));
        }
        let is_filtered = !is_visible || self.plan.filter.as_ref().is_some_and(|filter| !filter.matches(&record));
        Ok(is_filtered.then_some(Verdict::Filtered))
    }
}
