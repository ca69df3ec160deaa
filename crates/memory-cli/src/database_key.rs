//! The keys of encrypted SQLite files, from variables or files. No argument contains a key, because other users of the
//! machine can list arguments.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use memory_engine::sqlite::EncryptionKey;

use crate::settings::Settings;

/// The variables of a key: one contains the key, the other the path of a file that contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyVariables {
    pub(crate) value: &'static str,
    pub(crate) file: &'static str,
}

/// The variables of the present key of a database.
pub(crate) const PRESENT_KEY: KeyVariables =
    KeyVariables { value: "MEMORY_DATABASE_KEY", file: "MEMORY_DATABASE_KEY_FILE" };
/// The variables of the next key of a database, for `memory rekey`.
pub(crate) const NEW_KEY: KeyVariables =
    KeyVariables { value: "MEMORY_DATABASE_NEW_KEY", file: "MEMORY_DATABASE_NEW_KEY_FILE" };

/// Returns the key of these variables, if one is set.
///
/// # Errors
/// If both variables are set, if the file cannot be read, or if the text is not a key. No message contains the text.
pub(crate) fn load(settings: &Settings, variables: KeyVariables) -> Result<Option<EncryptionKey>> {
    match (settings.get(variables.value), settings.get(variables.file)) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => bail!("{} and {} are both set; unset one", variables.value, variables.file),
        (Some(text), None) => Ok(Some(text.parse().context(variables.value)?)),
        (None, Some(path)) => read(Path::new(&path)).context(variables.file).map(Some),
    }
}

/// Reads a key from a file.
///
/// # Errors
/// If the file cannot be read or contains no key.
pub(crate) fn read(path: &Path) -> Result<EncryptionKey> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).with_context(|| format!("the key file {} cannot be read", path.display()))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    text.parse().with_context(name)
}
