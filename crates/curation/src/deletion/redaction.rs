//! Replaces a value in stored records.

use std::collections::BTreeMap;

use memory_engine_core::{
    ContentHash, Job, PutMode, Record, RecordId, Result, Scope, Tombstone, Write,
    audit::{AuditAction, AuditContext, in_context},
    history::{Edit, block_redacted},
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};
use memory_engine_screening::ValuePattern;

use crate::{curation::Curation, deletion::forget::Affected};

/// The writes that replace a value.
#[derive(Default)]
struct Redaction {
    /// The masked records, and unchanged records derived from them: without a write, the store would delete them with
    /// their sources.
    writes: Vec<Write>,
    /// Tombstones of the replaced texts, which block imports and derivations of them.
    tombstones: Vec<Tombstone>,
    /// The records before they were masked.
    before: Vec<Record>,
    /// The records whose words in the graph may be those of the value.
    renamed: Vec<RecordId>,
    /// Those of them from which entities are extracted.
    requeued: Vec<RecordId>,
    /// Records that exceed the size limit once `[deleted]` is inserted. The caller deletes them.
    too_large: Vec<RecordId>,
}

impl Curation {
    /// Replaces a value in these records of a user, and in those derived from them, in one transaction. The records
    /// keep their history, with the value masked. The replaced texts are blocked before this transaction; entities in a
    /// separate store are deleted after it. Returns the ids of records that exceed the size limit once `[deleted]` is
    /// inserted. The caller deletes them.
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
                let writes = std::mem::take(&mut redaction.writes);
                let context = AuditContext::current().with_verb(AuditAction::Redact, "forget");
                self.record_store().import_tombstones(user, &redaction.tombstones).await?;
                in_context(context, Box::pin(self.indexed_store().write_screened(user, writes))).await?;
            }
            Ok(redaction)
        });
        let redaction = redaction.await?;
        if !redaction.renamed.is_empty() {
            // Names of entities are derived from the text. After the write, so that none is lost if it fails. The job
            // of the write may have run before the deletion, and is queued again.
            self.indexed_store().graph().delete(user, &redaction.renamed).await?;
            self.indexed_store().queue().enqueue(user, &redaction.requeued, Job::Graph).await?;
            self.indexed_store().wake();
        }
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
            let mut is_renamed = false;
            if pattern.mask_record(&mut masked, &mut |_, _| ()) > 0 {
                let replaced = replaced_contents(&record, pattern);
                block_redacted(&mut masked, &replaced);
                if masked.validate().is_err() {
                    redaction.too_large.push(record.id);
                    continue;
                }
                masked.revision += 1;
                is_renamed = (&masked.text, &masked.speaker) != (&record.text, &record.speaker);
                let tombstones = replaced.into_iter().map(|content| self.redacted_tombstone(&record, content));
                redaction.tombstones.extend(tombstones);
                redaction.before.push(record);
            }
            let jobs: Vec<Job> = self.jobs_for(&masked).into_iter().filter(|job| *job == Job::Graph).collect();
            if is_renamed {
                redaction.renamed.push(masked.id);
                redaction.requeued.extend(jobs.iter().map(|_| masked.id));
            }
            // A replica keeps its history as it is, and no tombstone blocks its content.
            redaction.writes.push(Write { jobs, ..Write::new(masked, PutMode::Replica { replaces }) });
        }
        Ok(redaction)
    }

    /// Returns the tombstone of a text of a record, under an id of its own: the record stays.
    fn redacted_tombstone(&self, record: &Record, content: ContentHash) -> Tombstone {
        let id = RecordId::named(&record.scope, &format!("redacted/{content}"));
        Tombstone::new(id, record.scope.clone(), content, self.clock().now())
    }

    /// Returns the number of records within a scope, and the number of those that contain a value.
    #[cfg(feature = "certificates")]
    pub(crate) async fn count_value(&self, scope: &Scope, pattern: &ValuePattern) -> Result<(u64, u64)> {
        use memory_engine_core::ScanQuery;

        use crate::curation::PAGE_ROWS;

        let mut pages = self.indexed_store().pages(scope, ScanQuery::oldest(PAGE_ROWS));
        let (mut count, mut found) = (0, 0);
        while let Some(page) = pages.next().await? {
            count += page.records.len() as u64;
            found += page.records.iter().filter(|record| pattern.is_in(record)).count() as u64;
        }
        Ok((count, found))
    }
}

/// Returns the hashes of the present and former texts of a record that contain a value.
fn replaced_contents(record: &Record, pattern: &ValuePattern) -> Vec<ContentHash> {
    let former = Edit::all_of(record).into_iter().map(|edit| edit.text);
    let texts = former.chain([record.text.clone()]).filter(|text| !pattern.find(text).is_empty());
    texts.map(|text| ContentHash::of(&text)).collect()
}
