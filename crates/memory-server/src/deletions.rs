//! Deletions, with a signed certificate if the server has a key for it.

mod api;
mod state;

use std::{fs, sync::Arc};

use memory_engine::{Error, ErrorKind, MemoryEngine, Result, certificate::CertificateKey};

use self::state::DeletionsState;
use crate::{
    config::{Config, Variables},
    openapi::{Routes, table},
    part::ServerPart,
    request::OwnerNames,
    server::Server,
};

#[cfg(feature = "ui")]
pub(crate) use self::api::DeletionRequest;

/// The variable with the key that signs certificates.
const KEY_VARIABLE: &str = "MEMORY_CERTIFICATE_KEY";

/// The routes that delete records, and certify it with a key, under `/api/deletions`.
#[derive(Debug, Clone)]
#[must_use]
pub struct Deletions(DeletionsState);

impl Deletions {
    /// Creates the routes over a memory. The key signs the certificates.
    pub fn new(engine: MemoryEngine, key: CertificateKey) -> Self {
        Self(DeletionsState { engine, key: Some(Arc::new(key)) })
    }

    /// Creates the routes over a memory. Deletions have no certificate.
    pub fn without_certificates(engine: MemoryEngine) -> Self {
        Self(DeletionsState { engine, key: None })
    }

    pub(crate) fn part(self) -> ServerPart {
        ServerPart::new("deletions", routes(), self.0)
    }
}

impl Server {
    /// Adds the deletions under `/api/deletions`.
    pub fn deletions(self, deletions: Deletions) -> Self {
        self.with_part(deletions.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, variable: Variables<'_>) -> Result<Option<ServerPart>> {
    if !config.deletions.enabled {
        return Ok(None);
    }
    let key = match &config.deletions.key_file {
        Some(file) => {
            let text = fs::read_to_string(file).map_err(|error| {
                let message = format!("deletions.key_file: {file} cannot be read");
                Error::new(ErrorKind::NotFound, "config", message).with_source(error)
            })?;
            CertificateKey::from_text(&text)?
        }
        None => match variable(KEY_VARIABLE) {
            Some(text) => CertificateKey::from_text(&text)?,
            None => return Ok(Some(Deletions::without_certificates(engine.clone()).part())),
        },
    };
    Ok(Some(Deletions::new(engine.clone(), key).part()))
}

fn routes() -> Routes<DeletionsState> {
    table! {
        Routes::new("deletions", "Deletes records, searches for their traces, and certifies both.");
        get "/api/deletions" => api::show, "showDeletions",
            "Says whether deletions are certified." => api::DeletionsInfo;
        post "/api/deletions" => api::delete, "certifyDeletion",
            "Deletes records. With a key, searches the store for their traces, and returns a signed certificate.",
            body api::DeletionRequest => api::DeletionReply;
        get "/api/deletions/standing" => api::list_standing, "listStandingDeletions",
            "Lists the texts that are kept out of the records of an owner.", query OwnerNames => api::StandingReply;
        post "/api/deletions/verify" => api::verify, "verifyDeletion",
            "Verifies a certificate, and compares it with the store.",
            body api::CertificateBody => api::VerificationReply;
    }
}
