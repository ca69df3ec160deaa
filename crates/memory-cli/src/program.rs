//! The name of this program, as a person can type it.

use std::{env, path::Path};

/// Returns `memory` if a shell finds this program by that name. Otherwise returns its path, relative to the working
/// directory if it is inside of it.
pub(crate) fn typed_name() -> String {
    const NAME: &str = "memory";
    let Ok(program) = env::current_exe() else { return NAME.into() };
    let search_path = env::var_os("PATH").unwrap_or_default();
    let file = format!("{NAME}{}", env::consts::EXE_SUFFIX);
    let found = env::split_paths(&search_path).map(|folder| folder.join(&file)).find(|path| path.is_file());
    // An installed program is often a symbolic link.
    let target = |path: &Path| path.canonicalize().ok();
    if found.and_then(|path| target(&path)).is_some_and(|path| Some(path) == target(&program)) {
        return NAME.into();
    }
    let folder = env::current_dir().ok();
    relative_path(&program, folder.as_deref())
}

fn relative_path(program: &Path, folder: Option<&Path>) -> String {
    let relative = folder.and_then(|folder| program.strip_prefix(folder).ok());
    let path = match relative {
        // Without a separator, a shell would search for it.
        Some(path) if path.components().count() == 1 => Path::new(".").join(path),
        Some(path) => path.to_owned(),
        None => program.to_owned(),
    };
    let path = path.display().to_string();
    if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_relative_inside_of_the_folder() {
        let in_clone = |program: &str| relative_path(Path::new(program), Some(Path::new("/clone")));
        assert_eq!(in_clone("/clone/target/release/memory"), "target/release/memory");
        assert_eq!(in_clone("/clone/memory"), "./memory");
        assert_eq!(in_clone("/opt/my tools/memory"), "\"/opt/my tools/memory\"");
    }
}
