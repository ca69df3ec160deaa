//! Compares a certificate with a store, a copy or a backup.

use std::collections::BTreeSet;

use memory_engine_core::{
    RecordId, Result, Scope,
    residue::{PlaceKind, ResidueProbes, ResidueReport, SearchedPlace},
};
use serde::Serialize;

use super::{format::DeletionCertificate, key::PublicKey};
use crate::curation::Curation;

const SIGNATURE_CHECK: &str = "signature";
const KEY_CHECK: &str = "public key";
/// Maximum number of names in the description of a check.
const MAX_NAMES: usize = 5;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CertificateVerification {
    /// The checks, in their order.
    pub checks: Vec<CertificateCheck>,
}

/// A check of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CertificateCheck {
    /// The name of the check.
    pub name: &'static str,
    /// True if it has passed.
    pub passed: bool,
    /// The result in words, such as the number of traces.
    pub detail: String,
}

impl CertificateVerification {
    /// Returns true if every check has passed.
    pub fn has_passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    /// Returns true if the signature fits the certificate, and no other key than the known one made it.
    fn is_authentic(&self) -> bool {
        self.checks.iter().all(|check| check.passed || ![SIGNATURE_CHECK, KEY_CHECK].contains(&check.name))
    }

    fn add(&mut self, name: &'static str, passed: bool, detail: impl Into<String>) {
        self.checks.push(CertificateCheck { name, passed, detail: detail.into() });
    }
}

/// Verifies a certificate. If its signature and its key are right, `find` searches for traces of the deleted records.
///
/// # Errors
/// `InvalidInput` if the key or a record of the certificate is not valid; those of `find`.
pub async fn verify_with(
    certificate: &DeletionCertificate,
    pinned: Option<&PublicKey>,
    find: impl AsyncFnOnce(ResidueProbes) -> Result<ResidueReport>,
) -> Result<CertificateVerification> {
    let mut verification = verify_signature(certificate, pinned)?;
    if verification.is_authentic() {
        check_store(&mut verification, certificate, &find(certificate.probes()?).await?);
    }
    Ok(verification)
}

/// Verifies the signature of a certificate, and compares its key with `pinned`.
///
/// # Errors
/// `InvalidInput` if the key of the certificate is not a key.
pub fn verify_signature(
    certificate: &DeletionCertificate,
    pinned: Option<&PublicKey>,
) -> Result<CertificateVerification> {
    let mut verification = CertificateVerification { checks: Vec::new() };
    let key = certificate.public_key()?;
    let is_signed = key.verifies(&certificate.signed_bytes()?, &certificate.signature);
    let signed = if is_signed { "the certificate is unchanged" } else { "the certificate was changed after signing" };
    verification.add(SIGNATURE_CHECK, is_signed, signed);
    match pinned {
        Some(pinned) if *pinned == key => verification.add(KEY_CHECK, true, "it is the expected key"),
        Some(_) => verification.add(KEY_CHECK, false, format!("another key has signed the certificate: {key}")),
        None => verification.add(KEY_CHECK, true, "not compared with a known key: anyone can sign with a new one"),
    }
    let search = &certificate.search;
    let dirty = search.places.iter().filter(|place| place.residue() > 0);
    let names = list(dirty.map(|place| place.name.clone()));
    let detail = match (certificate.is_clean(), search.missing_tombstones.len()) {
        (true, _) => "no trace was found when the records were deleted".to_owned(),
        (false, 0) => format!("{} traces remained when the records were deleted: {names}", certificate.residue),
        (false, missing) => format!("{} traces remained, and {missing} tombstones were missing", certificate.residue),
    };
    verification.add("deletion", certificate.is_clean(), detail);
    Ok(verification)
}

impl Curation {
    /// Verifies a certificate against the rows that its users have in the store.
    ///
    /// # Errors
    /// `Unauthorized` if the certificate names a record outside of `scope`; otherwise as [`verify_with`].
    pub async fn verify_in_store(
        &self,
        scope: &Scope,
        certificate: &DeletionCertificate,
        pinned: Option<&PublicKey>,
    ) -> Result<CertificateVerification> {
        scope.authorize("verify certificate", &certificate.scope)?;
        let probes = certificate.probes()?;
        for namespace in probes.namespaces() {
            scope.authorize("verify certificate", namespace)?;
        }
        verify_with(certificate, pinned, async |probes| self.record_store().find_residue(&probes).await).await
    }
}

/// Tells whether a place belongs to a check.
type IsMember<'f> = &'f dyn Fn(&SearchedPlace) -> bool;

/// Adds the checks of a store.
fn check_store(verification: &mut CertificateVerification, certificate: &DeletionCertificate, found: &ResidueReport) {
    let id = certificate.store.id.as_deref();
    let (is_same, system) = (id.is_some() && id == found.store_id.as_deref(), &found.system);
    let store = if is_same { "the store of the certificate, or a copy of it" } else { "another store" };
    verification.add("store", true, format!("{system}: {store}"));
    let is_queue = |place: &SearchedPlace| place.name.starts_with("jobs");
    let groups: [(&'static str, IsMember<'_>); 4] = [
        ("tables", &|place| matches!(place.kind, PlaceKind::Table | PlaceKind::Memory) && !is_queue(place)),
        ("indexes", &|place| place.kind == PlaceKind::Index && !is_queue(place)),
        ("queue", &|place| is_queue(place)),
        ("files", &|place| place.kind == PlaceKind::File),
    ];
    for (name, is_member) in groups {
        let places: Vec<&SearchedPlace> = found.places.iter().filter(|place| is_member(place)).collect();
        let searched = places.iter().filter(|place| place.not_searched.is_none()).count();
        let traces: u64 = places.iter().map(|place| place.residue()).sum();
        let detail = if traces == 0 {
            let others = places.len() - searched;
            let others = if others > 0 { format!(", {others} not searched themselves") } else { String::new() };
            format!("no trace in {searched} searched{others}")
        } else {
            let dirty = places.iter().filter(|place| place.residue() > 0);
            format!("{traces} traces in {}", list(dirty.map(|place| place.name.clone())))
        };
        verification.add(name, traces == 0, detail);
    }
    let known: BTreeSet<RecordId> = certificate.search.remaining_copies.iter().copied().collect();
    let new = found.blocked_copies.iter().filter(|id| !known.contains(id));
    let new: Vec<String> = new.map(RecordId::to_string).collect();
    let is_free = new.is_empty();
    let detail = match new.len() {
        0 if known.is_empty() => "no imported or derived record has the content of a deleted one".to_owned(),
        0 => format!("no new record has the content of a deleted one; {} had it before the deletion", known.len()),
        count => format!("{count} imported or derived records have the content of a deleted one: {}", list(new)),
    };
    verification.add("contents", is_free, detail);
    let (missing, all) = (found.missing_tombstones.len(), certificate.records.len());
    let names = list(found.missing_tombstones.iter().map(RecordId::to_string));
    let detail = match missing {
        0 => format!("all {all} deleted records have a tombstone"),
        _ => {
            format!("{missing} of {all} deleted records have no tombstone, so that an import can restore them: {names}")
        }
    };
    verification.add("tombstones", missing == 0, detail);
}

/// Lists the first names.
fn list(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = names.into_iter().collect();
    let first = names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
