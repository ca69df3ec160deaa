//! The preview of the library's context.

use memory_engine::{RecallQuery, context::MemoryOutcome, recall::RecallHit};

use super::{
    super::record::RecordView,
    Preview,
    format::{Candidate, ContextPreview},
};
use crate::fault::Fault;

/// The limit of a context, in tokens.
const DEFAULT_MAX_TOKENS: usize = 1000;

impl Preview<'_> {
    /// Returns what the library would return for a context of this query.
    pub(super) async fn library(&self) -> Result<ContextPreview, Fault> {
        if !self.request.earlier.is_empty() {
            let message = "the library reads the conversation from the stored turns; set recent, and leave earlier out";
            return Err(Fault::bad_request(message));
        }
        let engine = &self.state.engine;
        let limit = self.request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        let request = engine.context(&self.scope, RecallQuery::new(self.request.message.as_str()));
        let request = request.persona(self.request.persona.as_str()).recent(self.request.recent).max_tokens(limit);
        let context = request.await?;
        let is_included = |hit: &RecallHit| context.records.contains(&hit.record.id);
        let candidates = context.hits.iter().map(|hit| candidate(hit, is_included(hit))).collect();
        let records = context.hits.iter().map(|hit| RecordView::of(&hit.record)).collect();
        let mut shown = ContextPreview {
            served: true,
            user_id: self.scope.user_name().map(str::to_owned),
            session_id: self.scope.session().map(str::to_owned),
            min_relevance: Some(engine.settings().recall_options().min_relevance),
            candidates,
            records,
            degraded: context.degraded,
            ..ContextPreview::default()
        };
        shown.settings.insert("max_tokens".into(), limit.into());
        let shown = shown.with_layers(context.text, context.tokens, limit, context.layers);
        Ok(shown.with_records(engine, &self.scope).await?)
    }
}

fn candidate(hit: &RecallHit, is_included: bool) -> Candidate {
    let outcome = match (is_included, hit.relevant) {
        (true, _) => MemoryOutcome::Injected,
        (false, true) => MemoryOutcome::NoRoom,
        (false, false) => MemoryOutcome::NotRelevant,
    };
    Candidate { id: hit.record.id, source: "search", relevance: Some(hit.relevance), outcome: outcome.as_str() }
}
