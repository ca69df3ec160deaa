//! The format of a certificate: JSON, signed over its sorted form.

use std::collections::BTreeMap;

use memory_engine_core::{
    Error, RecordId, Result, Scope, SortedJson, Timestamp,
    residue::{ResidueProbe, ResidueProbes, Salt, SaltedHash, SearchedPlace},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::key::{CertificateKey, PublicKey};

/// The value of `format`.
pub(super) const FORMAT: &str = "memory-engine deletion certificate";
/// The version of the format.
pub(super) const VERSION: u32 = 1;
pub(super) const ALGORITHM: &str = "Ed25519";
/// The field that the signature does not cover.
const SIGNATURE: &str = "signature";

/// A signed report of a deletion. It contains no text of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DeletionCertificate {
    /// `memory-engine deletion certificate`.
    pub format: String,
    /// The version of the format: 1.
    pub version: u32,
    /// The name and version of the program.
    pub engine: String,
    /// The store.
    pub store: StoreIdentity,
    /// The scope of the deletion.
    pub scope: Scope,
    /// The selection of the records to delete.
    pub target: DeletionTarget,
    /// The time at which the deletion began.
    pub begun_at: Timestamp,
    /// The time at which the search ended.
    pub searched_at: Timestamp,
    /// The numbers of removed items.
    pub removed: RemovalSummary,
    /// The salt of the hashes of contents.
    pub salt: Salt,
    /// The deleted records. For [`DeletionTarget::Ids`] also those that an earlier call had deleted.
    pub records: Vec<CertifiedRecord>,
    /// Requested ids without a record and without a tombstone.
    pub not_found: Vec<RecordId>,
    /// The search for traces, after the deletion.
    pub search: TraceSearch,
    /// Number of traces that should not be there. [`is_clean`](Self::is_clean) requires 0.
    pub residue: u64,
    /// `Ed25519`.
    pub algorithm: String,
    /// The public key: 32 bytes in base64.
    pub public_key: String,
    /// The signature in base64. It covers all other fields, as JSON without white space, with sorted keys.
    pub signature: String,
}

/// The identity of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreIdentity {
    /// The database system and its version.
    pub system: String,
    /// The id of the database, if it has one. A copy of a file has the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The selection of the records to delete. Filters and texts are not written into the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeletionTarget {
    /// Records by id.
    Ids,
    /// The records that match a filter.
    Matching,
    /// The records that contain a text.
    Text,
    /// A text, which was replaced in the records that contain it.
    Redaction,
    /// Everything within the scope.
    Everything,
}

/// The numbers of removed items.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovalSummary {
    /// Records of each kind.
    pub records: BTreeMap<String, u64>,
    /// Items of each other sort: index entries, vectors, rows of the graph, jobs, synonyms, tombstones (new ones).
    pub items: BTreeMap<String, u64>,
}

/// A deleted record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedRecord {
    /// The user, if the scope of the deletion has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The id.
    pub id: RecordId,
    /// The kind; `None` for a record that an earlier call had deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The salted hash of the content.
    pub content: SaltedHash,
    /// True for a record that was derived from a deleted one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
}

/// The search for traces of the deleted records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSearch {
    /// The searched places with the number of traces in each.
    pub places: Vec<SearchedPlace>,
    /// Number of fragments of texts that were searched for.
    pub fragments: u64,
    /// Number of texts that are too short, or have too few different characters, to be searched for as bytes. Their ids
    /// and hashes were searched for.
    pub short_texts: u64,
    /// Deleted records without a tombstone.
    pub missing_tombstones: Vec<RecordId>,
    /// Other records with the same content as a deleted one, which remain. They are imported or derived.
    pub remaining_copies: Vec<RecordId>,
    /// Number of remaining statements of a person, a model or a tool with the same content as a deleted record.
    pub remaining_statements: u64,
    /// The limits of the search, as sentences.
    pub limits: Vec<String>,
}

impl DeletionCertificate {
    /// Reads a certificate. Does not verify its signature.
    ///
    /// # Errors
    /// `InvalidInput` for another file, a version that this program does not know, or values that are written in
    /// another way than a certificate does, such as a time without a time zone: other programs verify what is written.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |message: String| Error::invalid("certificate", message);
        let certificate: Self = serde_json::from_str(text)
            .map_err(|error| invalid(format!("this is not a deletion certificate: {error}")))?;
        let Self { format, version, algorithm, .. } = &certificate;
        if format != FORMAT || algorithm != ALGORITHM {
            return Err(invalid(format!("expected the format \"{FORMAT}\" with the algorithm {ALGORITHM}")));
        }
        if *version != VERSION {
            return Err(invalid(format!("the version of the format is {version}; this program knows {VERSION}")));
        }
        let read: Value = serde_json::from_str(text).map_err(|error| internal(&error))?;
        let written = serde_json::to_value(&certificate).map_err(|error| internal(&error))?;
        if let Some(name) = first_difference(&read, &written) {
            let message = format!("`{name}` is not written as a certificate writes it; the certificate was changed");
            return Err(invalid(message));
        }
        Ok(certificate)
    }

    /// Returns the certificate as indented JSON.
    ///
    /// # Errors
    /// `Internal` if it cannot be written, which does not happen.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|error| internal(&error))
    }

    /// Returns true if no trace was found that should not be there, and every deleted record has a tombstone. Other
    /// records with the same content may remain: see [`TraceSearch::remaining_copies`].
    pub fn is_clean(&self) -> bool {
        self.residue == 0 && self.search.missing_tombstones.is_empty()
    }

    /// Returns the public key of the certificate.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a key.
    pub fn public_key(&self) -> Result<PublicKey> {
        PublicKey::from_text(&self.public_key)
    }

    /// Returns the deleted records as probes, without fragments of texts.
    ///
    /// # Errors
    /// `InvalidInput` for a record of another user than that of the scope, and for a name that no user can have.
    pub(super) fn probes(&self) -> Result<ResidueProbes> {
        let mut records = Vec::with_capacity(self.records.len());
        for record in &self.records {
            let namespace = match (&record.user, self.scope.user_name()) {
                (Some(_), Some(_)) => {
                    let message = "a record names a user, although the scope of the certificate has one; the \
                         certificate was changed";
                    return Err(Error::invalid("certificate", message));
                }
                (Some(user), None) => Scope::tenant_wide(self.scope.tenant())?.with_user(user)?,
                (None, _) => self.scope.namespace(),
            };
            let CertifiedRecord { id, content, derived, .. } = record;
            records.push(ResidueProbe { namespace, id: *id, content: *content, cascade_deleted: *derived });
        }
        Ok(ResidueProbes::new(self.salt, records))
    }

    /// Sets the signature.
    pub(super) fn sign(mut self, key: &CertificateKey) -> Result<Self> {
        self.signature = key.sign(&self.signed_bytes()?);
        Ok(self)
    }

    /// Returns the bytes that are signed: the JSON of all fields but the signature, without white space, with sorted
    /// keys.
    ///
    /// # Errors
    /// `Internal` if it cannot be written, which does not happen.
    pub fn signed_bytes(&self) -> Result<Vec<u8>> {
        let value = serde_json::to_value(self).map_err(|error| internal(&error))?;
        let Value::Object(mut fields) = value else { return Ok(Vec::new()) };
        fields.remove(SIGNATURE);
        serde_json::to_vec(&SortedJson(&fields)).map_err(|error| internal(&error))
    }
}

/// Returns the name of the first field that two objects have differently.
fn first_difference(read: &Value, written: &Value) -> Option<String> {
    let (Value::Object(read), Value::Object(written)) = (read, written) else { return None };
    let names = read.keys().chain(written.keys());
    names.into_iter().find(|name| read.get(*name) != written.get(*name)).cloned()
}

fn internal(error: &serde_json::Error) -> Error {
    Error::new(memory_engine_core::ErrorKind::Internal, "certificate", format!("no JSON: {error}; please report this"))
}
