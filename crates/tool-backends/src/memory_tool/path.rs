//! Paths of memory files.

use std::fmt;

use serde::Deserialize;

/// The folder of all files.
const ROOT: &str = "/memories";
/// Maximum length of a path, in bytes.
const MAX_PATH_BYTES: usize = 1024;
/// Maximum number of names in a path, without the root.
const MAX_LEVELS: usize = 16;

/// A path below `/memories`, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct MemoryPath(String);

impl TryFrom<String> for MemoryPath {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        Self::parse(&path)
    }
}

impl MemoryPath {
    /// # Errors
    /// Returns a message for the model.
    pub(crate) fn parse(path: &str) -> Result<Self, String> {
        let below = path.strip_prefix(ROOT).filter(|below| below.is_empty() || below.starts_with('/'));
        let Some(below) = below else { return Err(format!("Path must start with {ROOT}, got: {path}")) };
        if path.len() > MAX_PATH_BYTES {
            return Err(format!("The path has {} bytes; at most {MAX_PATH_BYTES} are allowed.", path.len()));
        }
        let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
        let lower_case = below.to_ascii_lowercase();
        let is_escaped = ["%2e", "%2f", "%5c", "%00"].iter().any(|escape| lower_case.contains(escape));
        if is_escaped || names.iter().any(|name| matches!(*name, "." | "..") || name.contains('\\')) {
            return Err(format!("Path {path} would escape {ROOT} directory"));
        }
        if below.chars().any(char::is_control) {
            return Err("The path contains a control character; use letters, digits, '-', '_' and '.'.".into());
        }
        if names.len() > MAX_LEVELS {
            return Err(format!("The path has {} levels; at most {MAX_LEVELS} are allowed.", names.len()));
        }
        Ok(Self([ROOT].into_iter().chain(names).collect::<Vec<_>>().join("/")))
    }

    /// A path that is known to be valid.
    pub(crate) fn of(path: &str) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0 == ROOT
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path relative to a folder; `None` if it is not below the folder.
    pub(crate) fn below(&self, folder: &Self) -> Option<&str> {
        self.0.strip_prefix(&folder.0)?.strip_prefix('/')
    }

    /// Returns true for the folder itself and everything below it.
    pub(crate) fn is_at_or_below(&self, folder: &Self) -> bool {
        self == folder || self.below(folder).is_some()
    }

    /// Returns the path in another folder. It must be below `old` or be `old` itself.
    pub(crate) fn moved(&self, old: &Self, new: &Self) -> Self {
        Self(format!("{}{}", new.0, self.0.strip_prefix(&old.0).unwrap_or_default()))
    }
}

impl fmt::Display for MemoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised() {
        for (path, expected) in [
            ("/memories", "/memories"),
            ("/memories/", "/memories"),
            ("/memories//a/b.md/", "/memories/a/b.md"),
            ("/memories/日记/2026 一月.md", "/memories/日记/2026 一月.md"),
        ] {
            assert_eq!(MemoryPath::parse(path).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for path in ["", "/", "memories/a", "/memory/a", "/memoriesX/a", "/etc/passwd", " /memories/a"] {
            assert!(MemoryPath::parse(path).unwrap_err().starts_with("Path must start with /memories"), "{path}");
        }
        for path in [
            "/memories/../a",
            "/memories/a/..",
            "/memories/./a",
            "/memories/a\\..\\b",
            "/memories/%2e%2e/a",
            "/memories/%2E%2E%2Fa",
            "/memories/..%5ca",
        ] {
            assert!(MemoryPath::parse(path).unwrap_err().contains("would escape"), "{path}");
        }
        assert!(MemoryPath::parse("/memories/a\0b").unwrap_err().contains("control character"));
        assert!(MemoryPath::parse(&format!("/memories/{}", "a".repeat(1100))).unwrap_err().contains("at most 1024"));
        assert!(MemoryPath::parse(&format!("/memories{}", "/a".repeat(17))).unwrap_err().contains("at most 16"));
    }

    #[test]
    fn folders_contain_whole_names() {
        let path = |path: &str| MemoryPath::parse(path).unwrap();
        assert_eq!(path("/memories/a/b").below(&path("/memories/a")), Some("b"));
        assert_eq!(path("/memories/ab").below(&path("/memories/a")), None);
        assert_eq!(path("/memories/a").below(&path("/memories/a")), None);
        let moved = path("/memories/a/b").moved(&path("/memories/a"), &path("/memories/c"));
        assert_eq!(moved, path("/memories/c/b"));
    }
}
