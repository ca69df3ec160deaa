//! A database file and its key.

use std::path::{Path, PathBuf};

use memory_engine_core::Result;

use crate::database::{encryption::EncryptionKey, location::Location};

/// A database file, with its key if it is encrypted. A path converts to the file without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFile {
    pub(crate) path: PathBuf,
    pub(crate) key: Option<EncryptionKey>,
}

impl DatabaseFile {
    /// Names a file that is not encrypted.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), key: None }
    }

    /// Sets the key of the file. A new file is encrypted with it.
    #[must_use]
    pub fn with_key(mut self, key: EncryptionKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the key of the file.
    pub fn key(&self) -> Option<&EncryptionKey> {
        self.key.as_ref()
    }

    /// Returns the file by its absolute path without symbolic links.
    ///
    /// # Errors
    /// Those of [`Location::resolve`].
    pub(crate) fn resolve(self) -> Result<Self> {
        Ok(Self { path: Location::resolve(&self.path)?.path, key: self.key })
    }
}

impl From<PathBuf> for DatabaseFile {
    fn from(path: PathBuf) -> Self {
        Self::new(path)
    }
}

impl From<&PathBuf> for DatabaseFile {
    fn from(path: &PathBuf) -> Self {
        Self::new(path)
    }
}

impl From<&Path> for DatabaseFile {
    fn from(path: &Path) -> Self {
        Self::new(path)
    }
}

impl From<&DatabaseFile> for DatabaseFile {
    fn from(file: &DatabaseFile) -> Self {
        file.clone()
    }
}
