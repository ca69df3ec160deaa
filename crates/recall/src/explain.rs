//! What became of one record in a recall.

use memory_engine_core::{RecordId, Result, Scope, State};

use super::{candidates, plan::Plan, select, trace::Trace};
use crate::{Explanation, MemoryEngine, RecallHit, RecallQuery, Verdict};

pub(crate) async fn explain(
    engine: &MemoryEngine,
    scope: &Scope,
    query: &RecallQuery,
    id: RecordId,
) -> Result<Explanation> {
    let view = engine.view(scope).await?;
    let mut plan = Plan::new(engine, query, view.filter)?;
    let scope = &view.scope;
    let mut trace = Trace::new(plan.options.deadline);
    if let Some(verdict) = left_out(engine, scope, &plan, id).await? {
        return Ok(Explanation { verdict, hit: None, degraded: Vec::new() });
    }
    let candidates = candidates(engine, scope, &mut plan, &mut trace).await?;
    let limit = std::mem::replace(&mut plan.limit, candidates.len().max(1));
    let hits = select::hits(engine, scope, &plan, &mut trace, candidates).await?;
    let place = hits.iter().position(|hit| hit.record.id == id);
    let hit: Option<RecallHit> = place.map(|n| hits[n].clone());
    let verdict = match (place, hit.as_ref().and_then(|hit| hit.repeats)) {
        (None, _) => Verdict::NotFound { pool: plan.pool },
        (Some(n), _) if n < limit => Verdict::Hit { place: n + 1 },
        (_, Some(id)) => Verdict::Repeats { id },
        (Some(n), None) => Verdict::BelowTheCut { place: n + 1, limit },
    };
    Ok(Explanation { verdict, hit, degraded: trace.into_recall(Vec::new()).degraded })
}

/// Why no arm could have found it, if that is so.
async fn left_out(engine: &MemoryEngine, scope: &Scope, plan: &Plan<'_>, id: RecordId) -> Result<Option<Verdict>> {
    let Some(record) = engine.get(scope, id).await? else { return Ok(Some(Verdict::NotThere)) };
    if record.state != State::Active {
        return Ok(Some(Verdict::NotActive { state: record.state }));
    }
    if plan.query.filter.as_ref().is_some_and(|filter| !filter.matches(&record)) {
        return Ok(Some(Verdict::Filtered));
    }
    let unseen = plan.query.scene.clone().filter(|from| {
        let policy = engine.scene_policy();
        !policy.recalls(from) || policy.weight(from, record.scene.as_deref()) <= 0.0
    });
    let otherwise = plan.filter.as_ref().is_some_and(|filter| !filter.matches(&record)).then_some(Verdict::Filtered);
    Ok(unseen.map(|from| Verdict::OutOfSight { from, scene: record.scene }).or(otherwise))
}
