//! `SHA256SUMS`: what was fetched, noted so that `sha256sum -c` reads it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use memory_engine_core::Result;

use super::{
    file::{Fetched, at},
    model::hex,
};

/// The name of the file.
const NAME: &str = "SHA256SUMS";

#[derive(Debug)]
pub(super) struct RunningChecksums {
    path: PathBuf,
    known: BTreeMap<String, String>,
}

impl RunningChecksums {
    /// Reads what was noted in a folder; a line that is none is passed over.
    pub(super) async fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let text = match tokio::fs::read_to_string(&path).await {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(at(&path, e)),
        };
        let line = |line: &str| line.split_once("  ").and_then(|(sum, name)| Some((name.to_owned(), hex(sum)?)));
        Ok(Self { known: text.lines().filter_map(line).collect(), path })
    }

    /// The sum that was noted for a file.
    pub(super) fn of(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(String::as_str)
    }

    /// Notes a file.
    pub(super) async fn note(&mut self, file: &Fetched) -> Result<()> {
        if self.of(&file.name) == Some(&file.sha256) {
            return Ok(());
        }
        self.known.insert(file.name.clone(), file.sha256.clone());
        let text: String = self.known.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        tokio::fs::write(&self.path, text).await.map_err(|e| at(&self.path, e))
    }
}
