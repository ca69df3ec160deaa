//! Writes imported rows to an engine, batch by batch.

use std::{collections::BTreeMap, io::BufRead};

use anyhow::{Context, Result, bail, ensure};
use jiff::tz::TimeZone;
use memory_engine::{
    Job, MemoryEngine, Outcome, PutMode, Record, RecordId, Scope, SystemClock, WriteResult, history::Tombstone,
    review::ReviewSource, store::ContentHash,
};
use memory_engine_import::{ImportError, ImportedTurn, Row, json_lines};

use super::{
    dry_run::{DryRun, stored_hash},
    report::FileImportReport,
};
use crate::line::{self, ImportLine, LineDefaults};

/// Number of records and tombstones that are committed together.
const BATCH_LINES: usize = 500;
/// Maximum number of bad lines that are reported one by one.
const MAX_REPORTED_LINES: u64 = 20;

/// Writes the rows of a source to an engine.
#[derive(Debug)]
pub(crate) struct Importer<'a> {
    engine: &'a MemoryEngine,
    scope: &'a Scope,
    zone: &'a TimeZone,
    pub(super) mode: PutMode,
    pub(super) strict: bool,
    pub(super) keep_vectors: bool,
    /// The dry run, if this is one.
    pub(super) dry_run: Option<DryRun>,
    /// Number of occurrences of each line without an id, by the hash of the line.
    occurrences: BTreeMap<[u8; 32], u64>,
    pub(crate) report: FileImportReport,
}

/// Records and tombstones that are committed together.
#[derive(Debug, Default)]
struct TurnBatch {
    records: Vec<Record>,
    tombstones: Vec<Tombstone>,
    vectors: BTreeMap<(Scope, RecordId), Vec<f32>>,
}

impl<'a> Importer<'a> {
    pub(crate) fn new(engine: &'a MemoryEngine, scope: &'a Scope, zone: &'a TimeZone) -> Self {
        Self {
            engine,
            scope,
            zone,
            mode: PutMode::IfAbsent,
            strict: false,
            keep_vectors: false,
            dry_run: None,
            occurrences: BTreeMap::new(),
            report: FileImportReport::default(),
        }
    }

    /// Imports JSON Lines. `progress` is called with the number of bytes of each line, and with 0 after each commit.
    pub(crate) async fn import_json_lines(
        &mut self,
        input: impl BufRead,
        progress: impl FnMut(&FileImportReport, u64),
    ) -> Result<()> {
        self.import(json_lines::rows(input), progress).await
    }

    /// As [`import_json_lines`](Self::import_json_lines), for the rows of any source.
    pub(crate) async fn import(
        &mut self,
        rows: impl Iterator<Item = Result<Row, ImportError>>,
        mut progress: impl FnMut(&FileImportReport, u64),
    ) -> Result<()> {
        let mut batch = TurnBatch::default();
        for row in rows {
            let row = match row {
                Ok(row) => row,
                Err(error) => {
                    // The rows before it stay imported.
                    self.commit(&mut batch).await?;
                    return Err(error.into());
                }
            };
            let row = row.with_own_words();
            let turns = row.turns.map_err(anyhow::Error::new).and_then(|turns| {
                turns.into_iter().map(|turn| self.parse(turn, row.number)).collect::<Result<Vec<_>>>()
            });
            match turns {
                Ok(turns) if turns.is_empty() => self.report.passed_over += 1,
                Ok(turns) => {
                    for (line, vector) in turns {
                        self.check_vector(vector.as_deref()).with_context(|| row.place.clone())?;
                        batch.push(line, vector);
                    }
                }
                Err(e) if self.strict => {
                    self.commit(&mut batch).await?;
                    let imported = match self.dry_run {
                        Some(_) => "",
                        None => "; the lines before it were imported",
                    };
                    bail!("{}: {e:#}{imported}", row.place);
                }
                Err(e) => self.report_bad_row(&row.place, &e),
            }
            progress(&self.report, row.bytes);
            if batch.records.len() + batch.tombstones.len() >= BATCH_LINES {
                self.commit(&mut batch).await?;
                progress(&self.report, 0);
            }
        }
        self.commit(&mut batch).await?;
        progress(&self.report, 0);
        Ok(())
    }

    fn report_bad_row(&mut self, place: &str, error: &anyhow::Error) {
        self.report.bad_lines += 1;
        if self.report.bad_lines <= MAX_REPORTED_LINES {
            self.report.errors.push(format!("{place}: {error:#}"));
        }
    }

    fn check_vector(&self, vector: Option<&[f32]>) -> Result<()> {
        let Some(vector) = vector.filter(|_| self.keep_vectors) else { return Ok(()) };
        let space = self.engine.settings().embedder().space();
        ensure!(
            vector.len() == space.dimensions,
            "its vector has {} dimensions, but {space} has {}; set --embedder to the model of the vectors, or omit \
             --keep-vectors",
            vector.len(),
            space.dimensions
        );
        Ok(())
    }

    fn parse(&mut self, turn: ImportedTurn, number: u64) -> Result<(ImportLine, Option<Vec<f32>>)> {
        let ImportedTurn { keys, seed, vector } = turn;
        let parsed = line::read(keys, &LineDefaults { scope: self.scope, zone: self.zone, clock: &SystemClock })?;
        let ImportLine::Record(mut record) = parsed.line else { return Ok((parsed.line, None)) };
        self.engine.admin().check(&record)?;
        // Turns with the same time keep the order of the file, even if a line between them is corrected later. An
        // exported record keeps its sequence number, or none: another number would make it visible on the wrong
        // branches.
        if !parsed.is_exported {
            record.source.sequence.get_or_insert(i64::try_from(number)?);
        }
        if !parsed.has_id {
            record.id = self.content_id(&record, &seed);
        }
        Ok((ImportLine::Record(record), vector.filter(|_| self.keep_vectors)))
    }

    /// Returns the id of a line without an id. Importing the same file again gives the same id.
    fn content_id(&mut self, record: &Record, text: &str) -> RecordId {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let occurrence = self.occurrences.entry(hash).or_insert(0);
        *occurrence += 1;
        RecordId::named(&record.scope, &format!("line {} {occurrence}", blake3::Hash::from_bytes(hash).to_hex()))
    }

    async fn commit(&mut self, batch: &mut TurnBatch) -> Result<()> {
        let TurnBatch { records, tombstones, mut vectors } = std::mem::take(batch);
        if let Some(dry_run) = &mut self.dry_run {
            self.report.tombstones += tombstones.len() as u64;
            return dry_run.count_outcomes(self.engine, self.mode, records, &mut self.report).await;
        }
        let tenant = Scope::tenant_wide(self.scope.tenant())?;
        if !records.is_empty() {
            let contents: Vec<(Scope, ContentHash)> =
                records.iter().map(|r| (r.scope.clone(), stored_hash(self.engine, r))).collect();
            let source = ReviewSource::Imports;
            let stored = self.engine.review().store_from(source, &tenant, records, self.mode).await?;
            self.report.pending += stored.iter().filter(|stored| stored.is_pending).count() as u64;
            let written: Vec<WriteResult> = stored.into_iter().map(|stored| stored.result).collect();
            // Grouped by user: records of two users may have the same id.
            let mut vectors_by_user: BTreeMap<Scope, Vec<(RecordId, Vec<f32>)>> = BTreeMap::new();
            for (written, (scope, hash)) in written.iter().zip(contents) {
                self.count(written);
                let vector = vectors.remove(&(scope.clone(), written.id));
                if let Some(vector) = vector.filter(|_| written.pending.contains(&Job::Embedding)) {
                    vectors_by_user.entry(scope.namespace()).or_default().push((written.id, vector));
                }
                if written.outcome == Outcome::Unchanged {
                    let stored = self.engine.get(&scope, written.id).await?;
                    self.report.different += u64::from(stored.is_none_or(|stored| stored.content_hash() != hash));
                }
            }
            for (user, vectors) in vectors_by_user {
                self.report.vectors += self.engine.admin().adopt_vectors(&user, vectors).await?;
            }
        }
        if !tombstones.is_empty() {
            self.report.tombstones += self.engine.admin().import_tombstones(&tenant, &tombstones).await?;
        }
        Ok(())
    }

    fn count(&mut self, written: &WriteResult) {
        *match written.outcome {
            Outcome::Created => &mut self.report.added,
            Outcome::Updated => &mut self.report.updated,
            Outcome::Unchanged | Outcome::Counted => &mut self.report.unchanged,
            Outcome::Blocked(_) => &mut self.report.forgotten,
            _ => return,
        } += 1;
    }
}

impl TurnBatch {
    fn push(&mut self, line: ImportLine, vector: Option<Vec<f32>>) {
        match line {
            ImportLine::Record(record) => {
                if let Some(vector) = vector {
                    // A vector of zeros has no direction; it is computed again.
                    if vector.iter().any(|value| *value != 0.0) {
                        self.vectors.insert((record.scope.clone(), record.id), vector);
                    }
                }
                self.records.push(*record);
            }
            ImportLine::Tombstone(tombstone) => self.tombstones.push(tombstone),
        }
    }
}
