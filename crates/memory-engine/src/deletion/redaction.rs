//! Replaces a value in stored records.

use std::collections::BTreeMap;

use memory_engine_core::{
    Job, PutMode, Record, RecordId, Result, Scope, Write,
    audit::{AuditAction, AuditContext, in_context},
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};
use memory_engine_screening::ValuePattern;

use crate::{engine::MemoryEngine, verbs::forget::Affected};

/// The writes that replace a value.
#[derive(Default)]
struct Redaction {
    /// The masked records, and the others of the page, which would be deleted with the old text of their sources.
    writes: Vec<Write>,
    /// The records before they were masked.
    before: Vec<Record>,
    /// The records whose words in the graph may be those of the value.
    renamed: Vec<RecordId>,
    /// The records that are too large with the mark.
    too_large: Vec<RecordId>,
}

impl MemoryEngine {
    /// Replaces a value in these records of a user, and in those derived from them, in one transaction. The records
    /// keep their history, with the value masked. Returns the ids of records that are too large with the mark, which
    /// have to be deleted.
    pub(crate) async fn redact_page(
        &self,
        user: &Scope,
        ids: &[RecordId],
        pattern: &ValuePattern,
        affected: &mut Affected,
    ) -> Result<Vec<RecordId>> {
        let redaction = retry_on_conflict(WRITE_ATTEMPTS, || async {
            let mut redaction = self.plan_redaction(user, ids, pattern).await?;
            if !redaction.before.is_empty() {
                // Names of entities are derived from the text. The job extracts them again.
                self.indexed_store().graph().delete(user, &redaction.renamed).await?;
                let writes = std::mem::take(&mut redaction.writes);
                let context = AuditContext::current().with_verb(AuditAction::Redact, "forget");
                in_context(context, Box::pin(self.indexed_store().write_screened(user, writes))).await?;
            }
            Ok(redaction)
        });
        let redaction = redaction.await?;
        let count = redaction.before.len() as u64;
        affected.redacted += count;
        affected.add_progress(count);
        #[cfg(feature = "certificates")]
        if let Some(trace) = &mut affected.trace {
            redaction.before.into_iter().for_each(|record| trace.add_redacted(record, pattern));
        }
        Ok(redaction.too_large)
    }

    async fn plan_redaction(&self, user: &Scope, ids: &[RecordId], pattern: &ValuePattern) -> Result<Redaction> {
        let stored = self.indexed_store().get_all(user, ids).await?;
        let derived = self.indexed_store().get_derived(user, ids).await?;
        let records: BTreeMap<RecordId, Record> =
            stored.into_iter().flatten().chain(derived).map(|record| (record.id, record)).collect();
        let mut redaction = Redaction::default();
        for record in records.into_values() {
            let mut masked = record.clone();
            let replaces = record.revision;
            if pattern.mask_record(&mut masked, &mut |_, _| ()) > 0 {
                if masked.validate().is_err() {
                    redaction.too_large.push(record.id);
                    continue;
                }
                masked.revision += 1;
                if (&masked.text, &masked.speaker) != (&record.text, &record.speaker) {
                    redaction.renamed.push(record.id);
                }
                redaction.before.push(record);
            }
            let jobs = self.jobs_for(&masked).into_iter().filter(|job| *job == Job::Graph).collect();
            // A replica keeps its history as it is, and no tombstone blocks its content.
            redaction.writes.push(Write { jobs, ..Write::new(masked, PutMode::Replica { replaces }) });
        }
        Ok(redaction)
    }

    /// Returns the number of records within a scope, and the number of those that contain a value.
    #[cfg(feature = "certificates")]
    pub(crate) async fn count_value(&self, scope: &Scope, pattern: &ValuePattern) -> Result<(u64, u64)> {
        use memory_engine_core::ScanQuery;

        let mut query = ScanQuery::oldest(crate::verbs::forget::PAGE_ROWS);
        let (mut count, mut found) = (0, 0);
        loop {
            let page = self.indexed_store().scan(scope, &query).await?;
            count += page.records.len() as u64;
            found += page.records.iter().filter(|record| pattern.is_in(record)).count() as u64;
            query.after = page.next;
            if query.after.is_none() {
                return Ok((count, found));
            }
        }
    }
}
