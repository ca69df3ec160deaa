use super::*;

#[test]
fn titles_are_removed_from_full_names_only() {
    for (name, bare) in [
        ("Dr. Anna Reed", Some("Anna Reed")),
        ("Captain Sir John Holt", Some("John Holt")),
        ("Mr. Reed", None),
        ("Anna Reed", None),
        ("Kingston Road", None),
        ("李明先生", Some("李明")),
        ("欧阳娜娜小姐", Some("欧阳娜娜")),
        ("王先生", None),
        ("先生", None),
    ] {
        assert_eq!(strip(name).as_deref(), bare, "{name}");
    }
}
