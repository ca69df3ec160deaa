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
