//! Deletes records and certifies it.

use std::{collections::BTreeMap, time::Duration};

use memory_engine_core::{
    RecordId, Result, Scope,
    residue::{PlaceKind, ResidueProbes, ResidueReport, Salt, SearchExtent, SearchedPlace},
};
use serde_json::Value;

use super::{
    format::{
        ALGORITHM, CertifiedRecord, DeletionCertificate, DeletionTarget, FORMAT, RemovalSummary, StoreIdentity,
        TraceSearch, VERSION,
    },
    key::{CertificateKey, random_bytes},
    trace::{DeletionTrace, TracedRecords},
};
use crate::{
    curation::Curation,
    deletion::forget::{Forget, ForgetReport, ProgressFn},
};

/// Maximum number of searches. A slow reader may prevent for a moment that SQLite clears its log.
const MAX_SEARCHES: usize = 4;
/// Time between two searches.
const SEARCH_PAUSE: Duration = Duration::from_millis(500);

/// The result of `Deletion::forget_with_certificate`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CertifiedDeletion {
    /// The numbers of removed items.
    pub report: ForgetReport,
    /// The certificate. It may report traces that were found: see [`DeletionCertificate::is_clean`].
    pub certificate: DeletionCertificate,
}

impl Curation {
    /// Forgets records, searches the store for their traces, and signs a report of both.
    ///
    /// # Errors
    /// Those of [`forget`](Self::forget). If the search fails, the records are deleted, and the call can be repeated.
    pub async fn forget_and_certify(
        &self,
        scope: &Scope,
        target: Forget,
        key: &CertificateKey,
        extent: SearchExtent,
        on_progress: Option<ProgressFn>,
    ) -> Result<CertifiedDeletion> {
        let begun_at = self.clock().now();
        let salt = Salt::from_bytes(random_bytes()?);
        let mut trace = DeletionTrace::new(salt);
        let kind = match &target {
            Forget::Ids(ids) | Forget::Linked { ids, .. } => {
                trace.requested.extend(ids);
                DeletionTarget::Ids
            }
            Forget::Matching(_) => DeletionTarget::Matching,
            Forget::Text(text) if text.redact => DeletionTarget::Redaction,
            Forget::Text(_) => DeletionTarget::Text,
            Forget::Everything => DeletionTarget::Everything,
        };
        let pattern = match &target {
            Forget::Text(text) => Some(text.pattern()?),
            Forget::Ids(_) | Forget::Linked { .. } | Forget::Matching(_) | Forget::Everything => None,
        };
        let (report, trace) = self.forget_traced(scope, target, trace, on_progress).await?;
        let mut traced = trace.finish(self.record_store().as_ref(), scope).await?;
        traced.probes.extent = extent;
        let mut found = self.search_for_residue(&traced.probes).await?;
        if let Some(pattern) = pattern {
            // Bytes that a remaining record contains are no trace, and the value may be written in another way.
            let (searched, texts) = self.count_value(scope, &pattern).await?;
            let place = SearchedPlace::new(PlaceKind::Table, VALUE_PLACE).with_searched(searched);
            found.places.push(SearchedPlace { texts, ..place });
        }
        let residue = found.residue();
        let (probes, searched_at) = (&traced.probes, self.clock().now());
        let certificate = DeletionCertificate {
            format: FORMAT.to_owned(),
            version: VERSION,
            engine: concat!("memory-engine ", env!("CARGO_PKG_VERSION")).to_owned(),
            store: StoreIdentity { system: found.system, id: found.store_id },
            scope: scope.clone(),
            target: kind,
            begun_at,
            searched_at,
            removed: removed(&report)?,
            salt,
            records: records(scope, &traced),
            not_found: traced.not_found.clone(),
            search: TraceSearch {
                places: found.places,
                fragments: probes.fragments() as u64,
                short_texts: probes.short_texts(),
                missing_tombstones: found.missing_tombstones,
                remaining_copies: found.blocked_copies,
                remaining_statements: found.other_copies,
                limits: found.limits,
            },
            residue,
            algorithm: ALGORITHM.to_owned(),
            public_key: key.public_key().to_string(),
            signature: String::new(),
        };
        Ok(CertifiedDeletion { report, certificate: certificate.sign(key)? })
    }

    /// Searches the store, and indexes outside of its database. Searches again if only files have traces.
    async fn search_for_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        let separate = self.search_separate_indexes(probes).await?;
        let mut searches = 1;
        loop {
            let mut report = self.record_store().find_residue(probes).await?;
            let has_traces = |place: &SearchedPlace| place.residue() > 0;
            let mut dirty = report.places.iter().filter(|place| has_traces(place));
            let is_only_in_files = dirty.all(|place| place.kind == PlaceKind::File);
            if report.residue() == 0 || !is_only_in_files || searches == MAX_SEARCHES {
                report.places.extend(separate);
                report.limits.push(MEMORY_LIMIT.to_owned());
                return Ok(report);
            }
            searches += 1;
            tokio::time::sleep(SEARCH_PAUSE).await;
        }
    }

    /// Asks indexes outside of the database of the records to remove the records, which are already removed.
    async fn search_separate_indexes(&self, probes: &ResidueProbes) -> Result<Vec<SearchedPlace>> {
        if !self.indexed_store().has_separate_indexes() {
            return Ok(Vec::new());
        }
        let mut removed = memory_engine_core::RemovalCounts::default();
        for namespace in probes.namespaces() {
            let records = probes.records.iter().filter(|probe| probe.namespace == *namespace);
            let ids: Vec<RecordId> = records.map(|probe| probe.id).collect();
            removed += self.indexed_store().unindex(namespace, &ids).await?;
        }
        let counts = [
            ("keyword index", removed.keywords),
            ("vectors", removed.vectors),
            ("entities and relations", removed.mentions + removed.aliases + removed.relations),
        ];
        let place = |(name, count): (&str, u64)| SearchedPlace {
            ids: count,
            ..SearchedPlace::new(PlaceKind::Index, format!("{name} outside of the database"))
                .with_searched(probes.records.len() as u64)
        };
        Ok(counts.map(place).to_vec())
    }
}

/// The name of the search for the text itself, after a deletion by text.
const VALUE_PLACE: &str = "records of the scope (the text, however it is written)";
/// A limit of every search.
const MEMORY_LIMIT: &str = "the memory of running processes: an index in memory drops the records before its next \
    search, and a gateway may hold a turn that it has not stored yet";

/// Returns the records of a certificate, in the order of the probes.
fn records(scope: &Scope, traced: &TracedRecords) -> Vec<CertifiedRecord> {
    let of_probe = |(probe, kind): (&memory_engine_core::residue::ResidueProbe, &Option<memory_engine_core::Kind>)| {
        let user = probe.namespace.user_name().filter(|_| scope.user_name().is_none());
        CertifiedRecord {
            user: user.map(str::to_owned),
            id: probe.id,
            kind: kind.as_ref().map(|kind| kind.as_str().to_owned()),
            content: probe.content,
            derived: probe.cascade_deleted,
        }
    };
    traced.probes.records.iter().zip(&traced.kinds).map(of_probe).collect()
}

/// Returns every number of the report, under its name in the JSON of the report.
fn removed(report: &ForgetReport) -> Result<RemovalSummary> {
    let internal = |error: serde_json::Error| {
        memory_engine_core::Error::new(memory_engine_core::ErrorKind::Internal, "certificate", error.to_string())
    };
    let mut removed = RemovalSummary { records: report.removed.records.clone(), items: BTreeMap::new() };
    if let Value::Object(fields) = serde_json::to_value(report).map_err(internal)? {
        for (name, value) in fields {
            if let Some(count) = value.as_u64() {
                removed.items.insert(name, count);
            }
        }
    }
    Ok(removed)
}
