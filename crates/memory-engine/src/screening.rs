//! Secrets and personal data: what is masked before it is stored, and a scan of what is stored already.

use std::{collections::BTreeMap, fmt};

pub use memory_engine_screening::{
    Category, RecordField, RecordFinding, ScreenedText, Screener, ScreeningAction, ScreeningFinding, ScreeningPolicy,
    ScreeningRuleId, rule_ids,
};

use memory_engine_core::{
    ErrorKind, Kind, PutMode, Record, RecordId, Result, ScanQuery, Scope, Write,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};
use memory_engine_screening::count_by_rule;
use serde::Serialize;
use tracing::{Span, field::Empty};

use crate::{engine::MemoryEngine, verbs::verb::verb};

/// Number of records read at a time.
const PAGE_ROWS: usize = 500;
/// Maximum number of records that a report lists.
const MAX_LISTED_RECORDS: usize = 1000;

/// A prepared scan for secrets. [`Screening::scan`] creates one, [`run`](Self::run) runs it.
#[must_use = "a scan does nothing until `run` is called"]
pub struct SecretScan {
    engine: MemoryEngine,
    scope: Scope,
    categories: Vec<Category>,
    redacts: bool,
    on_progress: Box<dyn FnMut(&SecretReport) + Send>,
}

impl fmt::Debug for SecretScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretScan")
            .field("categories", &self.categories)
            .field("redacts", &self.redacts)
            .finish_non_exhaustive()
    }
}

/// The findings of a scan. They contain no text of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct SecretReport {
    /// Number of records read.
    pub scanned: u64,
    /// Number of records with findings.
    pub found: u64,
    /// Number of records whose findings were masked.
    pub redacted: u64,
    /// Number of findings of each rule.
    pub rules: BTreeMap<ScreeningRuleId, u64>,
    /// The records with findings, at most the first 1000.
    pub records: Vec<RecordSecrets>,
}

/// The findings in a stored record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecordSecrets {
    /// The id of the record.
    pub id: RecordId,
    /// Its kind.
    pub kind: Kind,
    /// Number of findings of each rule.
    pub rules: BTreeMap<ScreeningRuleId, u64>,
    /// The fields with findings.
    pub fields: Vec<RecordField>,
}

/// The search for secrets and personal data, in texts and in stored records. [`MemoryEngine::screening`] returns it.
/// [`Builder::screening`](crate::Builder::screening) sets what is masked before it is stored.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, screening::{ScreeningAction, ScreeningPolicy}};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let unscreened = ScreeningPolicy::uniform(ScreeningAction::Store);
/// let memory = MemoryEngine::builder().in_memory().screening(unscreened).build().await?;
/// let lin = Scope::user("lin")?;
/// let id = memory.remember(&lin, "The wifi password is tiger-4711.").await?;
///
/// let report = memory.screening().scan(&lin).run().await?;
/// assert_eq!((report.records[0].id, report.found, report.redacted), (id, 1, 0));
/// let report = memory.screening().scan(&lin).redact(true).run().await?;
/// assert_eq!(report.redacted, 1);
/// let record = memory.get(&lin, id).await?.unwrap();
/// assert_eq!(record.text, "The wifi password is [redacted: en-password].");
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Screening {
    pub(crate) engine: MemoryEngine,
}

impl Screening {
    /// Returns a text as it would be stored: with its secrets masked. For callers that compare a text with stored ones.
    pub fn mask(&self, text: impl Into<String>) -> String {
        self.engine.indexed_store().screened_text(text.into())
    }

    /// Returns a text as it would be stored within `scope`: truncated to the maximum length of a record, with its
    /// secrets masked, and the values that are [kept out](crate::deletion::Deletion::kept_out).
    ///
    /// # Errors
    /// The store's error.
    pub async fn mask_within(&self, scope: &Scope, text: impl Into<String>) -> Result<String> {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(Record::MAX_TEXT_BYTES));
        self.engine.indexed_store().masked_text(scope, text).await
    }

    /// Scans the stored records within `scope` for secrets. By default, it looks for the categories that the engine
    /// masks or refuses, or for credentials if the screening is off, and changes nothing.
    pub fn scan(&self, scope: &Scope) -> SecretScan {
        let screened = self.engine.indexed_store().screener().map(|screener| screener.policy().screened_categories());
        let credentials = || Category::ALL.iter().copied().filter(|category| category.is_credential()).collect();
        SecretScan {
            engine: self.engine.clone(),
            scope: scope.clone(),
            categories: screened.unwrap_or_else(credentials),
            redacts: false,
            on_progress: Box::new(|_| ()),
        }
    }
}

impl SecretScan {
    /// Sets the categories to look for.
    pub fn categories(mut self, categories: impl IntoIterator<Item = Category>) -> Self {
        self.categories = categories.into_iter().collect();
        self
    }

    /// Sets whether the findings are masked in the stored records. Records that were derived from a changed text are
    /// removed and derived again from the masked one, and all indexes are updated. Default: false.
    pub fn redact(mut self, redacts: bool) -> Self {
        self.redacts = redacts;
        self
    }

    /// Calls a function after each page of 500 records with the report so far.
    pub fn on_progress(mut self, progress: impl FnMut(&SecretReport) + Send + 'static) -> Self {
        self.on_progress = Box::new(progress);
        self
    }

    /// Runs the scan to its end.
    ///
    /// # Errors
    /// `Conflict` if others keep writing to the same record; the store's error. What was redacted before stays
    /// redacted, and the scan can be repeated.
    pub async fn run(self) -> Result<SecretReport> {
        let scope = self.scope.clone();
        let note = |span: &Span, report: &SecretReport| {
            span.record("records", report.scanned);
            span.record("found", report.found);
        };
        let engine = self.engine.clone();
        let work = engine.acting(self.scan_all());
        verb!("scan_secrets", &scope, { records = Empty, found = Empty }, work, note)
    }

    async fn scan_all(self) -> Result<SecretReport> {
        let Self { engine, scope, categories, redacts, mut on_progress } = self;
        let screener = Screener::of_categories(&categories);
        let mut report = SecretReport::default();
        let mut query = ScanQuery::oldest(PAGE_ROWS);
        loop {
            let page = engine.indexed_store().scan(&scope, &query).await?;
            for record in page.records {
                report.scanned += 1;
                let findings = screener.screen_record(&mut record.clone()).masked;
                if findings.is_empty() {
                    continue;
                }
                report.add(&record, &findings);
                if redacts && redact_record(&engine, &screener, &record.scope.namespace(), record.id).await? {
                    report.redacted += 1;
                }
            }
            on_progress(&report);
            query.after = page.next;
            if query.after.is_none() {
                return Ok(report);
            }
        }
    }
}

/// Masks the secrets of a stored record. Returns false if it was removed or masked meanwhile, as records that are
/// derived from a masked one are.
async fn redact_record(engine: &MemoryEngine, screener: &Screener, user: &Scope, id: RecordId) -> Result<bool> {
    let outcome = retry_on_conflict(WRITE_ATTEMPTS, || async {
        let Some(mut record) = engine.indexed_store().get(user, id).await? else { return Ok(false) };
        if screener.screen_record(&mut record).is_clean() {
            return Ok(false);
        }
        let jobs = engine.jobs_for(&record);
        let mode = PutMode::Update { revision: record.revision };
        // Names of entities are derived from the text. The job extracts them again.
        engine.indexed_store().graph().delete(user, &[id]).await?;
        engine.write(user, vec![Write { jobs, ..Write::new(record, mode) }]).await.map(|_| true)
    });
    match outcome.await {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        outcome => outcome,
    }
}

impl SecretReport {
    fn add(&mut self, record: &Record, findings: &[RecordFinding]) {
        let rules = count_by_rule(findings);
        self.found += 1;
        for (rule, count) in &rules {
            *self.rules.entry(*rule).or_default() += count;
        }
        if self.records.len() < MAX_LISTED_RECORDS {
            let mut fields: Vec<RecordField> = findings.iter().map(|finding| finding.field).collect();
            fields.sort_unstable();
            fields.dedup();
            self.records.push(RecordSecrets { id: record.id, kind: record.kind.clone(), rules, fields });
        }
    }
}
