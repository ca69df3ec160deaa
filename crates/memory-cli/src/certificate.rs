//! Writes certificates of deletions, and finds their keys.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::certificate::{CertificateKey, DeletionCertificate};
use serde_json::{Value, json};

use crate::{output_file::OutputFile, settings::Settings};

/// The variable with the key, as PEM or in base64.
const VARIABLE: &str = "MEMORY_CERTIFICATE_KEY";
/// The exit code if a certificate reports traces, or if a check of a certificate has failed.
pub(crate) const TRACES_REMAIN: u8 = 3;

/// The options for a certificate.
#[derive(Debug, Args)]
pub(crate) struct CertificateArgs {
    /// Write a signed certificate of the deletion into this new file
    ///
    /// The store is searched for traces of the deleted records before.
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// File with the key that signs the certificate
    ///
    /// `memory certificate-key` creates one. Default: the key in the variable MEMORY_CERTIFICATE_KEY (from the
    /// environment or .env).
    #[arg(long, value_name = "FILE", requires = "certificate")]
    certificate_key: Option<PathBuf>,
}

/// A certificate file that is open for writing, and its key.
pub(crate) struct CertificateFile {
    pub(crate) key: CertificateKey,
    path: PathBuf,
    file: OutputFile,
}

impl CertificateArgs {
    /// Reads the key and opens the file, before anything is deleted. Returns `None` if no certificate is wanted.
    ///
    /// # Errors
    /// If the file exists or cannot be written. If there is no key.
    pub(crate) fn prepare(&self) -> Result<Option<CertificateFile>> {
        let Some(path) = self.certificate.clone() else { return Ok(None) };
        if fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            bail!("{} exists, and a certificate is never overwritten; name a new file", path.display());
        }
        let key = match &self.certificate_key {
            Some(file) => read_key(file)?,
            None => {
                let text = Settings::load()?.get(VARIABLE).with_context(|| {
                    format!(
                        "a certificate needs a key: create one with `memory certificate-key FILE`, and name it with \
                         --certificate-key FILE or put it into the variable {VARIABLE}"
                    )
                })?;
                CertificateKey::from_text(&text).context(VARIABLE)?
            }
        };
        let file = OutputFile::create(&path)?;
        Ok(Some(CertificateFile { key, path, file }))
    }
}

fn read_key(file: &Path) -> Result<CertificateKey> {
    let name = || file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    CertificateKey::from_text(&text).with_context(name)
}

/// A written certificate.
pub(crate) struct Summary {
    path: PathBuf,
}

impl CertificateFile {
    /// Writes the certificate. If that fails, prints it: the records are deleted, and their ids are nowhere else.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(mut self, certificate: &DeletionCertificate) -> Result<Summary> {
        let json = certificate.to_json()?;
        let written = self.file.write_line(&json).and_then(|()| self.file.finish());
        let Err(error) = written else { return Ok(Summary { path: self.path }) };
        let printed = writeln!(io::stdout(), "{json}").and_then(|()| io::stdout().flush());
        let instead = match printed {
            Ok(()) => "the certificate is not in its file but in the standard output; keep that".to_owned(),
            Err(_) => {
                format!("the certificate is not written; repeat the command with these ids: {}", ids(certificate))
            }
        };
        Err(error.context(format!("the records are deleted, and {instead}")))
    }
}

fn ids(certificate: &DeletionCertificate) -> String {
    let ids: Vec<String> = certificate.records.iter().map(|record| record.id.to_string()).collect();
    ids.join(" ")
}

impl Summary {
    /// Describes the certificate for people.
    pub(crate) fn text(&self, certificate: &DeletionCertificate) -> String {
        let search = &certificate.search;
        let places = search.places.iter().filter(|place| place.not_searched.is_none()).count();
        let mut text = format!("searched {places} tables, indexes and files: ");
        if certificate.is_clean() {
            text.push_str("no trace of the deleted records");
        } else {
            let _ = write!(text, "{} traces remain", certificate.residue);
            for place in search.places.iter().filter(|place| place.residue() > 0) {
                let _ = write!(text, "\n  {}: {}", place.name, place.residue());
            }
            if !search.missing_tombstones.is_empty() {
                let _ = write!(text, "\n{} records have no tombstone", search.missing_tombstones.len());
            }
        }
        if !search.remaining_copies.is_empty() {
            let _ = write!(text, "\n{} other records have the same content", search.remaining_copies.len());
        }
        let _ = write!(text, "\ncertificate written to {}", self.path.display());
        text
    }

    /// Describes the certificate for programs.
    pub(crate) fn json(&self, certificate: &DeletionCertificate) -> Value {
        json!({
            "file": self.path.display().to_string(),
            "clean": certificate.is_clean(),
            "residue": certificate.residue,
            "missing_tombstones": certificate.search.missing_tombstones.len(),
            "public_key": certificate.public_key,
        })
    }
}
