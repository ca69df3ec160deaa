//! The backend, and the sizes of the files of a SQLite database.

use std::{fs, path::Path};

use schemars::JsonSchema;
use serde::Serialize;

/// The backend that a configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::inspector) enum Backend {
    /// The path of the database.
    Sqlite(String),
    Postgres,
    /// A store that the configuration does not name, such as one in memory.
    Other,
}

/// Sizes of a database.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Storage {
    /// Size of the database file.
    database_bytes: u64,
    /// Size of the journal of writes that are not yet in the database file.
    journal_bytes: u64,
    /// Size of the index cache files next to the database file. A missing cache is built again.
    cache_bytes: u64,
}

impl Backend {
    /// Returns the backend of a database, given as in the configuration.
    pub(in crate::inspector) fn of(database: &str) -> Self {
        let is_address = database.starts_with("postgres://") || database.starts_with("postgresql://");
        if database == "postgres" || is_address {
            Self::Postgres
        } else if Path::new(database).is_file() {
            Self::Sqlite(database.to_owned())
        } else {
            Self::Other
        }
    }

    pub(super) fn name(&self) -> Option<&'static str> {
        match self {
            Self::Sqlite(_) => Some("sqlite"),
            Self::Postgres => Some("postgres"),
            Self::Other => None,
        }
    }

    /// Returns the sizes of the database; `None` if they are not known.
    pub(super) async fn storage(&self) -> Option<Storage> {
        let Self::Sqlite(path) = self else { return None };
        let path = path.clone();
        tokio::task::spawn_blocking(move || Storage::of_file(Path::new(&path))).await.ok()?
    }
}

impl Storage {
    /// Adds the sizes of the files that belong to a database: all whose names begin with that of the database.
    fn of_file(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut storage = Self::default();
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let file_name = entry.file_name();
            let Some(rest) = file_name.to_str().and_then(|file_name| file_name.strip_prefix(name)) else { continue };
            let Ok(metadata) = entry.metadata() else { continue };
            if !metadata.is_file() {
                continue;
            }
            match rest {
                "" => storage.database_bytes += metadata.len(),
                "-wal" | "-journal" => storage.journal_bytes += metadata.len(),
                "-shm" => {} // The index of the journal is rebuilt at each start.
                _ if rest.starts_with(['.', '-']) => storage.cache_bytes += metadata.len(),
                _ => {}
            }
        }
        Some(storage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_database_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            [("m.db", 5), ("m.db-wal", 7), ("m.db.vectors", 11), ("m.db-shm", 2), ("m.dbx", 100), ("n.db", 100)];
        for (name, bytes) in files {
            fs::write(folder.path().join(name), vec![0; bytes]).unwrap();
        }
        let path = folder.path().join("m.db");
        let expected = Storage { database_bytes: 5, journal_bytes: 7, cache_bytes: 11 };
        assert_eq!(Storage::of_file(&path), Some(expected));
        assert_eq!(Backend::of(path.to_str().unwrap()).name(), Some("sqlite"));
    }

    #[test]
    fn a_backend_without_a_file_has_no_size() {
        assert_eq!(Backend::of("postgres://lin:secret@db/memory"), Backend::Postgres);
        assert_eq!(Backend::of("postgres"), Backend::Postgres);
        assert_eq!(Backend::of("/no/such/memory.db"), Backend::Other);
    }
}
