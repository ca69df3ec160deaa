//! Signed certificates of deletions. Needs the feature `certificates`.
//!
//! `Deletion::forget_with_certificate` deletes records, searches
//! the store for their traces, and signs a report of the deletion and the search with Ed25519. A certificate contains
//! scopes with their names, ids, kinds, counts and salted hashes, but no text. [`verify`] compares it with a store, a
//! copy or a backup. `docs/reference/deletion-certificate.md` describes the format.
//!
//! ```
//! use memory_engine::{Database, MemoryEngine, Scope, certificate::{self, CertificateKey, SearchExtent}};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("memory.db");
//! let memory = MemoryEngine::builder().sqlite(&path).build().await?;
//! let lin = Scope::user("lin")?;
//! let id = memory.remember(&lin, "My locker code is 4711, do not tell anyone.").await?;
//!
//! let key = CertificateKey::generate()?; // store `key.to_pem()` in a safe place
//! let deletion = memory.deletion().forget_with_certificate(&lin, id, &key, SearchExtent::Database).await?;
//! assert!(deletion.certificate.is_clean());
//!
//! let checked = certificate::verify(&deletion.certificate, &Database::file(path), Some(&key.public_key())).await?;
//! assert!(checked.has_passed());
//! # Ok::<(), memory_engine::Error>(()) }).unwrap();
//! ```

use memory_engine_core::{Result, residue::ResidueProbes};
use memory_engine_curation::certificate::verify_with;
use memory_engine_databases::{Database, find_residue};

pub use memory_engine_curation::certificate::{
    CertificateCheck, CertificateKey, CertificateVerification, CertifiedDeletion, CertifiedRecord, DeletionCertificate,
    DeletionTarget, PlaceKind, PublicKey, RemovalSummary, Salt, SaltedHash, SearchExtent, SearchedPlace, StoreIdentity,
    TraceSearch, verify_signature,
};

/// Verifies a certificate against a database, which can be the store, a copy or a backup of it. Changes nothing. If the
/// signature or the key is wrong, the database is not searched.
///
/// # Errors
/// Those of `admin::check_health`. A check that fails is no error: see
/// [`CertificateVerification::has_passed`].
pub async fn verify(
    certificate: &DeletionCertificate,
    database: &Database,
    pinned: Option<&PublicKey>,
) -> Result<CertificateVerification> {
    let find = async |probes: ResidueProbes| find_residue(database, &probes.with_extent(SearchExtent::Database)).await;
    verify_with(certificate, pinned, find).await
}
