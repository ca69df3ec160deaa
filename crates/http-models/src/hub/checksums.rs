//! `SHA256SUMS`: the recorded checksums of downloaded files, in the format of `sha256sum -c`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use memory_engine_core::Result;

use super::{
    file::{FetchedFile, file_error},
    model::parse_sha256,
};

const FILE_NAME: &str = "SHA256SUMS";

#[derive(Debug)]
pub(super) struct ChecksumFile {
    path: PathBuf,
    checksums: BTreeMap<String, String>,
}

impl ChecksumFile {
    /// Reads the recorded checksums of a folder. Invalid lines are ignored.
    pub(super) async fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE_NAME);
        let text = match tokio::fs::read_to_string(&path).await {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(file_error(&path, e)),
        };
        let line = |line: &str| {
            line.split_once("  ").and_then(|(checksum, name)| Some((name.to_owned(), parse_sha256(checksum)?)))
        };
        Ok(Self { checksums: text.lines().filter_map(line).collect(), path })
    }

    /// Returns the recorded checksum of a file.
    pub(super) fn of(&self, name: &str) -> Option<&str> {
        self.checksums.get(name).map(String::as_str)
    }

    /// Records the checksum of a file.
    pub(super) async fn record(&mut self, file: &FetchedFile) -> Result<()> {
        if self.of(&file.name) == Some(&file.sha256) {
            return Ok(());
        }
        self.checksums.insert(file.name.clone(), file.sha256.clone());
        let text: String = self.checksums.iter().map(|(name, checksum)| format!("{checksum}  {name}\n")).collect();
        tokio::fs::write(&self.path, text).await.map_err(|e| file_error(&self.path, e))
    }
}
