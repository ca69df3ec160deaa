//! Imports of more records than fit into memory.

use std::{fmt, pin::pin};

use futures_util::{Stream, StreamExt};
use memory_engine_core::{Error, ErrorKind, Outcome, PutMode, Record, Result, ReviewSource, Scope, WriteResult};
use memory_engine_curation::StoredRecord;
use memory_engine_indexing::{Turn, verb};
use serde::Serialize;
use tracing::{Span, field::Empty};

use crate::engine::MemoryEngine;

/// Number of records in one transaction.
const BATCH_ROWS: usize = 1000;
/// Maximum number of refused records that a report names.
const MAX_REPORTED_FAILURES: usize = 1000;

/// A callback with the index of a record in the stream and its outcome.
type OnWritten = Box<dyn FnMut(u64, &WriteResult) + Send>;

/// A prepared import. [`MemoryEngine::import`] creates one, [`run`](Self::run) runs it.
#[must_use = "an import does nothing until `run` is called"]
pub struct Import<S> {
    engine: MemoryEngine,
    scope: Scope,
    records: S,
    mode: PutMode,
    batch_rows: usize,
    on_written: OnWritten,
    on_progress: Box<dyn FnMut(&ImportReport) + Send>,
}

impl<S> fmt::Debug for Import<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import").field("mode", &self.mode).field("batch_rows", &self.batch_rows).finish_non_exhaustive()
    }
}

/// The counts of an import, during it or at its end.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// Number of records read from the stream.
    pub read: u64,
    /// Number of new records.
    pub created: u64,
    /// Number of stored records that were replaced.
    pub updated: u64,
    /// Number of records that were stored already, with the same content, and of messages that were
    /// [counted](Outcome::Counted).
    pub unchanged: u64,
    /// Number of records that were not stored because they were forgotten before.
    pub blocked: u64,
    /// Number of created or updated records that wait for a review.
    #[serde(skip_serializing_if = "is_zero")]
    pub pending: u64,
    /// Number of records that were refused.
    pub failed: u64,
    /// The refused records, at most the first 1000.
    pub failures: Vec<ImportFailure>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A record that an import did not store.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ImportFailure {
    /// The index in the stream, from 0.
    pub index: u64,
    /// The reason.
    pub reason: String,
}

/// An item of an import. A [`Record`] is stored at its own address, which has to be within the scope. A [`Turn`] is
/// stored at the scope.
pub trait ImportItem: Send {
    /// Returns the record to store.
    fn into_record(self, engine: &MemoryEngine, scope: &Scope) -> Record;
}

impl ImportItem for Record {
    fn into_record(self, _: &MemoryEngine, _: &Scope) -> Record {
        self
    }
}

impl ImportItem for Turn {
    fn into_record(self, engine: &MemoryEngine, scope: &Scope) -> Record {
        Turn::into_record(self, scope, engine.settings().clock())
    }
}

impl MemoryEngine {
    /// Stores a stream of turns or records within `scope`, in transactions of 1000.
    ///
    /// A record that is refused does not stop the import: it is named in the report. An import can be repeated if
    /// every turn has a message id: records with the same content are unchanged. A turn without a message id is
    /// stored again.
    ///
    /// The records are found by their words at once. The background worker of this engine is paused while the import
    /// runs, so that it does not slow down the import. Afterwards it runs the queued jobs (vectors, and facts and
    /// relations if they are on); [`drain`](Self::drain) waits for them.
    ///
    /// ```
    /// use futures::stream;
    /// use memory_engine::{MemoryEngine, Scope, Turn};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let turns = (0..2500).map(|n| Turn::user(format!("line {n}")).with_message_id(format!("m{n}")));
    /// let import = memory.import(&lin, stream::iter(turns));
    /// let report = import.on_progress(|report| println!("{} read", report.read)).run().await?;
    /// assert_eq!((report.created, report.failed), (2500, 0));
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    pub fn import<S>(&self, scope: &Scope, records: S) -> Import<S>
    where
        S: Stream<Item: ImportItem> + Send,
    {
        Import {
            engine: self.clone(),
            scope: scope.clone(),
            records,
            mode: PutMode::Upsert,
            batch_rows: BATCH_ROWS,
            on_written: Box::new(|_, _| ()),
            on_progress: Box::new(|_| ()),
        }
    }
}

impl<S: Stream<Item: ImportItem> + Send> Import<S> {
    memory_engine_core::setters! {
        /// Sets what happens to records that are stored already. Default: [`PutMode::Upsert`], they are replaced.
        mode(mode: PutMode);
        /// Sets the number of records in one transaction, at least 1. Default: 1000.
        batch_rows(rows: usize) => batch_rows = rows.max(1);
        /// Calls a function for each record that was not refused, with its index in the stream, from 0, and its
        /// outcome: created, updated, unchanged or blocked. Refused records are in [`ImportReport::failures`].
        on_written(written: impl FnMut(u64, &WriteResult) + Send + 'static) => on_written = Box::new(written);
        /// Calls a function after each transaction with the report so far.
        on_progress(progress: impl FnMut(&ImportReport) + Send + 'static) => on_progress = Box::new(progress);
    }

    /// Runs the import to its end.
    ///
    /// # Errors
    /// The store's error. Everything reported before is stored. `Unauthorized` if the review policy rejects imports.
    pub async fn run(self) -> Result<ImportReport> {
        let scope = self.scope.clone();
        let note = |span: &Span, report: &ImportReport| {
            span.record("read", report.read);
            span.record("failed", report.failed);
        };
        let engine = self.engine.clone();
        let work = engine.acting(self.store_all());
        verb!("import", &scope, { read = Empty, failed = Empty }, work, note)
    }

    async fn store_all(self) -> Result<ImportReport> {
        let Self { engine, scope, records, mode, batch_rows, mut on_written, mut on_progress } = self;
        let _pause = engine.enrichment().worker().pause();
        engine.curation().require_accepted_source(ReviewSource::Imports)?;
        let mut report = ImportReport::default();
        let mut batches = pin!(records.chunks(batch_rows));
        while let Some(batch) = batches.next().await {
            let mut accepted = Vec::new();
            for item in batch {
                let record = item.into_record(&engine, &scope);
                match engine.indexed_store().check(&record) {
                    Ok(()) => accepted.push((report.read, record)),
                    Err(error) => report.add_failure(report.read, &error),
                }
                report.read += 1;
            }
            store_batch(&engine, &scope, accepted, mode, &mut report, &mut on_written).await?;
            on_progress(&report);
        }
        Ok(report)
    }
}

/// Stores a batch in one transaction. If one of its records is refused, stores them one by one and reports those that
/// are refused.
async fn store_batch(
    engine: &MemoryEngine,
    scope: &Scope,
    batch: Vec<(u64, Record)>,
    mode: PutMode,
    report: &mut ImportReport,
    mut on_written: impl FnMut(u64, &WriteResult),
) -> Result<()> {
    let mut add = |report: &mut ImportReport, index, stored: &StoredRecord| {
        report.add(&stored.result);
        report.pending += u64::from(stored.is_pending);
        on_written(index, &stored.result);
    };
    let source = ReviewSource::Imports;
    let records = batch.iter().map(|(_, record)| record.clone()).collect();
    match engine.curation().store_from(source, scope, records, mode).await {
        Ok(written) => batch.iter().zip(&written).for_each(|((index, _), written)| add(report, *index, written)),
        Err(error) if is_record_error(&error) => {
            // A batch is written all or none. A record that is refused must not cost the others.
            for (index, record) in batch {
                match engine.curation().store_from(source, scope, vec![record], mode).await {
                    Ok(written) => written.iter().for_each(|written| add(report, index, written)),
                    Err(error) if is_record_error(&error) => report.add_failure(index, &error),
                    Err(error) => return Err(error),
                }
            }
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Returns true if the error concerns one record, so that the import can go on: its content is invalid, or its
/// address is outside the scope.
fn is_record_error(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidInput | ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::Unauthorized
    )
}

impl ImportReport {
    fn add(&mut self, written: &WriteResult) {
        match written.outcome {
            Outcome::Created => self.created += 1,
            Outcome::Updated => self.updated += 1,
            Outcome::Unchanged | Outcome::Counted => self.unchanged += 1,
            Outcome::Blocked(_) => self.blocked += 1,
            _ => {}
        }
    }

    fn add_failure(&mut self, index: u64, error: &Error) {
        self.failed += 1;
        if self.failures.len() < MAX_REPORTED_FAILURES {
            self.failures.push(ImportFailure { index, reason: error.to_string() });
        }
    }
}
