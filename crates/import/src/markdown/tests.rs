use super::*;

fn read(text: &str) -> Vec<Value> {
    let notes = read_note(text, "tea/green.md").unwrap();
    notes.into_iter().map(|turn| Value::Object(turn.keys)).collect()
}

#[test]
fn front_matter_becomes_fields_and_metadata() {
    let note = "---\ntitle: \"Tea: green\"\ndate: 2024-01-01\ntags: [drink, '绿茶']\naliases:\n  - sencha\n  - bancha\n\
        rating: 5\nempty:\n# a comment\n---\n\nI only drink green tea.\n\n## Why\n---\nIt tastes good.\n";
    let expected = json!({
        "kind": "note", "id": "tea/green.md", "time": "2024-01-01", "tags": ["drink", "绿茶"],
        "text": "I only drink green tea.\n\n## Why\n---\nIt tastes good.",
        "metadata": {"title": "Tea: green", "aliases": ["sencha", "bancha"], "rating": "5"},
    });
    assert_eq!(read(note), [expected]);
}

#[test]
fn a_note_without_front_matter_is_its_text() {
    assert_eq!(read("# Tea\n")[0]["text"], "# Tea");
    assert_eq!(read("---\nAfter a line.\n")[0]["text"], "---\nAfter a line.");
    assert_eq!(read("\r\n"), Vec::<Value>::new());
    assert_eq!(read("---\ntitle: a\n---\n"), Vec::<Value>::new());
}

#[test]
fn fields_of_a_record_are_kept() {
    let turn = &read(
        "---\r\nid: a1\r\nkind: turn\r\nsession: s\r\ntags: a, b\r\ncreated: 2024-01-01T10:00:00Z\r\n---\r\nhi\r\n",
    )[0];
    assert_eq!((&turn["id"], &turn["kind"], &turn["role"]), (&json!("a1"), &json!("turn"), &json!("user")));
    assert_eq!((&turn["tags"], &turn["time"]), (&json!(["a", "b"]), &json!("2024-01-01T10:00:00Z")));
}

#[test]
fn front_matter_without_an_end_is_a_bad_row() {
    assert!(read_note("---\ntitle: a\n", "a.md").unwrap_err().to_string().contains("end the front matter"));
}

#[test]
fn all_notes_of_a_folder_are_read_in_order() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("b")).unwrap();
    for name in ["c.md", "b/a.md", "a.MD", "x.txt"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    fs::write(folder.path().join("bad.md"), b"\xff").unwrap();
    let rows: Vec<Row> = rows(folder.path()).unwrap().0.map(Result::unwrap).collect();
    assert_eq!(rows.iter().map(|row| row.place.as_str()).collect::<Vec<_>>(), ["a.MD", "b/a.md", "bad.md", "c.md"]);
    assert!(rows[2].turns.is_err());
    let empty = tempfile::tempdir().unwrap();
    assert!(super::rows(empty.path()).err().unwrap().to_string().contains("no Markdown file"));
}

#[cfg(unix)]
#[test]
fn links_and_special_files_of_a_folder_are_reported_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "外面的秘密 secret of the machine").unwrap();
    fs::write(folder.path().join("a.md"), "茶 tea").unwrap();
    fs::write(folder.path().join("long.md"), "x".repeat(MAX_LINE_BYTES + 1)).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("link.md")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.md")).unwrap();
    for fifo in ["pipe.md", "index.md"] {
        let made = std::process::Command::new("mkfifo").arg(folder.path().join(fifo)).status().unwrap();
        assert!(made.success());
    }
    let rows: Vec<Row> = rows(folder.path()).unwrap().0.map(Result::unwrap).collect();
    let outcome = |row: &Row| match &row.turns {
        Ok(turns) => format!("{}: {} notes", row.place, turns.len()),
        Err(error) => error.to_string().rsplit('/').next().unwrap().to_owned(),
    };
    let outcomes: Vec<String> = rows.iter().map(outcome).collect();
    let refused =
        |name: &str| format!("{name} is a link, a FIFO or a device; only the regular files of a folder are imported");
    let long = "the file has more than 4 MiB; split the note".to_owned();
    let read = "a.md: 1 notes".to_owned();
    assert_eq!(outcomes, [read, refused("index.md"), refused("link.md"), long, refused("pipe.md"), refused("zero.md")]);
    // A link that the user names is followed, and a device is not.
    assert!(super::rows(&folder.path().join("link.md")).unwrap().0.all(|row| row.unwrap().turns.is_ok()));
    let device = super::rows(Path::new("/dev/zero")).unwrap().0.next().unwrap().unwrap_err();
    assert!(device.to_string().contains("/dev/zero is a device; name a file"), "{device}");
}

#[test]
fn keys_of_an_exported_bundle_are_not_metadata() {
    let exported = "---\ntype: \"fact\"\nkind: \"fact\"\ngenerated: { by: \"process:x\", at: \"2026-01-05\" }\n\
        stale_after: 2027-01-01\nvalid_until: \"2027-01-01T08:00:00Z\"\n---\nLin rents a garage.\n";
    let expected = json!({"kind": "fact", "id": "tea/green.md", "valid_until": "2027-01-01T08:00:00Z",
        "text": "Lin rents a garage.", "metadata": {}});
    assert_eq!(read(exported), [expected]);
    let foreign = &read("---\ntype: Playbook\ntimestamp: 2026-01-05\n---\nRestart it.\n")[0];
    assert_eq!((&foreign["metadata"], &foreign["time"]), (&json!({"type": "Playbook"}), &json!("2026-01-05")));
}

#[test]
fn listings_of_a_bundle_are_no_notes() {
    let folder = tempfile::tempdir().unwrap();
    let names = |folder: &Path| rows(folder).unwrap().0.map(|row| row.unwrap().place).collect::<Vec<_>>();
    for file in ["index.md", "log.md", "note.md"] {
        fs::write(folder.path().join(file), "# A title").unwrap();
    }
    assert_eq!(names(folder.path()), ["index.md", "log.md", "note.md"]);
    fs::write(folder.path().join("index.md"), "---\nokf_version: \"0.2\"\n---\n# A title").unwrap();
    assert_eq!(names(folder.path()), ["note.md"]);
}
