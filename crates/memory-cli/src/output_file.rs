//! Files that commands write.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::NamedTempFile;

/// Maximum number of symbolic links that a path may lead through, as in the kernel.
const MAX_LINKS: usize = 40;

/// A file that a command writes. The option `--output` names it.
///
/// A regular file is replaced as a whole when [`finish`](Self::finish) is called, so that a failure never leaves half a
/// file. It keeps its permissions; a new file can be read by its owner only. Symbolic links are followed and stay. A
/// FIFO, a device or the standard output is written through and never replaced.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// The path that the user gave, for messages.
    path: PathBuf,
    output: BufWriter<Output>,
}

#[derive(Debug)]
enum Output {
    /// The new content of a regular file, and the path of this file.
    Replacement(NamedTempFile, PathBuf),
    /// A FIFO, a device or a socket.
    Stream(File),
    Stdout,
}

impl OutputFile {
    /// Opens a file for writing.
    ///
    /// # Errors
    /// If the path is a directory, or the file cannot be written.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let output = open(path).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { path: path.to_owned(), output: BufWriter::new(output) })
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { path, output } = self;
        let failed = || format!("{} cannot be written", path.display());
        let mut output = output.into_inner().map_err(|e| named(&path, e.into_error()))?;
        output.flush().map_err(|e| named(&path, e))?;
        if let Output::Replacement(file, target) = output {
            file.persist(target).with_context(failed)?;
        }
        Ok(())
    }

    /// Writes a line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write_line(&mut self, line: impl std::fmt::Display) -> Result<()> {
        writeln!(self.output, "{line}").map_err(|e| named(&self.path, e))
    }
}

/// Returns the error of a write. A closed FIFO is an error, other than a closed standard output, which ends a command
/// without one.
fn named(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow!("{} cannot be written: {error}", path.display())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Replacement(file, _) => file.write(bytes),
            Self::Stream(file) => file.write(bytes),
            Self::Stdout => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Replacement(file, _) => file.flush(),
            Self::Stream(file) => file.flush(),
            Self::Stdout => io::stdout().flush(),
        }
    }
}

fn open(path: &Path) -> Result<Output> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e.into()),
    };
    let Some(metadata) = metadata else {
        return replacement(&link_target(path)?, None);
    };
    if metadata.is_dir() {
        bail!("it is a directory");
    }
    if is_standard_output(&metadata) {
        return Ok(Output::Stdout);
    }
    if !metadata.is_file() {
        return Ok(Output::Stream(OpenOptions::new().write(true).open(path)?));
    }
    // A file that must not be written must not be replaced, either.
    OpenOptions::new().write(true).open(path)?;
    replacement(&path.canonicalize()?, Some(&metadata))
}

/// Returns the path that a path leads to through links. The file at its end does not need to exist.
fn link_target(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(link) = fs::read_link(&target) else { return Ok(target) };
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    bail!("it leads through more than {MAX_LINKS} symbolic links");
}

/// Creates the new content of a file, in the same directory. It has the permissions and the owner of the old file.
fn replacement(target: &Path, old: Option<&fs::Metadata>) -> Result<Output> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = NamedTempFile::new_in(folder)?;
    if let Some(old) = old {
        keep_owner(file.as_file(), old);
        file.as_file().set_permissions(Permissions::clone(&old.permissions()))?;
    }
    Ok(Output::Replacement(file, target.to_owned()))
}

/// Gives a file the owner and the group of another one, as far as this process may do so.
#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// Returns true for the file that is the standard output of this process: `-o /dev/stdout >> FILE` appends to it.
#[cfg(unix)]
fn is_standard_output(metadata: &fs::Metadata) -> bool {
    use std::os::{fd::AsFd, unix::fs::MetadataExt};
    let output = io::stdout().as_fd().try_clone_to_owned().and_then(|output| File::from(output).metadata());
    output.is_ok_and(|output| (output.dev(), output.ino()) == (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn is_standard_output(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests;
