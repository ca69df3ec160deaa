//! Files that an installation changes.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use jiff::Zoned;
use similar::TextDiff;

use super::{change::Change, setup::Part};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The change of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileEdit {
    pub(crate) part: Part,
    pub(crate) path: PathBuf,
    change: Change,
}

/// The texts of a file before and after a change. `None` stands for a file that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) path: PathBuf,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
}

impl FileEdit {
    pub(crate) fn new(part: Part, path: PathBuf, change: Change) -> Self {
        Self { part, path, change }
    }

    /// Returns the texts before and after the change, without writing anything.
    ///
    /// # Errors
    /// If the file cannot be read or is not valid.
    pub(crate) fn plan(&self, uninstall: bool) -> Result<Outcome> {
        let name = || self.path.display().to_string();
        let old = match fs::read_to_string(&self.path) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e).with_context(|| format!("{} cannot be read", self.path.display())),
        };
        // Without a target the link itself would be replaced.
        if old.is_none() && fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.is_symlink()) {
            bail!("{} is a symbolic link to a missing file; create the file or remove the link", self.path.display());
        }
        // Editors on Windows begin a file with a byte order mark, which no parser accepts.
        let mark =
            if old.as_ref().is_some_and(|text| text.starts_with(BYTE_ORDER_MARK)) { BYTE_ORDER_MARK } else { "" };
        let text = old.as_ref().map(|text| &text[mark.len()..]);
        let changed = match (text, uninstall) {
            (None, true) => None,
            (Some(text), true) => self.change.uninstall(text).with_context(name)?,
            (text, false) => Some(self.change.install(text).with_context(name)?),
        };
        let new = changed.map(|text| format!("{mark}{text}"));
        Ok(Outcome { path: self.path.clone(), old, new })
    }
}

impl Outcome {
    pub(crate) fn is_changed(&self) -> bool {
        self.old != self.new
    }

    /// Returns the difference in the unified format. Empty if nothing changes.
    pub(crate) fn diff(&self) -> String {
        if !self.is_changed() {
            return String::new();
        }
        let name = self.path.display().to_string();
        let name_of = |text: &Option<String>| text.as_ref().map_or_else(|| "/dev/null".to_owned(), |_| name.clone());
        let (old, new) = (self.old.as_deref().unwrap_or_default(), self.new.as_deref().unwrap_or_default());
        let diff = TextDiff::from_lines(old, new);
        diff.unified_diff().context_radius(3).header(&name_of(&self.old), &name_of(&self.new)).to_string()
    }

    /// Writes the file, and returns the path of the copy of the old one. A new text replaces the file in one step; a
    /// symbolic link stays, and its target is replaced.
    ///
    /// # Errors
    /// If the file cannot be written. It is unchanged then.
    pub(crate) fn write(&self, now: &Zoned) -> Result<Option<PathBuf>> {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let context = || format!("{} cannot be written", path.display());
        let backup = match &self.old {
            Some(old) => Some(write_backup(&path, old, now).with_context(context)?),
            None => None,
        };
        match &self.new {
            Some(new) => replace(&path, new).with_context(context)?,
            None => fs::remove_file(&path).with_context(context)?,
        }
        Ok(backup)
    }
}

/// Writes a copy of the old file next to it, with the time in its name. An earlier copy of the same second stays.
fn write_backup(path: &Path, old: &str, now: &Zoned) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let time = now.strftime("%Y-%m-%dT%H-%M-%S");
    let mut backup = path.with_file_name(format!("{name}.{time}.bak"));
    let mut count = 1;
    let mut file = loop {
        match fs::File::create_new(&backup) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                count += 1;
                backup = path.with_file_name(format!("{name}.{time}-{count}.bak"));
            }
            created => break created?,
        }
    };
    // Before the text is written: it may contain keys.
    fs::set_permissions(&backup, fs::metadata(path)?.permissions())?;
    file.write_all(old.as_bytes())?;
    Ok(backup)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    // A new file keeps the permissions of a temporary one: only its owner reads it.
    if let Ok(metadata) = fs::metadata(path) {
        fs::set_permissions(file.path(), metadata.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests;
