use proptest::prelude::*;

use super::*;

#[test]
fn names_are_found_in_any_script_and_spelling() {
    let has_name = |text: &str, name: &str| names_in(text).iter().any(|found| fold(found) == fold(name));
    for (text, name) in [
        ("where did anna reed go?", "Anna Reed"),
        ("What's Krueger's tattoo?", "Krueger"),
        ("did Mr. Reed call?", "Mr. Reed"),
        ("沈砚和林曉月在哪里认识的？", "林晓月"),
        ("Krueger小队在哪", "Krueger小队"),
        ("Krueger小队在哪", "Krueger"),
        ("MU747飛往臺北", "台北"),
        ("what will Will do", "will"),
        ("the Order of the Phoenix, who leads it?", "Order of the Phoenix"),
    ] {
        assert!(has_name(text, name), "{name} in {:?}", names_in(text));
    }
    assert!(!has_name("will it rain?", "will") && !has_name("go, Anna. Reed went", "anna reed"));
    assert!(names_in("").is_empty() && names_in("?!…").is_empty());
}

proptest! {
    #[test]
    fn names_are_unique_and_limited(text in "\\PC{0,900}") {
        let names = names_in(&text);
        prop_assert!(names.len() <= MAX_NAMES);
        let different: BTreeSet<String> = names.iter().map(|name| fold(name)).collect();
        prop_assert_eq!(different.len(), names.len());
    }
}
