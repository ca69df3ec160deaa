//! Collects the records of a deletion while their texts are still there.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    ContentHash, Field, Filter, FilterValue, Kind, Record, RecordId, RecordStore, Result, ScanQuery, Scope, Tombstone,
    residue::{ResidueProbe, ResidueProbes, Salt},
};
use memory_engine_screening::ValuePattern;

/// Number of tombstones that are read at once.
const PAGE_TOMBSTONES: usize = 1000;

/// The deleted records, by user and id.
#[derive(Debug)]
pub(crate) struct DeletionTrace {
    salt: Salt,
    texts: ResidueProbes,
    candidates: BTreeMap<(Scope, RecordId), (Kind, ContentHash)>,
    /// The ids that the caller requested, and those that the store reports as deleted.
    pub(super) requested: BTreeSet<RecordId>,
    deleted: BTreeSet<RecordId>,
}

/// The deleted records as a certificate lists them.
pub(super) struct TracedRecords {
    pub(super) probes: ResidueProbes,
    /// The kinds, in the order of the probes; `None` for a record that was deleted earlier.
    pub(super) kinds: Vec<Option<Kind>>,
    pub(super) not_found: Vec<RecordId>,
}

impl DeletionTrace {
    pub(super) fn new(salt: Salt) -> Self {
        Self {
            salt,
            texts: ResidueProbes::new(salt, Vec::new()),
            candidates: BTreeMap::new(),
            requested: BTreeSet::new(),
            deleted: BTreeSet::new(),
        }
    }

    /// Adds the records with these ids, and those derived from them, before they are deleted.
    pub(crate) async fn add_page(&mut self, store: &dyn RecordStore, scope: &Scope, ids: &[RecordId]) -> Result<()> {
        // Several users of the scope may have a record with the same id.
        let query = |ids: &[RecordId]| {
            let ids = ids.iter().map(|id| FilterValue::from(id.to_string()));
            ScanQuery::oldest(usize::MAX).with_filter(Filter::any_of(Field::Id, ids))
        };
        let mut ids_by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        let page = store.scan(scope, &query(ids)).await?;
        for record in page.records {
            ids_by_user.entry(record.scope.namespace()).or_default().push(record.id);
            self.add(&record);
        }
        // Their texts are not searched for, because they cannot be read.
        for record in page.damaged {
            ids_by_user.entry(scope.namespace()).or_default().push(record.id);
        }
        for (user, ids) in ids_by_user {
            let derived = store.derived(&user, &ids).await?;
            if derived.is_empty() {
                continue;
            }
            store.scan(&user, &query(&derived)).await?.records.iter().for_each(|record| self.add(record));
        }
        Ok(())
    }

    fn add(&mut self, record: &Record) {
        let key = (record.scope.namespace(), record.id);
        // A record may be requested, and be derived from another one.
        if self.candidates.insert(key, (record.kind.clone(), record.content_hash())).is_none() {
            self.texts.add_texts(record);
        }
    }

    /// Adds the places of a value in a record, which was replaced there.
    pub(crate) fn add_redacted(&mut self, mut record: Record, pattern: &ValuePattern) {
        let user = record.scope.namespace();
        pattern.mask_record(&mut record, &mut |text, value| self.texts.add_value(&user, text, value));
    }

    /// Adds the ids that the store has deleted.
    pub(crate) fn add_deleted(&mut self, ids: &[RecordId]) {
        self.deleted.extend(ids);
    }

    /// Returns the deleted records. The tombstones tell which they are, and whether they were cascade-deleted. A record
    /// without a tombstone is included as well.
    pub(super) async fn finish(self, store: &dyn RecordStore, scope: &Scope) -> Result<TracedRecords> {
        let Self { salt, mut texts, candidates, requested, deleted } = self;
        let wanted: BTreeSet<RecordId> = requested.union(&deleted).copied().collect();
        let mut users: BTreeSet<Scope> = candidates.keys().map(|(user, _)| user.clone()).collect();
        users.insert(scope.namespace());
        let mut tombstones: BTreeMap<(Scope, RecordId), Tombstone> = BTreeMap::new();
        for user in &users {
            for tombstone in read_tombstones(store, user, &wanted).await? {
                tombstones.insert((tombstone.scope.namespace(), tombstone.id), tombstone);
            }
        }
        let mut records: BTreeMap<ResidueProbe, Option<Kind>> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for ((namespace, id), tombstone) in &tombstones {
            // A requested id may have been deleted by an earlier call, at an address that this scope covers.
            let kind = candidates.get(&(namespace.clone(), *id)).map(|(kind, _)| kind.clone());
            if kind.is_none() && !deleted.contains(id) && !scope.covers(&tombstone.scope) {
                continue;
            }
            let content = salt.hash(&tombstone.content_hash);
            let probe = ResidueProbe {
                namespace: namespace.clone(),
                id: *id,
                content,
                cascade_deleted: tombstone.cascade_deleted,
            };
            found.insert(*id);
            records.insert(probe, kind);
        }
        for ((namespace, id), (kind, content)) in candidates {
            if deleted.contains(&id) && !tombstones.contains_key(&(namespace.clone(), id)) {
                found.insert(id);
                let content = salt.hash(&content);
                records.insert(ResidueProbe { namespace, id, content, cascade_deleted: false }, Some(kind));
            }
        }
        let (probes, kinds): (Vec<_>, Vec<_>) = records.into_iter().unzip();
        texts.set_records(probes);
        Ok(TracedRecords { probes: texts, kinds, not_found: requested.difference(&found).copied().collect() })
    }
}

/// Returns the tombstones of these ids within a scope.
async fn read_tombstones(
    store: &dyn RecordStore,
    scope: &Scope,
    wanted: &BTreeSet<RecordId>,
) -> Result<Vec<Tombstone>> {
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return Ok(Vec::new()) };
    // The page begins after an id, and so after the one before the first.
    let before = u128::from_be_bytes(*first.as_bytes()).checked_sub(1);
    let mut after = before.map(|number| RecordId::from_bytes(number.to_be_bytes()));
    let mut found = Vec::new();
    loop {
        let page = store.tombstones(scope, after, PAGE_TOMBSTONES).await?;
        let end = page.last().map(|tombstone| tombstone.id);
        found.extend(page.into_iter().filter(|tombstone| wanted.contains(&tombstone.id)));
        match end {
            Some(end) if end < *last => after = Some(end),
            _ => return Ok(found),
        }
    }
}
