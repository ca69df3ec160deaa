//! Summaries of what was said.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    Basis, Field, Filter, Kind, Op, Pending, PutMode, Record, RecordId, Result, ScanQuery, Scope, State, Write,
};
use memory_embedder::Purpose;
use memory_summarizer::{RollingWindow, Summarizer, Window};

use super::{indexing::indexed_text, told};
use crate::MemoryEngine;

const PAGE: usize = 100;
/// From which weight on an embedder's vectors tell topics apart.
const TELLS_TOPICS: f64 = 0.1;

impl MemoryEngine {
    /// Summarizes what is due in the conversations of these turns.
    pub(super) async fn summarize(&self, summarizer: &dyn Summarizer, pending: &[Pending]) -> Result<()> {
        let mut conversations: BTreeMap<&Scope, &Record> = BTreeMap::new();
        for Pending { record, .. } in pending {
            let oldest = conversations.entry(&record.scope).or_insert(record);
            if record.position() < oldest.position() {
                *oldest = record;
            }
        }
        for (address, oldest) in conversations {
            let (turns, covered) = self.since(address, oldest).await?;
            for window in self.windows(&turns, &covered).await? {
                self.keep_summary(summarizer, address, &turns, &window).await?;
            }
        }
        Ok(())
    }

    /// The turns of a conversation from the end of the last summary before `oldest` on, and those that are covered by one.
    async fn since(&self, address: &Scope, oldest: &Record) -> Result<(Vec<Record>, BTreeSet<RecordId>)> {
        let here = |record: &Record| record.scope == *address && record.state == State::Active;
        let kind = |kind: Kind| Filter::eq(Field::Kind, kind.as_str());
        let mut covered = BTreeSet::new();
        let mut scan = ScanQuery::newest(PAGE).with_filter(kind(Kind::SUMMARY));
        'summaries: loop {
            let page = self.scan(address, &scan).await?;
            for summary in page.records.iter().filter(|record| here(record)) {
                covered.extend(summary.derived_from.iter().copied());
                if summary.position() < oldest.position() {
                    break 'summaries;
                }
            }
            match page.next {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        let mut turns = Vec::new();
        let mut scan = ScanQuery::newest(PAGE).with_filter(kind(Kind::TURN));
        'turns: loop {
            let page = self.scan(address, &scan).await?;
            for turn in page.records.into_iter().filter(here) {
                if turn.position() < oldest.position() && covered.contains(&turn.id) {
                    break 'turns;
                }
                turns.push(turn);
            }
            match page.next {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        turns.reverse();
        Ok((turns, covered))
    }

    /// The stretches of turns of which a summary is due: those that the trigger closes, and those between two summaries.
    async fn windows(&self, turns: &[Record], covered: &BTreeSet<RecordId>) -> Result<Vec<Window>> {
        let open: Vec<&Record> = turns.iter().filter(|turn| !covered.contains(&turn.id)).collect();
        let vectors = match self.embedder().semantic_weight() >= TELLS_TOPICS {
            true => self.embed_all(open.iter().map(|turn| indexed_text(turn)).collect()).await?,
            false => Vec::new(),
        };
        let mut vectors = vectors.into_iter();
        let trigger = &self.digest().trigger;
        let (mut window, mut due) = (RollingWindow::new(trigger.clone()), Vec::new());
        for turn in turns {
            if covered.contains(&turn.id) {
                due.extend(window.flush());
            } else {
                let vector = vectors.next();
                due.extend(window.push(turn, vector.as_ref().map(|vector| vector.values())));
            }
        }
        Ok(due)
    }

    async fn embed_all(&self, texts: Vec<String>) -> Result<Vec<memory_core::Embedding>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.embedder().max_batch().max(1)) {
            vectors.extend(self.embed(batch.to_vec(), Purpose::Document).await?);
        }
        Ok(vectors)
    }

    async fn keep_summary(
        &self,
        summarizer: &dyn Summarizer,
        address: &Scope,
        turns: &[Record],
        window: &Window,
    ) -> Result<()> {
        let turns: Vec<Record> = turns.iter().filter(|turn| window.turns.contains(&turn.id)).cloned().collect();
        let summary = summarizer.summarize(&turns, &self.digest().request).await?;
        told("summary", summary.degraded.as_ref());
        if summary.text.is_empty() || summary.covered.is_empty() {
            return Ok(());
        }
        let mut record = summary.to_record(&turns, address, self.clock().now())?;
        let covered = turns.iter().filter(|turn| record.derived_from.contains(&turn.id));
        let based_on: Vec<Basis> = covered.map(Basis::of).collect();
        // By revision: what was withdrawn with an edited turn does not keep away what is made of it now.
        let revisions: Vec<String> = based_on.iter().map(|basis| basis.revision.to_string()).collect();
        record.id = RecordId::named(address, &format!("{} at {}", record.id, revisions.join(" ")));
        let write = Write { based_on, ..Write::new(record, PutMode::IfAbsent) };
        self.write(address, vec![write]).await.map(drop)
    }

    /// Summarizes what waits for a summary in a conversation now, as at its end, and counts the summaries.
    ///
    /// # Errors
    /// `Unsupported` when the engine makes no summaries; the store's.
    pub async fn summarize_now(&self, address: &Scope) -> Result<usize> {
        let unsupported = "this engine makes no summaries; build it with a digest that does";
        let summarizer = self.digest().summarizer.clone();
        let summarizer = summarizer
            .ok_or_else(|| memory_core::Error::new(memory_core::ErrorKind::Unsupported, "summarize", unsupported))?;
        let first = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::compare(
            Field::State,
            Op::Eq,
            State::Active.as_str(),
        ));
        let oldest = self.scan(address, &ScanQuery::oldest(1).with_filter(first)).await?.records.pop();
        let Some(oldest) = oldest else { return Ok(0) };
        let (turns, covered) = self.since(address, &oldest).await?;
        let mut window = RollingWindow::new(self.digest().trigger.clone());
        let mut due = Vec::new();
        for turn in &turns {
            match covered.contains(&turn.id) {
                true => due.extend(window.flush()),
                false => due.extend(window.push(turn, None)),
            }
        }
        due.extend(window.flush());
        for window in &due {
            self.keep_summary(summarizer.as_ref(), address, &turns, window).await?;
        }
        Ok(due.len())
    }
}
