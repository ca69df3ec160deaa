//! The search for traces of deleted records through the contract of a store.

use std::collections::BTreeSet;

use super::RecordStore;
use crate::{
    error::Result,
    id::RecordId,
    residue::{PlaceKind, ResidueProbes, ResidueReport, SearchedPlace},
};

/// Number of ids of one call.
const PAGE_IDS: usize = 500;

/// Asks a store for the deleted records, for what is derived from them, and for their tombstones.
pub(super) async fn find_residue<S: RecordStore + ?Sized>(store: &S, probes: &ResidueProbes) -> Result<ResidueReport> {
    let mut report = ResidueReport::new("a store of the application");
    report.limits.push("tables, indexes and files of the store: it was searched through its calls only".to_owned());
    let mut records = SearchedPlace::new(PlaceKind::Table, "records");
    let mut derived = SearchedPlace::new(PlaceKind::Table, "derived records");
    let mut tombstones = SearchedPlace::new(PlaceKind::Table, "tombstones").with_kept_ids("a tombstone blocks the id");
    for namespace in probes.namespaces() {
        let probes = probes.records.iter().filter(|probe| probe.namespace == *namespace);
        let ids: Vec<RecordId> = probes.map(|probe| probe.id).collect();
        for page in ids.chunks(PAGE_IDS) {
            records.searched += page.len() as u64;
            records.ids += store.get(namespace, page).await?.iter().flatten().count() as u64;
            derived.searched += page.len() as u64;
            derived.ids += store.derived(namespace, page).await?.len() as u64;
        }
        let mut missing: BTreeSet<RecordId> = ids.into_iter().collect();
        let mut after = None;
        loop {
            let page = store.tombstones(namespace, after, PAGE_IDS).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            tombstones.searched += page.len() as u64;
            tombstones.ids += page.iter().map(|tombstone| u64::from(missing.remove(&tombstone.id))).sum::<u64>();
        }
        report.missing_tombstones.extend(missing);
    }
    report.places = vec![records, derived, tombstones];
    report.sort();
    Ok(report)
}
