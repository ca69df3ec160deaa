//! Appends a block of memories to the system prompt.

/// Returns the system prompt, a blank line and the block. Without a prompt, returns the block; with an empty block, the
/// prompt unchanged.
pub fn appended(system: Option<&str>, block: &str) -> String {
    match system {
        None | Some("") => block.to_owned(),
        Some(system) if block.is_empty() => system.to_owned(),
        Some(system) => format!("{system}\n\n{block}"),
    }
}

/// Appends a block to the first system message, or inserts a system message before all others. Messages are pairs of
/// role and content; `developer` counts as a system message. An empty block changes nothing.
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
mod tests;
