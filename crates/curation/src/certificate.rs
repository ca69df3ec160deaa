//! Signed certificates of deletions. `docs/reference/deletion-certificate.md` describes the format.

mod deletion;
mod format;
mod key;
pub(crate) mod trace;
mod verification;

pub use self::{
    deletion::CertifiedDeletion,
    format::{CertifiedRecord, DeletionCertificate, DeletionTarget, RemovalSummary, StoreIdentity, TraceSearch},
    key::{CertificateKey, PublicKey},
    verification::{CertificateCheck, CertificateVerification, verify_signature, verify_with},
};
pub use memory_engine_core::residue::{PlaceKind, Salt, SaltedHash, SearchExtent, SearchedPlace};
