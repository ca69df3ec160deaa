//! Writes the summaries of conversations.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use memory_engine_core::{
    Basis, Cursor, Done, Embedding, Field, Filter, Job, Kind, Op, Pending, PutMode, Record, RecordId, Result,
    ReviewPolicy, ReviewSource, ScanQuery, Scope, State, Write,
    retry::{MODEL_ATTEMPTS, retry_on_conflict},
    review_keys,
};
use memory_engine_embedder::Purpose;
use memory_engine_indexing::{IndexedStore, indexed_text, inherit_expiry};
use memory_engine_summarizer::{RollingWindow, Summarizer, SummaryRequest, SummaryTrigger, Window};

use super::MODEL_BATCH_SIZE;
use crate::{handler::JobHandler, log::log_degraded};

const SCAN_PAGE_ROWS: usize = 100;
/// Maximum number of turns that are read before a turn. No window is longer.
const MAX_TURNS_BEFORE: usize = 200;
/// Maximum number of turns that are read after a turn. Later ones have items of their own in the queue.
const MAX_TURNS_AFTER: usize = 400;
/// Minimum semantic weight of an embedder whose vectors are used to detect a change of topic.
const TOPIC_MIN_SEMANTIC_WEIGHT: f64 = 0.1;

/// Summarizes the windows of a conversation that are due.
#[derive(Debug)]
pub(crate) struct SummaryJob {
    pub(crate) store: Arc<IndexedStore>,
    pub(crate) summarizer: Arc<dyn Summarizer>,
    pub(crate) trigger: SummaryTrigger,
    pub(crate) request: SummaryRequest,
    pub(crate) review: ReviewPolicy,
}

#[async_trait]
impl JobHandler for SummaryJob {
    fn job(&self) -> Job {
        Job::Summary
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        Ok(Some(MODEL_BATCH_SIZE))
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        let mut conversations: BTreeMap<&Scope, &Record> = BTreeMap::new();
        for Pending { record, .. } in pending {
            let oldest = conversations.entry(&record.scope).or_insert(record);
            if record.position() < oldest.position() {
                *oldest = record;
            }
        }
        for (address, oldest) in conversations {
            let (turns, covered) = self.turns_around(address, oldest).await?;
            let (due, _open) = self.windows(&turns, &covered).await?;
            for window in &due {
                self.write_summary(address, &turns, window).await?;
            }
        }
        Ok(Vec::new())
    }
}

impl SummaryJob {
    /// Returns the turns of a conversation around `oldest`: from the end of the last summary before it, and at most
    /// `MAX_TURNS_AFTER` after it; and the ids of turns that a summary covers.
    async fn turns_around(&self, address: &Scope, oldest: &Record) -> Result<(Vec<Record>, BTreeSet<RecordId>)> {
        let turns_here = active().and(at_exactly(address)).and(Filter::eq(Field::Kind, Kind::TURN.as_str()));
        let before =
            ScanQuery::newest(MAX_TURNS_BEFORE).with_filter(turns_here.clone()).with_after(Some(Cursor::at(oldest)));
        let mut turns = self.store.scan(address, &before).await?.records;
        turns.reverse();
        let start = turns.first().map_or(oldest.occurred_at, |turn| turn.occurred_at);
        let after = ScanQuery::oldest(MAX_TURNS_AFTER).with_filter(turns_here).with_after(turns.last().map(Cursor::at));
        turns.extend(self.store.scan(address, &after).await?.records);
        // A summary is as old as the last turn that it covers: none of these turns is covered by an earlier one.
        let summaries_here = covering().and(at_exactly(address)).and(Filter::eq(Field::Kind, Kind::SUMMARY.as_str()));
        let from = Filter::compare(Field::OccurredAt, Op::Ge, start);
        let mut scan = ScanQuery::oldest(SCAN_PAGE_ROWS).with_filter(summaries_here.and(from));
        let mut covered = BTreeSet::new();
        let last = turns.last().map(|turn| turn.occurred_at);
        loop {
            let page = self.store.scan(address, &scan).await?;
            covered.extend(page.records.iter().flat_map(|summary| summary.derived_from.iter().copied()));
            // A summary that starts within these turns ends soon after them: two later summaries end the scan.
            let is_past_end = page.records.iter().filter(|summary| Some(summary.occurred_at) > last).count() > 1;
            match page.next.filter(|_| !is_past_end) {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        let done = turns.iter().rposition(|turn| turn.position() < oldest.position() && covered.contains(&turn.id));
        turns.drain(..done.map_or(0, |last| last + 1));
        Ok((turns, covered))
    }

    /// Returns the windows of turns that are due for a summary (those that the trigger closes, and those between two
    /// summaries), and the window that is still open at the end.
    async fn windows(&self, turns: &[Record], covered: &BTreeSet<RecordId>) -> Result<(Vec<Window>, RollingWindow)> {
        let open: Vec<&Record> = turns.iter().filter(|turn| !covered.contains(&turn.id)).collect();
        let embedding = self.store.embedding().serving();
        let vectors = match embedding.embedder.semantic_weight() >= TOPIC_MIN_SEMANTIC_WEIGHT {
            true => self.embed_all(open.iter().map(|turn| indexed_text(turn)).collect()).await?,
            false => Vec::new(),
        };
        let mut vectors = vectors.into_iter();
        let mut window = RollingWindow::new(self.trigger.clone());
        let mut due = Vec::new();
        for turn in turns {
            if covered.contains(&turn.id) {
                due.extend(window.flush());
            } else {
                let vector = vectors.next();
                due.extend(window.push(turn, vector.as_ref().map(|vector| vector.values())));
            }
        }
        Ok((due, window))
    }

    async fn embed_all(&self, texts: Vec<String>) -> Result<Vec<Embedding>> {
        let embedding = self.store.embedding().serving();
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(embedding.embedder.max_batch().max(1)) {
            vectors.extend(embedding.embed(batch.to_vec(), Purpose::Document).await?);
        }
        Ok(vectors)
    }

    /// Summarizes a window and stores the summary, unless it is empty.
    async fn write_summary(&self, address: &Scope, turns: &[Record], window: &Window) -> Result<()> {
        let turns: Vec<Record> = turns.iter().filter(|turn| window.turns.contains(&turn.id)).cloned().collect();
        let zone = turns.iter().rev().find_map(Record::zone);
        let request = zone.iter().fold(self.request.clone(), |request, zone| request.with_zone(zone.clone()));
        let summary = self.summarizer.summarize(&turns, &request).await?;
        log_degraded("summary", summary.degraded.as_ref());
        if summary.text.is_empty() || summary.covered.is_empty() {
            return Ok(());
        }
        let mut record = summary.to_record(&turns, address, self.store.clock().now())?;
        zone.iter().for_each(|zone| record.set_zone(zone));
        let covered: Vec<&Record> = turns.iter().filter(|turn| record.derived_from.contains(&turn.id)).collect();
        inherit_expiry(&mut record, covered.iter().copied());
        let preconditions: Vec<Basis> = covered.into_iter().map(Basis::of).collect();
        // The id contains the revisions, so that the tombstone of a summary that was deleted with an edited turn does
        // not block the summary of the new text.
        let revisions: Vec<String> = preconditions.iter().map(|turn| turn.revision.to_string()).collect();
        record.id = RecordId::named(address, &format!("{} at {}", record.id, revisions.join(" ")));
        let Some(record) = self.review.apply(ReviewSource::Summaries, record) else { return Ok(()) };
        let write = Write { based_on: preconditions, ..Write::new(record, PutMode::IfAbsent) };
        self.store.write(address, vec![write]).await.map(drop)
    }

    /// Summarizes the turns at the end of a conversation that wait for a summary. Returns the number of summaries.
    /// Turns farther back that the background has not done yet are left to it.
    pub(crate) async fn summarize_now(&self, address: &Scope) -> Result<usize> {
        let count = AtomicUsize::new(0);
        // The background may change a turn meanwhile.
        retry_on_conflict(MODEL_ATTEMPTS, || self.summarize_end(address, &count)).await?;
        Ok(count.into_inner())
    }

    /// Summarizes the turns at the end of a conversation, and adds the number of windows to `count`.
    async fn summarize_end(&self, address: &Scope, count: &AtomicUsize) -> Result<()> {
        let turns_here = active().and(at_exactly(address)).and(Filter::eq(Field::Kind, Kind::TURN.as_str()));
        let newest = self.store.scan(address, &ScanQuery::newest(1).with_filter(turns_here)).await?.records.pop();
        let Some(newest) = newest else { return Ok(()) };
        let (turns, covered) = self.turns_around(address, &newest).await?;
        let (mut due, mut open) = self.windows(&turns, &covered).await?;
        due.extend(open.flush());
        for window in &due {
            self.write_summary(address, &turns, window).await?;
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn active() -> Filter {
    Filter::eq(Field::State, State::Active.as_str())
}

/// Returns a filter for summaries whose turns need no other one: also those that wait for a review, and those that a
/// person rejected.
fn covering() -> Filter {
    let pending = Filter::eq(Field::State, State::Pending.as_str());
    let rejected = Filter::eq(Field::Metadata(review_keys::REJECTED.into()), true);
    Filter::Or(vec![active(), pending, rejected])
}

/// Returns a filter for records at exactly this address, not below it.
fn at_exactly(address: &Scope) -> Filter {
    let below =
        [(Field::Agent, address.agent()), (Field::Session, address.session()), (Field::Branch, address.branch())];
    let unset = below.into_iter().filter(|(_, name)| name.is_none());
    Filter::And(unset.map(|(field, _)| Filter::Not(Box::new(Filter::Exists(field)))).collect())
}
