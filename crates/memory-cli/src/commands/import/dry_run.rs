//! Dry run of an import: counts the records that it would add, replace or refuse.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use jiff::tz::TimeZone;
use memory_engine::{MemoryEngine, PutMode, Record, RecordId, Scope, store::ContentHash};

use super::report::FileImportReport;
use crate::output;

/// Maximum number of samples of each kind.
const MAX_SAMPLES: usize = 3;
/// Number of tombstones of one page.
const PAGE_TOMBSTONES: usize = 1000;

/// The state of the store during a dry run, and the records that an import would add.
#[derive(Debug)]
pub(super) struct DryRun {
    /// The zone of the times in samples.
    zone: TimeZone,
    forgotten: BTreeSet<RecordId>,
    forgotten_texts: BTreeSet<(Scope, String)>,
    seen: BTreeMap<RecordId, ContentHash>,
    /// Number of records of each kind, and the first of them.
    kinds: BTreeMap<String, (u64, Vec<String>)>,
    users: BTreeSet<String>,
}

impl DryRun {
    /// Reads the tombstones of a tenant.
    pub(super) async fn new(engine: &MemoryEngine, scope: &Scope, zone: TimeZone) -> Result<Self> {
        let tenant = Scope::tenant_wide(scope.tenant())?;
        let mut dry_run = Self {
            zone,
            forgotten: BTreeSet::new(),
            forgotten_texts: BTreeSet::new(),
            seen: BTreeMap::new(),
            kinds: BTreeMap::new(),
            users: BTreeSet::new(),
        };
        let mut after = None;
        loop {
            let page = engine.admin().tombstones(&tenant, after, PAGE_TOMBSTONES).await?;
            after = page.last().map(|tombstone| tombstone.id);
            if after.is_none() {
                return Ok(dry_run);
            }
            for tombstone in page {
                dry_run.forgotten.insert(tombstone.id);
                // Cascade-deleted records may be derived again; records that a user deleted may not.
                if !tombstone.cascade_deleted {
                    let text = (tombstone.scope.namespace(), tombstone.content_hash.to_string());
                    dry_run.forgotten_texts.insert(text);
                }
            }
        }
    }

    /// Counts the outcomes of importing these records.
    pub(super) async fn count_outcomes(
        &mut self,
        engine: &MemoryEngine,
        mode: PutMode,
        records: Vec<Record>,
        report: &mut FileImportReport,
    ) -> Result<()> {
        for record in records {
            let hash = stored_hash(engine, &record);
            let stored = engine.get(&record.scope.namespace(), record.id).await?.map(|stored| stored.content_hash());
            let text = (record.scope.namespace(), hash.to_string());
            match self.seen.get(&record.id).copied().or(stored) {
                _ if self.forgotten.contains(&record.id) => report.forgotten += 1,
                None if self.forgotten_texts.contains(&text) => report.forgotten += 1,
                None => {
                    report.added += 1;
                    self.add_sample(&record);
                }
                Some(existing) if mode == PutMode::Upsert && existing != hash => report.updated += 1,
                Some(existing) => {
                    report.unchanged += 1;
                    report.different += u64::from(existing != hash);
                }
            }
            self.seen.insert(record.id, hash);
        }
        Ok(())
    }

    fn add_sample(&mut self, record: &Record) {
        let (count, samples) = self.kinds.entry(record.kind.to_string()).or_default();
        *count += 1;
        if samples.len() < MAX_SAMPLES {
            let time = record.occurred_at.in_zone(&self.zone);
            let speaker = record.speaker.as_deref().or(record.role.as_ref().map(|role| role.as_str())).unwrap_or("");
            let speaker =
                if speaker.is_empty() { String::new() } else { format!("{}: ", output::shorten(speaker, 40)) };
            let text = output::shorten(&record.text, 100);
            samples.push(format!("{} [{}] {speaker}{text}", time.strftime("%Y-%m-%d %H:%M"), record.scope));
        }
        self.users.extend(record.scope.user_name().map(str::to_owned));
    }

    /// Returns the result as lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, (count, samples)) in &self.kinds {
            lines.push(format!("{} of kind {kind}, for example:", output::counted(*count, "record", "records")));
            lines.extend(samples.iter().map(|sample| format!("  {sample}")));
        }
        lines
    }

    /// Returns the result as JSON.
    pub(super) fn data(&self) -> serde_json::Value {
        let kinds: BTreeMap<&str, _> = self
            .kinds
            .iter()
            .map(|(kind, (count, samples))| (kind.as_str(), serde_json::json!({ "count": count, "samples": samples })))
            .collect();
        serde_json::json!({ "users": self.users, "kinds": kinds })
    }
}

/// Returns the content hash of a record as it would be stored: with its secrets masked.
pub(super) fn stored_hash(engine: &MemoryEngine, record: &Record) -> ContentHash {
    ContentHash::of(&engine.screening().mask(record.text.as_str()))
}
