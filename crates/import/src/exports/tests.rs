use std::{fs, io::Write};

use serde_json::json;
use tempfile::tempdir;

use super::*;
use crate::{chatgpt, claude, sources::ImportSource};

fn conversation(id: &str, text: &str) -> Value {
    let message = json!({"id": id, "author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}});
    json!({"title": id, "conversation_id": id, "current_node": id, "mapping": {id: {"id": id, "message": message}}})
}

/// Returns the texts of an export, `!` for a bad row, and the error that ended it.
fn texts(path: &Path) -> (Vec<String>, Option<String>) {
    let mut texts = Vec::new();
    for row in chatgpt::export_rows(path).unwrap().0 {
        match row.map(|row| row.turns) {
            Ok(Ok(turns)) => texts.extend(turns.iter().map(|turn| turn.keys["text"].as_str().unwrap().to_owned())),
            Ok(Err(_)) => texts.push("!".to_owned()),
            Err(error) => return (texts, Some(error.to_string())),
        }
    }
    (texts, None)
}

fn zip_of(path: &Path, files: &[(&str, &str)]) {
    let mut writer = zip::ZipWriter::new(File::create(path).unwrap());
    for (name, text) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn lists_objects_folders_and_archives_are_read() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (one, two) = (conversation("c1", "一号船"), conversation("c2", "second boat"));
    let list = json!([one, two]).to_string();
    fs::write(at("list.json"), &list).unwrap();
    fs::write(at("one.json"), one.to_string()).unwrap();
    fs::write(at("object.json"), json!({"version": 2, "conversations": [one, two]}).to_string()).unwrap();
    fs::create_dir(at("export")).unwrap();
    fs::write(at("export/conversations-000.json"), json!([one]).to_string()).unwrap();
    fs::write(at("export/conversations-001.json"), json!([two]).to_string()).unwrap();
    fs::write(at("export/user.json"), "{}").unwrap();
    zip_of(&at("export.zip"), &[("user.json", "{}"), ("data/conversations.json", &list)]);
    for name in ["list.json", "object.json", "export", "export.zip"] {
        assert_eq!(texts(&at(name)), (vec!["一号船".to_owned(), "second boat".to_owned()], None), "{name}");
    }
    assert_eq!(texts(&at("one.json")).0, ["一号船"]);
    for name in ["export", "export.zip"] {
        assert_eq!(ImportSource::detect_export(&at(name), 4096).map(|source| source.name), Some("chatgpt"), "{name}");
    }
    assert!(ImportSource::detect_export(&at("list.json"), 4096).is_none());
}

#[test]
fn a_broken_conversation_or_file_does_not_cost_the_others() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (one, two) = (conversation("c1", "one"), conversation("c2", "two"));
    for (broken, bad_rows) in [
        ("{\"title\": \"deleted\"}", 1),
        ("{\"title\": \"x\", \"mapping\": {\"a\": }}", 1),
        ("{\"title\": \"x\", \"mapping\": {", 1),
        ("{\"title\": \"x", 1),
        ("17", 1),
        ("{\"title\": \"half \\ud83d\", \"mapping\": {}}", 0),
    ] {
        for list in [format!("[{broken},{one},{two}]"), format!("[{one},{broken},{two}]")] {
            fs::write(at("conversations.json"), &list).unwrap();
            let (texts, error) = texts(&at("conversations.json"));
            let good = texts.iter().filter(|text| *text != "!").count();
            assert_eq!((good, texts.len(), error), (2, 2 + bad_rows, None), "{list}");
        }
    }
    fs::create_dir(at("export")).unwrap();
    fs::write(at("export/conversations-000.json"), "{\"id\": 1}").unwrap();
    fs::write(at("export/conversations-001.json"), json!([two]).to_string()).unwrap();
    assert_eq!(texts(&at("export")), (vec!["!".to_owned(), "two".to_owned()], None));
}

#[test]
fn another_container_is_refused_with_its_files() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("user.json"), "{}").unwrap();
    zip_of(&at("other.zip"), &[("photo.jpg", "x")]);
    for (path, seen) in [(folder.path().to_owned(), "user.json"), (at("other.zip"), "photo.jpg")] {
        let error = claude::export_rows(&path).err().unwrap().to_string();
        assert!(error.contains("no conversations.json") && error.contains(seen), "{error}");
    }
    fs::write(at("cut.zip"), b"PK\x03\x04cut").unwrap();
    let error = chatgpt::export_rows(&at("cut.zip")).err().unwrap();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("ZIP archive cannot be read"));
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_not_followed() {
    let folder = tempdir().unwrap();
    let outside = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(outside.path().join("secret.json"), json!([conversation("s", "secret")]).to_string()).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.json"), at("conversations-000.json")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("conversations-001.json")).status().unwrap().success());
    fs::write(at("conversations-002.json"), json!([conversation("c", "mine")]).to_string()).unwrap();
    assert_eq!(texts(folder.path()), (vec!["!".to_owned(), "!".to_owned(), "mine".to_owned()], None));
}
