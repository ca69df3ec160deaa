//! The location of a database file. All handles on a file use the same path, so that they find the same caches and lock
//! files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_engine_core::{Error, Result};

/// Maximum number of symbolic links from a path to the file.
const MAX_LINKS: usize = 40;

/// The location of a database file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// The absolute path without symbolic links.
    pub(crate) path: PathBuf,
    /// The symbolic links that lead to the file. Earlier versions have written caches next to them.
    pub(crate) links: Vec<PathBuf>,
}

impl Location {
    /// Resolves a path, which may be relative or a symbolic link. The file does not have to exist. If the directory
    /// does not exist, the path is only made absolute.
    ///
    /// # Errors
    /// `InvalidInput` for an empty path, or if the working directory cannot be read.
    pub(crate) fn resolve(path: &Path) -> Result<Self> {
        let mut path = std::path::absolute(path).map_err(|error| {
            Error::invalid("open", "the path is empty or cannot be made absolute").with_source(error)
        })?;
        let mut links = Vec::new();
        for _ in 0..MAX_LINKS {
            let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { break };
            let Ok(directory) = fs::canonicalize(directory) else { break };
            path = directory.join(name);
            let Ok(target) = fs::read_link(&path) else { break };
            // The target of a relative link is relative to the directory of the link.
            let target = directory.join(target);
            links.push(path);
            path = target;
        }
        Ok(Self { path, links })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_path_to_a_file_resolves_to_the_same_location() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::create_dir(root.join("links")).unwrap();
        symlink("../real/m.db", root.join("links/m.db")).unwrap();
        symlink(root.join("links/m.db"), root.join("links/again.db")).unwrap();
        symlink(root.join("real"), root.join("directory")).unwrap();
        let paths = ["real/m.db", "links/m.db", "links/again.db", "directory/m.db", "links/../directory/./m.db"];
        // The links resolve before the file exists, and after it was created.
        for _ in 0..2 {
            for path in paths {
                assert_eq!(Location::resolve(&root.join(path)).unwrap().path, root.join("real/m.db"), "{path}");
            }
            fs::write(root.join("real/m.db"), "").unwrap();
        }
        let links = Location::resolve(&root.join("links/again.db")).unwrap().links;
        assert_eq!(links, [root.join("links/again.db"), root.join("links/m.db")]);
        assert_eq!(Location::resolve(&root.join("directory/m.db")).unwrap().links, Vec::<PathBuf>::new());
        let missing = root.join("missing/m.db");
        assert_eq!(Location::resolve(&missing).unwrap().path, missing);
        symlink("loop.db", root.join("loop.db")).unwrap();
        assert!(Location::resolve(&root.join("loop.db")).is_ok());
        assert!(Location::resolve(Path::new("")).is_err());
    }
}
