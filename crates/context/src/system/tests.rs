use super::*;

fn messages(roles: &[&str]) -> Vec<(String, String)> {
    roles.iter().map(|role| (role.to_string(), format!("of {role}"))).collect()
}

#[test]
fn m5_the_first_system_message_keeps_its_text_and_the_others_stay() {
    let mut all = messages(&["user", "system", "system"]);
    append_to_system(&mut all, "block");
    assert_eq!(all[1].1, "of system\n\nblock");
    assert_eq!((all[0].1.as_str(), all[2].1.as_str(), all.len()), ("of user", "of system", 3));
}

#[test]
fn m5_without_a_system_message_one_is_put_first() {
    let mut all = messages(&["user", "assistant"]);
    append_to_system(&mut all, "block");
    assert_eq!(all[0], ("system".into(), "block".into()));
    assert_eq!(&all[1..], messages(&["user", "assistant"]));
    let mut developer = messages(&["developer"]);
    append_to_system(&mut developer, "block");
    assert_eq!(developer.len(), 1);
}

#[test]
fn an_empty_block_changes_nothing() {
    let mut all = messages(&["user"]);
    append_to_system(&mut all, "");
    assert_eq!(all, messages(&["user"]));
    assert_eq!(
        (appended(Some("a "), ""), appended(None, "b"), appended(Some(""), "b")),
        ("a ".into(), "b".into(), "b".into())
    );
}
