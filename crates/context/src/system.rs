//! Behind the system prompt.

/// The system prompt with a block behind it, and a blank line between. Without a prompt it is the block, without a block
/// the prompt as it was.
pub fn appended(system: Option<&str>, block: &str) -> String {
    match system {
        None | Some("") => block.to_owned(),
        Some(system) if block.is_empty() => system.to_owned(),
        Some(system) => format!("{system}\n\n{block}"),
    }
}

/// Appends a block to the first system message, or puts a system message before all others. Messages are pairs of role and
/// content; `developer` is a system message by another name. An empty block changes nothing.
///
/// ```
/// let mut messages = vec![("user".to_owned(), "晚饭推荐什么？".to_owned())];
/// memory_engine_context::append_to_system(&mut messages, "Relevant long-term memory:\n- 用户对海鲜过敏");
/// assert_eq!(messages[0].0, "system");
/// ```
pub fn append_to_system(messages: &mut Vec<(String, String)>, block: &str) {
    if block.is_empty() {
        return;
    }
    match messages.iter_mut().find(|(role, _)| role == "system" || role == "developer") {
        Some((_, content)) => *content = appended(Some(content), block),
        None => messages.insert(0, ("system".into(), block.to_owned())),
    }
}

#[cfg(test)]
mod tests {
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
}
