//! A snapshot of one store for a merge: its records without their texts, and its tombstones.

use std::collections::BTreeMap;

use memory_engine_core::{
    ContentHash, Error, ErrorKind, Kind, Record, RecordId, Result, ScanQuery, Scope, SortedJson, State, Tombstone,
    Trust,
};
use memory_engine_curation::{Curation, RETRACTION};
use serde_json::Value;

use crate::transfer::PAGE_RECORDS;

/// Fields that are not compared.
const NOT_CONTENT: [&str; 2] = ["recorded_at", "revision"];

/// A record of one store, without its text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Version {
    pub(super) scope: Scope,
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) trust: Trust,
    pub(super) revision: u64,
    pub(super) content_hash: ContentHash,
    /// Hash of everything that a caller sets.
    pub(super) digest: [u8; 32],
    pub(super) derived_from: Vec<RecordId>,
    /// The retraction that revoked the record.
    pub(super) retraction: Option<String>,
}

/// The records and tombstones of one user in one store.
#[derive(Debug, Default)]
pub(super) struct StoreSnapshot {
    pub(super) records: BTreeMap<RecordId, Version>,
    pub(super) tombstones: BTreeMap<RecordId, Tombstone>,
    /// The ledger entries of each retraction that can be restored.
    pub(super) retractions: BTreeMap<String, Vec<RecordId>>,
}

impl StoreSnapshot {
    /// Reads the records and tombstones of a user, or of a tenant without those of its users.
    pub(super) async fn read(curation: &Curation, scope: &Scope, on_page: &mut dyn FnMut(u64)) -> Result<Self> {
        let mut snapshot = Self::default();
        // Also expired records that are not deleted yet: the other snapshot may have prolonged them.
        let mut pages = curation.indexed_store().pages(scope, ScanQuery::oldest(PAGE_RECORDS));
        while let Some(page) = pages.next().await? {
            on_page(page.records.len() as u64);
            for record in page.records.iter().filter(|record| record.scope.namespace() == *scope) {
                snapshot.add(record)?;
            }
        }
        let mut last: Option<RecordId> = None;
        loop {
            let page = curation.indexed_store().records().tombstones(scope, last, PAGE_RECORDS).await?;
            let Some(end) = page.last().map(|tombstone| tombstone.id) else { return Ok(snapshot) };
            last = Some(end);
            let of_user = page.into_iter().filter(|tombstone| tombstone.scope.namespace() == *scope);
            snapshot.tombstones.extend(of_user.map(|tombstone| (tombstone.id, tombstone)));
        }
    }

    fn add(&mut self, record: &Record) -> Result<()> {
        if record.kind == Kind::FORGETTING {
            let message = format!(
                "everything at {} was to be forgotten, and that was interrupted; run `memory forget --everything` \
                 there again before the merge",
                record.scope
            );
            return Err(Error::new(ErrorKind::Conflict, "merge", message));
        }
        if record.kind == Kind::ledger("retraction")
            && record.metadata.contains_key("records")
            && let Some(id) = retraction_of(record)
        {
            self.retractions.entry(id).or_default().push(record.id);
        }
        self.records.insert(record.id, Version::of(record)?);
        Ok(())
    }

    /// Returns true if the store has this retraction, or had it and restored its records. `entries` are the ledger
    /// entries of the other store.
    pub(super) fn has_seen(&self, retraction: &str, entries: &[RecordId]) -> bool {
        self.retractions.contains_key(retraction) || entries.iter().any(|id| self.tombstones.contains_key(id))
    }
}

impl Version {
    pub(super) fn of(record: &Record) -> Result<Self> {
        let is_revoked = record.state == State::Revoked && !record.kind.is_ledger();
        Ok(Self {
            scope: record.scope.clone(),
            kind: record.kind.clone(),
            state: record.state,
            trust: record.trust,
            revision: record.revision,
            content_hash: record.content_hash(),
            digest: digest(record)?,
            derived_from: record.derived_from.clone(),
            retraction: is_revoked.then(|| retraction_of(record)).flatten(),
        })
    }
}

fn retraction_of(record: &Record) -> Option<String> {
    record.metadata.get(RETRACTION).and_then(Value::as_str).map(str::to_owned)
}

fn digest(record: &Record) -> Result<[u8; 32]> {
    let failed = |e| Error::new(ErrorKind::Internal, "merge", "a record cannot be written as JSON").with_source(e);
    let mut value = serde_json::to_value(record).map_err(failed)?;
    let Some(fields) = value.as_object_mut() else { return Ok([0; 32]) };
    fields.retain(|name, _| !NOT_CONTENT.contains(&name.as_str()));
    let json = serde_json::to_vec(&SortedJson(fields)).map_err(failed)?;
    Ok(*blake3::hash(&json).as_bytes())
}

/// Returns the names of the fields in which two records differ.
pub(super) fn differences(source: &Record, target: &Record) -> Vec<String> {
    let fields = |record: &Record| match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => serde_json::Map::new(),
    };
    let target = fields(target);
    let mut names: Vec<String> = fields(source)
        .into_iter()
        .filter(|(name, value)| !NOT_CONTENT.contains(&name.as_str()) && target.get(name) != Some(value))
        .map(|(name, _)| name)
        .collect();
    names.sort();
    names
}
