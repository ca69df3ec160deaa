#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    process::Command,
    thread,
};

use super::*;

fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_line(text)?;
    file.finish()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_link_stays_and_its_target_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("other")).unwrap();
    fs::write(at("other/target"), "old\n").unwrap();
    symlink("other/target", at("link")).unwrap();
    symlink("link", at("second")).unwrap();
    symlink("other/new", at("dangling")).unwrap();
    write(&at("second"), "one").unwrap();
    write(&at("dangling"), "two").unwrap();
    assert!(["link", "second", "dangling"].iter().all(|name| fs::symlink_metadata(at(name)).unwrap().is_symlink()));
    assert_eq!(fs::read_to_string(at("other/target")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(at("other/new")).unwrap(), "two\n");
    assert_eq!(names(&at("other")), ["new", "target"]);
}

#[test]
fn a_circle_of_links_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    symlink("b", folder.path().join("a")).unwrap();
    symlink("a", folder.path().join("b")).unwrap();
    assert!(write(&folder.path().join("a"), "x").is_err());
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn a_file_keeps_its_permissions_and_a_new_one_is_private() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o644, 0o600, 0o664] {
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
    }
    let new = folder.path().join("new");
    write(&new, "new").unwrap();
    assert_eq!(fs::metadata(&new).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_file_is_old_until_the_new_one_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    let mut file = OutputFile::create(&path).unwrap();
    file.write_line("half").unwrap();
    drop(file);
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("old", 1));
}

#[test]
fn a_fifo_and_a_device_are_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let reader = thread::spawn({
        let path = path.clone();
        move || fs::read_to_string(path).unwrap()
    });
    write(&path, "through").unwrap();
    assert_eq!(reader.join().unwrap(), "through\n");
    // Checked before anything is written: a wrong answer would replace the device.
    assert!(matches!(open(Path::new("/dev/full")).unwrap(), Output::Stream(_)));
    let full = write(Path::new("/dev/full"), "x").unwrap_err();
    assert!(full.to_string().contains("/dev/full cannot be written"), "{full:#}");
    assert!(!fs::metadata("/dev/full").unwrap().is_file());
    assert!(format!("{:#}", write(folder.path(), "x").unwrap_err()).contains("directory"));
}
