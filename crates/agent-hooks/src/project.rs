//! The project of a folder: its repository, or the folder itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_engine::store::ContentHash;

/// The file that makes a folder a project of its own. Its first line is the name.
const MARKER: &str = ".memory-project";
/// Maximum size of a file that is read, in bytes. The files of Git that are read have one line.
const MAX_FILE_BYTES: u64 = 4096;
/// Maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 60;
/// Number of hexadecimal digits in a name that tell apart folders of the same name.
const HASH_DIGITS: usize = 8;

/// Returns the name of the project to which a folder of this machine belongs: the nearest folder above it, or itself,
/// that has a file `.memory-project` or is the root of a Git repository; otherwise the folder. All work trees of a
/// repository are one project. Only `.memory-project`, `.git` and `commondir` are read, and no command is started.
pub fn locate_project(folder: &Path) -> String {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    for parent in folder.ancestors() {
        if let Some(text) = read_line(&parent.join(MARKER)) {
            let name = clean_name(&text);
            return if name.is_empty() { project_of_path(&parent.to_string_lossy()) } else { name };
        }
        if let Some(root) = repository_root(parent) {
            return project_of_path(&root.to_string_lossy());
        }
    }
    project_of_path(&folder.to_string_lossy())
}

/// Returns the name of the project whose root has this path, without reading files.
pub(crate) fn project_of_path(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = path.trim_end_matches('/');
    let name = clean_name(path.rsplit('/').next().unwrap_or_default());
    let hash = ContentHash::of(path).to_string();
    format!("{}-{}", if name.is_empty() { "root" } else { &name }, &hash[..HASH_DIGITS])
}

/// Returns a text as the name of a project: white space becomes hyphens, and control characters are removed.
pub(crate) fn clean_name(text: &str) -> String {
    let text: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    text.join("-").chars().take(MAX_NAME_CHARS).collect()
}

/// Returns the root of the repository whose work tree begins at `folder`; for an additional work tree that of the main
/// one.
fn repository_root(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(folder.to_owned());
    }
    // In additional work trees and in submodules `.git` is a file. Only a work tree has a `commondir`.
    let directory = read_line(&git)?.strip_prefix("gitdir:").map(|path| folder.join(path.trim()))?;
    let Some(common) = read_line(&directory.join("commondir")) else { return Some(folder.to_owned()) };
    let common = directory.join(common);
    let common = fs::canonicalize(&common).unwrap_or(common);
    let is_inside = common.file_name().is_some_and(|name| name == ".git");
    Some(if is_inside { common.parent()?.to_owned() } else { common })
}

/// Returns the first line of a small file, trimmed; `None` if there is no such file.
fn read_line(path: &Path) -> Option<String> {
    let is_small = path.metadata().ok().is_some_and(|file| file.is_file() && file.len() <= MAX_FILE_BYTES);
    let text = is_small.then(|| fs::read_to_string(path).ok()).flatten()?;
    Some(text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests;
