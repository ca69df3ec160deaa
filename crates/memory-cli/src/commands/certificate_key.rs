//! `memory certificate-key`.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::certificate::CertificateKey;
use serde_json::json;

use crate::report::ReportArgs;

/// Create a key that signs certificates of deletions.
///
/// The private key is written into FILE, which only its owner can read, and the public key into FILE.pub. Existing
/// files are never overwritten.
#[derive(Debug, Args)]
pub(crate) struct CertificateKeyCommand {
    /// New file for the private key
    file: PathBuf,
    #[command(flatten)]
    report: ReportArgs,
}

impl CertificateKeyCommand {
    #[allow(clippy::unused_async, reason = "every command is async")]
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let mut public_name = OsString::from(&self.file);
        public_name.push(".pub");
        let public_file = PathBuf::from(public_name);
        if public_file.exists() {
            bail!("{} exists, and a key is never overwritten; name another file", public_file.display());
        }
        let key = CertificateKey::generate()?;
        write(&self.file, &key.to_pem(), true)?;
        write(&public_file, &key.public_key().to_pem(), false)?;
        let public = key.public_key().to_string();
        let [private_name, public_name] = [&self.file, &public_file].map(|file| file.display().to_string());
        let data = json!({ "file": private_name, "public_file": public_name, "public_key": public });
        self.report.print_line(&data, || {
            format!(
                "private key: {private_name} (keep it secret, and keep a copy)\n\
                 public key:  {public_name} (give it to those who verify certificates)\n\
                 public key as in certificates: {public}"
            )
        })
    }
}

/// Writes a new file. A private file is readable by its owner only.
fn write(path: &Path, text: &str, is_private: bool) -> Result<()> {
    let name = path.display();
    let mut file = match create(path, is_private) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{name} exists, and a key is never overwritten; name another file");
        }
        Err(error) => return Err(anyhow::Error::new(error).context(format!("{name} cannot be written"))),
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.with_context(|| format!("{name} cannot be written"))
}

fn create(path: &Path, is_private: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if is_private { 0o600 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = is_private;
    options.open(path)
}
