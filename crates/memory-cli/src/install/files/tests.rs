use super::*;

fn edit(path: &Path) -> FileEdit {
    FileEdit::new(Part::Instructions, path.to_owned(), Change::MarkdownBlock("Use the memory.".into()))
}

#[test]
fn a_plan_writes_nothing_and_shows_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    fs::write(&path, "# Mine\n").unwrap();
    let outcome = edit(&path).plan(false).unwrap();
    let diff = outcome.diff();
    assert!(diff.contains("+Use the memory.\n") && diff.contains(" # Mine\n"), "{diff}");
    assert!(diff.starts_with(&format!("--- {0}\n+++ {0}\n", path.display())), "{diff}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Mine\n");
}

#[test]
fn writing_keeps_a_dated_copy_and_the_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    fs::write(&path, "# Mine\n").unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o640);
    fs::set_permissions(&path, permissions).unwrap();
    let permissions = fs::metadata(&path).unwrap().permissions();
    let now: Zoned = "2026-03-01T20:15:00[UTC]".parse().unwrap();
    let backup = edit(&path).plan(false).unwrap().write(&now).unwrap().unwrap();
    assert_eq!(backup.file_name().unwrap(), "AGENTS.md.2026-03-01T20-15-00.bak");
    assert_eq!(fs::read_to_string(&backup).unwrap(), "# Mine\n");
    assert!(fs::read_to_string(&path).unwrap().contains("Use the memory."));
    for file in [&path, &backup] {
        assert_eq!(fs::metadata(file).unwrap().permissions(), permissions);
    }
}

#[test]
fn folders_of_a_new_file_are_created_and_a_file_without_other_text_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/AGENTS.md");
    assert_eq!(edit(&path).plan(false).unwrap().write(&Zoned::now()).unwrap(), None);
    assert!(path.exists());
    edit(&path).plan(true).unwrap().write(&Zoned::now()).unwrap();
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("dotfiles.md"), folder.path().join("AGENTS.md"));
    fs::write(&target, "# Mine\n").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    edit(&link).plan(false).unwrap().write(&Zoned::now()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("Use the memory."));
}

#[test]
fn a_folder_in_the_place_of_the_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = edit(folder.path()).plan(false).unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn copies_of_the_same_second_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    fs::write(&path, "# Mine\n").unwrap();
    let now: Zoned = "2026-03-01T20:15:00[UTC]".parse().unwrap();
    let first = edit(&path).plan(false).unwrap().write(&now).unwrap().unwrap();
    let second = edit(&path).plan(true).unwrap().write(&now).unwrap().unwrap();
    assert_eq!(second.file_name().unwrap(), "AGENTS.md.2026-03-01T20-15-00-2.bak");
    assert_eq!(fs::read_to_string(first).unwrap(), "# Mine\n");
    assert!(fs::read_to_string(second).unwrap().contains("Use the memory."));
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_to_a_missing_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("AGENTS.md");
    std::os::unix::fs::symlink(folder.path().join("missing.md"), &link).unwrap();
    let error = edit(&link).plan(false).unwrap_err().to_string();
    assert!(error.contains("symbolic link to a missing file"), "{error}");
}

#[test]
fn a_byte_order_mark_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    let value = serde_json::json!({ "args": ["mcp", "--db", "a"] });
    let entry = crate::install::json_edit::JsonEntry::Field { path: vec!["mcpServers", "memory"], value };
    let edit = FileEdit::new(Part::Mcp, path.clone(), Change::Json(vec![entry]));
    let old = "\u{feff}{\n  \"a\": 1\n}\n";
    fs::write(&path, old).unwrap();
    edit.plan(false).unwrap().write(&Zoned::now()).unwrap();
    let new = fs::read_to_string(&path).unwrap();
    assert!(new.starts_with("\u{feff}{") && new.contains("mcpServers"), "{new}");
    edit.plan(true).unwrap().write(&Zoned::now()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), old);
}
