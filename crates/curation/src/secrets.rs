//! The scan of stored records for secrets and personal data.

use std::collections::BTreeMap;

use memory_engine_core::{
    ErrorKind, Kind, PutMode, Record, RecordId, Result, ScanQuery, Scope, Write,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};
use memory_engine_screening::{Category, RecordField, RecordFinding, Screener, ScreeningRuleId, count_by_rule};
use serde::Serialize;

use crate::curation::{Curation, PAGE_ROWS};

/// Maximum number of records that a report lists.
const MAX_LISTED_RECORDS: usize = 1000;

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

impl Curation {
    /// Returns the categories that are masked or refused when records are written, or credentials if nothing is.
    #[must_use]
    pub fn screened_categories(&self) -> Vec<Category> {
        let screened = self.indexed_store().screener().map(|screener| screener.policy().screened_categories());
        let credentials = || Category::ALL.iter().copied().filter(|category| category.is_credential()).collect();
        screened.unwrap_or_else(credentials)
    }

    /// Returns a text as it would be stored within `scope`: truncated to the maximum length of a record, with its
    /// secrets masked, and the values that are kept out.
    ///
    /// # Errors
    /// The store's error.
    pub async fn mask_within(&self, scope: &Scope, mut text: String) -> Result<String> {
        text.truncate(text.floor_char_boundary(Record::MAX_TEXT_BYTES));
        self.indexed_store().masked_text(scope, text).await
    }

    /// Scans the stored records within `scope` for secrets of these categories, and masks them if `redacts` is true.
    /// Calls `on_progress` after each page of 500 records with the report so far.
    ///
    /// # Errors
    /// `Conflict` if others keep writing to the same record; the store's error. What was redacted before stays
    /// redacted, and the scan can be repeated.
    pub async fn scan_secrets(
        &self,
        scope: &Scope,
        categories: &[Category],
        redacts: bool,
        mut on_progress: impl FnMut(&SecretReport),
    ) -> Result<SecretReport> {
        let screener = Screener::of_categories(categories);
        let mut report = SecretReport::default();
        let mut pages = self.indexed_store().pages(scope, ScanQuery::oldest(PAGE_ROWS));
        while let Some(page) = pages.next().await? {
            for record in page.records {
                report.scanned += 1;
                let findings = screener.screen_record(&mut record.clone()).masked;
                if findings.is_empty() {
                    continue;
                }
                report.add(&record, &findings);
                if redacts && self.redact_record(&screener, &record.scope.namespace(), record.id).await? {
                    report.redacted += 1;
                }
            }
            on_progress(&report);
        }
        Ok(report)
    }

    /// Masks the secrets of a stored record. Returns false if it was removed or masked meanwhile, as records that are
    /// derived from a masked one are.
    async fn redact_record(&self, screener: &Screener, user: &Scope, id: RecordId) -> Result<bool> {
        let outcome = retry_on_conflict(WRITE_ATTEMPTS, || async {
            let Some(mut record) = self.indexed_store().get(user, id).await? else { return Ok(false) };
            if screener.screen_record(&mut record).is_clean() {
                return Ok(false);
            }
            let jobs = self.jobs_for(&record);
            let mode = PutMode::Update { revision: record.revision };
            // Names of entities are derived from the text. The job extracts them again.
            self.indexed_store().graph().delete(user, &[id]).await?;
            self.write(user, vec![Write { jobs, ..Write::new(record, mode) }]).await.map(|_| true)
        });
        match outcome.await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            outcome => outcome,
        }
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
