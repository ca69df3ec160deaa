//! Summaries of what was said.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Basis, Cursor, Error, ErrorKind, Field, Filter, Kind, Op, Pending, PutMode, Record, RecordId, Result, ScanQuery,
    Scope, State, Write,
};
use memory_engine_embedder::Purpose;
use memory_engine_summarizer::{RollingWindow, Summarizer, Window};

use super::{indexing::indexed_text, told};
use crate::MemoryEngine;

const PAGE: usize = 100;
/// How many turns before one may wait with it for a summary: no window is longer.
const BEFORE: usize = 200;
/// How many turns after it are looked at: the others come with their own place in the queue.
const AFTER: usize = 400;
/// How often a summary is made of turns that change meanwhile.
const TRIES: usize = 10;
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
            let (due, _open) = self.windows(&turns, &covered).await?;
            for window in &due {
                self.keep_summary(summarizer, address, &turns, window).await?;
            }
        }
        Ok(())
    }

    /// The turns of a conversation around `oldest`: from the end of the last summary before it on, and so many after it as
    /// are looked at together; and those that are covered by a summary.
    async fn since(&self, address: &Scope, oldest: &Record) -> Result<(Vec<Record>, BTreeSet<RecordId>)> {
        let turns_here = at_exactly(address).and(Filter::eq(Field::Kind, Kind::TURN.as_str()));
        let before = ScanQuery::newest(BEFORE).with_filter(turns_here.clone()).with_after(Some(Cursor::at(oldest)));
        let mut turns = self.scan(address, &before).await?.records;
        turns.reverse();
        let start = turns.first().map_or(oldest.occurred_at, |turn| turn.occurred_at);
        let after = ScanQuery::oldest(AFTER).with_filter(turns_here).with_after(turns.last().map(Cursor::at));
        turns.extend(self.scan(address, &after).await?.records);
        // A summary is as old as the last turn that it covers: none of these turns is covered by an earlier one.
        let summaries_here = at_exactly(address).and(Filter::eq(Field::Kind, Kind::SUMMARY.as_str()));
        let from = Filter::compare(Field::OccurredAt, Op::Ge, start);
        let mut scan = ScanQuery::oldest(PAGE).with_filter(summaries_here.and(from));
        let (mut covered, last) = (BTreeSet::new(), turns.last().map(|turn| turn.occurred_at));
        loop {
            let page = self.scan(address, &scan).await?;
            covered.extend(page.records.iter().flat_map(|summary| summary.derived_from.iter().copied()));
            // One that begins within these turns ends not much later.
            let beyond = page.records.iter().filter(|summary| Some(summary.occurred_at) > last).count() > 1;
            match page.next.filter(|_| !beyond) {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        let done = turns.iter().rposition(|turn| turn.position() < oldest.position() && covered.contains(&turn.id));
        turns.drain(..done.map_or(0, |last| last + 1));
        Ok((turns, covered))
    }

    /// The stretches of turns of which a summary is due (those that the trigger closes, and those between two summaries), and
    /// the one that is still open at the end.
    async fn windows(&self, turns: &[Record], covered: &BTreeSet<RecordId>) -> Result<(Vec<Window>, RollingWindow)> {
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
        Ok((due, window))
    }

    async fn embed_all(&self, texts: Vec<String>) -> Result<Vec<memory_engine_core::Embedding>> {
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

    /// Summarizes what waits for a summary at the end of a conversation now, and counts the summaries. What the background has
    /// not come to yet, farther back, is left to it.
    ///
    /// ```
    /// use memory_engine::{Digest, Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, Turn};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().digest(Digest::by_rules()?).build().await?;
    /// let monday = Scope::user("lin")?.with_session("monday")?;
    /// memory.remember(&monday, Turn::user("周五要去面试，有点紧张").with_round(1)).await?;
    /// memory.remember(&monday, Turn::assistant("准备得怎么样了？").with_round(1)).await?;
    /// assert_eq!(memory.summarize_now(&monday).await?, 1);
    /// let summaries = ScanQuery::oldest(9).with_filter(Filter::eq(Field::Kind, Kind::SUMMARY.as_str()));
    /// assert_eq!(memory.scan(&monday, &summaries).await?.records[0].derived_from.len(), 2);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Unsupported` when the engine makes no summaries; the store's.
    pub async fn summarize_now(&self, address: &Scope) -> Result<usize> {
        let unsupported = "this engine makes no summaries; build it with a digest that does";
        let summarizer = self.digest().summarizer.clone();
        let summarizer = summarizer.ok_or_else(|| Error::new(ErrorKind::Unsupported, "summarize", unsupported))?;
        let mut made = 0;
        for _ in 1..TRIES {
            match self.summarize_the_end(summarizer.as_ref(), address, &mut made).await {
                // The background has found something out about a turn meanwhile.
                Err(e) if e.kind() == ErrorKind::Conflict => {}
                outcome => return outcome.map(|()| made),
            }
        }
        self.summarize_the_end(summarizer.as_ref(), address, &mut made).await.map(|()| made)
    }

    async fn summarize_the_end(&self, summarizer: &dyn Summarizer, address: &Scope, made: &mut usize) -> Result<()> {
        let turns_here = at_exactly(address).and(Filter::eq(Field::Kind, Kind::TURN.as_str()));
        let newest = self.scan(address, &ScanQuery::newest(1).with_filter(turns_here)).await?.records.pop();
        let Some(newest) = newest else { return Ok(()) };
        let (turns, covered) = self.since(address, &newest).await?;
        let (mut due, mut open) = self.windows(&turns, &covered).await?;
        due.extend(open.flush());
        for window in &due {
            self.keep_summary(summarizer, address, &turns, window).await?;
            *made += 1;
        }
        Ok(())
    }
}

/// Active records at this very address, and none below it.
fn at_exactly(address: &Scope) -> Filter {
    let active = Filter::eq(Field::State, State::Active.as_str());
    let below =
        [(Field::Agent, address.agent()), (Field::Session, address.session()), (Field::Branch, address.branch())];
    let unset = below.into_iter().filter(|(_, name)| name.is_none());
    unset.fold(active, |filter, (field, _)| filter.and(Filter::Not(Box::new(Filter::Exists(field)))))
}
