use super::*;

fn texts(text: &str) -> Vec<String> {
    names(text).into_iter().map(|(_, mention)| mention.name).collect()
}

#[test]
fn names_are_found_by_capitals_within_a_sentence() {
    for (text, expected) in [
        ("Yesterday Anna Reed met Captain Holt at the Old Mill.", vec!["Anna Reed", "Captain Holt", "Old Mill"]),
        ("Tea is ready. Bring it to Tom's room.", vec!["Tom"]),
        ("Tom went home. I saw Tom there.", vec!["Tom", "Tom"]),
        ("On Monday I'm in Hamburg, then in New York City.", vec!["Hamburg", "New York City"]),
        ("She joined the Order of the Phoenix and the KSK.", vec!["Order of the Phoenix", "KSK"]),
        ("Anna's Dog barks", vec!["Dog"]),
        ("He said: \"Dr. J. Reed-Holt knows.\"", vec!["Dr. J. Reed-Holt"]),
        ("WHAT ON EARTH MAKES EVERYBODY SHOUT THIS LOUD TODAY PLEASE", vec![]),
        ("nothing here", vec![]),
    ] {
        assert_eq!(texts(text), expected, "{text}");
    }
}

#[test]
fn kinds_follow_from_names() {
    assert_eq!(kind_from_name("Captain Holt"), EntityKind::Person);
    assert_eq!(kind_from_name("Old Mill"), EntityKind::Place);
    assert_eq!(kind_from_name("Acme Corp."), EntityKind::Org);
    assert_eq!(kind_from_name("Mill"), EntityKind::Other);
}

#[test]
fn names_of_things_may_begin_with_a_common_word() {
    for (text, name) in [
        ("She steered her ship Morning Tide out of the bay.", "Morning Tide"),
        ("He sold the boat Good Hope in May.", "Good Hope"),
        ("They boarded the schooner Little Sister at dawn.", "Little Sister"),
        ("We read the novel New Moon aloud.", "New Moon"),
        ("I bought a yacht called Second Wind.", "Second Wind"),
        ("my horse Early Riser won", "Early Riser"),
        ("The crew of the vessel Long Road slept.", "Long Road"),
        ("We drank at the pub Old Friend.", "Old Friend"),
        ("The band Last Days played.", "Last Days"),
        ("Her sword First Light was broken.", "First Light"),
    ] {
        assert!(names(text).iter().any(|(_, mention)| mention.name == name), "{text}: {:?}", names(text));
    }
    for text in [
        "Her ship was late this morning.",
        "The boat, When Anna saw it, sank.",
        "The ship left. Good news came.",
        "I named. Then I slept.",
        "my dog is old",
        "We took the ferry. The Old came too.",
        "a book by someone",
        "The train is late. New trains are faster.",
        "They played. First we won.",
        "The song ended. Second verse.",
    ] {
        let found: Vec<String> = names(text).into_iter().map(|(_, mention)| mention.name).collect();
        assert!(found.iter().all(|name| !name.contains(' ')), "{text}: {found:?}");
    }
}
