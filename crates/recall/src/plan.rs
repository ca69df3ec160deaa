//! The plan of a recall: the query combined with the options and the scene policy.

use jiff::tz::TimeZone;
use memory_engine_core::{
    Error, Field, Filter, Kind, Op, Record, Result, ScanQuery, Scope, Timestamp, audit::AuditContext,
    history::recorded_by,
};
use memory_engine_embedder::Scale;
use memory_engine_indexing::EmbeddingBackend;
use memory_engine_temporal::{TimeWindow, windows};

use crate::{
    options::RecallOptions,
    parts::RecallParts,
    query::{RecallQuery, Retrievers},
    ranking::RankingMethod,
};

/// A query with everything that decides how it is answered.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) query: &'a RecallQuery,
    pub(crate) options: RecallOptions,
    pub(crate) asked_at: Timestamp,
    /// The time by the engine's clock, at which records expire.
    pub(crate) now: Timestamp,
    /// The zone of days that the query names.
    pub(crate) zone: TimeZone,
    /// Maximum number of hits.
    pub(crate) limit: usize,
    /// Maximum number of candidates per retriever.
    pub(crate) max_candidates: usize,
    /// The query's filter, combined with what is visible from its scene. The branches that are visible are not in it:
    /// they are in the `ReadScope`.
    pub(crate) filter: Option<Filter>,
    /// The backend that embeds the query.
    pub(crate) backend: EmbeddingBackend,
    /// The scale of the backend's scores for this query.
    pub(crate) scale: Scale,
    /// True if each candidate notes its rank after each step.
    pub(crate) traces_ranks: bool,
}

impl<'a> Plan<'a> {
    /// # Errors
    /// `InvalidInput` for an empty query or an invalid filter.
    pub(crate) fn new(parts: &'a RecallParts, query: &'a RecallQuery, zone: TimeZone) -> Result<Self> {
        if query.text.trim().is_empty() {
            return Err(Error::invalid("recall", "the question is empty; ask with at least one word"));
        }
        if let Some(filter) = &query.filter {
            filter.validate()?;
        }
        let options = query.options.unwrap_or(parts.options);
        let now = parts.store.clock().now();
        let asked_at = query.asked_at.or(query.as_of).unwrap_or(now);
        let scene = query.scene.as_ref().and_then(|scene| parts.scene_policy.filter(scene));
        let time = if query.only_then { time_filter(query, asked_at, &zone) } else { None };
        let stored = query.as_of.map(recorded_by);
        let filter = [query.filter.clone(), scene, time, stored].into_iter().flatten().reduce(Filter::and);
        let limit = query.limit.unwrap_or(options.limit);
        let max_candidates = options.max_candidates.max(limit);
        let backend = parts.store.embedding().serving().clone();
        let scale = backend.embedder.scale(&query.text);
        let traces_ranks = query.trace;
        Ok(Self { query, options, asked_at, now, zone, limit, max_candidates, filter, backend, scale, traces_ranks })
    }
}

impl Plan<'_> {
    /// Returns true if nothing changes the order in which the lists of the retrievers are fused.
    pub(crate) fn keeps_fused_order(&self) -> bool {
        self.options.ranking == RankingMethod::Fusion
    }

    /// Returns true if the candidates are ranked by features. The hits of one retriever alone stay in its order.
    pub(crate) fn ranks_by_features(&self) -> bool {
        self.query.retrievers == Retrievers::All && !self.keeps_fused_order()
    }

    /// Returns true if every hit of a retriever is a candidate whose record is read.
    pub(crate) fn reads_every_hit(&self) -> bool {
        let reads_all_candidates = !self.keeps_fused_order() || self.max_candidates <= self.limit;
        self.query.retrievers != Retrievers::All && reads_all_candidates
    }

    /// Returns true if a record is left out because its validity has ended at the time of the query.
    pub(crate) fn is_ended(&self, record: &Record) -> bool {
        !self.options.include_ended && !record.is_valid(self.asked_at)
    }

    /// Uses another backend for the query.
    pub(crate) fn set_backend(&mut self, backend: EmbeddingBackend) {
        self.scale = backend.embedder.scale(&self.query.text);
        self.backend = backend;
    }

    /// Returns true if the vectors of the query's embedder say more than words, for a query in this language.
    pub(crate) fn has_semantics(&self) -> bool {
        self.scale.semantic_weight > 0.0
    }

    /// Returns true if a record may be returned. It may have been deleted or revoked since a retriever found it.
    pub(crate) fn admits(&self, record: &Record) -> bool {
        record.is_indexed()
            && !record.is_expired(self.now)
            && !self.is_ended(record)
            && self.filter.as_ref().is_none_or(|filter| filter.matches(record))
    }
}

/// Returns the zone of days that a query names: that of the query, or else of the client. For a query that names a time
/// it is otherwise the zone of the user's latest message. The default is the engine's.
pub(crate) async fn query_zone(parts: &RecallParts, scope: &Scope, query: &RecallQuery) -> TimeZone {
    let named = query.zone.clone().or_else(|| AuditContext::current().zone().cloned());
    if let Some(zone) = named {
        return zone;
    }
    let names_a_time = !windows(&query.text, parts.store.clock().now(), &parts.locale.zone).is_empty();
    let learnt = if names_a_time && scope.user_name().is_some() {
        let latest = ScanQuery::newest(1).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
        // The zone only improves the query, so that an error must not fail it.
        let page = parts.store.records().scan(&scope.namespace(), &latest).await.ok();
        page.and_then(|page| page.records.first()?.zone())
    } else {
        None
    };
    learnt.unwrap_or_else(|| parts.locale.zone.clone())
}

/// Restricts to records of the windows of time that the query names; `None` if it names none.
pub(crate) fn time_filter(query: &RecallQuery, asked_at: Timestamp, zone: &TimeZone) -> Option<Filter> {
    let within = |window: TimeWindow| {
        let from = Filter::compare(Field::OccurredAt, Op::Ge, window.from);
        from.and(Filter::compare(Field::OccurredAt, Op::Lt, window.until))
    };
    let windows = windows(&query.text, asked_at, zone);
    (!windows.is_empty()).then(|| Filter::Or(windows.into_iter().map(within).collect()))
}
