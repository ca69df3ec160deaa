//! Recognises the format of a file.

/// A format that is recognised by the beginning of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceFormat {
    /// An export of ChatGPT.
    ChatGpt,
    /// An export of Claude.
    Claude,
    /// A chat of WhatsApp.
    WhatsApp,
    /// An agent file of Letta.
    Letta,
    /// Messages, episodes or edges of Zep or Graphiti.
    Zep,
    /// A corpus or a memory of the Modeled Information Format.
    Mif,
}

/// Number of first lines of which one has to be a message of a chat.
const CHAT_LINES: usize = 10;

/// Part of the address of the vocabulary of the Modeled Information Format.
const MIF_VOCABULARY: &str = "mif-spec.dev";

/// Recognises a format by the first bytes of a file; a few thousand are enough. `None` if it is another format, or if
/// more than one is possible.
pub fn detect(beginning: &[u8]) -> Option<SourceFormat> {
    let text = String::from_utf8_lossy(beginning);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_list = text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'));
    match (is_list, has_key(text, "mapping"), has_key(text, "chat_messages")) {
        (true, true, false) => Some(SourceFormat::ChatGpt),
        (true, false, true) => Some(SourceFormat::Claude),
        _ if is_list || text.starts_with('{') => detect_objects(text),
        _ if text.lines().take(CHAT_LINES).any(crate::whatsapp::is_message) => Some(SourceFormat::WhatsApp),
        _ => None,
    }
}

/// Recognises the formats of JSON objects. Lines of JSON Lines have a `text` of their own.
fn detect_objects(text: &str) -> Option<SourceFormat> {
    let has_all = |keys: &[&str]| keys.iter().all(|key| has_key(text, key));
    let is_letta = has_all(&["agent_type", "core_memory"])
        || (has_key(text, "agents")
            && ["agent_type", "block_ids", "memory_blocks"].iter().any(|key| has_key(text, key)));
    let is_mif = has_key(text, "@context") && text.contains(MIF_VOCABULARY);
    let is_zep = !has_key(text, "text")
        && (has_all(&["fact", "source_node_uuid", "uuid"])
            || has_all(&["content", "source_description", "uuid"])
            || has_all(&["content", "role_type", "uuid"])
            || has_all(&["content", "role", "thread_uuid", "uuid"])
            || has_all(&["messages", "content", "role", "uuid"]));
    match (is_letta, is_mif, is_zep) {
        (true, false, false) => Some(SourceFormat::Letta),
        (false, true, false) => Some(SourceFormat::Mif),
        (false, false, true) => Some(SourceFormat::Zep),
        _ => None,
    }
}

/// Returns true if an object has this key: a text before a colon.
fn has_key(text: &str, key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    text.match_indices(&quoted).any(|(at, _)| text[at + quoted.len()..].trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        for (beginning, format) in [
            ("[{\"title\": \"a\", \"mapping\": {\"x\"", Some(SourceFormat::ChatGpt)),
            ("\u{feff}[\n {\"uuid\": \"a\", \"chat_messages\": [", Some(SourceFormat::Claude)),
            ("[31/12/2024, 23:59:59] Anna: hi", Some(SourceFormat::WhatsApp)),
            ("31.12.24, 23:59 - Anna: hi", Some(SourceFormat::WhatsApp)),
            ("31.12.24, 23:58 - A notice\n31.12.24, 23:59 - Anna: hi", Some(SourceFormat::WhatsApp)),
            ("{\"text\": \"my mapping\", \"mapping\": 1}", None),
            ("[{\"mapping\": 1, \"chat_messages\": 1}]", None),
            ("{\"agent_type\":\"memgpt_agent\",\"core_memory\":[{", Some(SourceFormat::Letta)),
            ("{\n \"agents\": [\n {\"name\": \"sam\", \"memory_blocks\": [], \"text\": 1", Some(SourceFormat::Letta)),
            ("{\"messages\":[{\"content\":\"a\",\"role\":\"user\",\"uuid\":\"b\"}]}", Some(SourceFormat::Zep)),
            ("[{\"uuid\":\"a\",\"source_node_uuid\":\"b\",\"fact\":\"c\"", Some(SourceFormat::Zep)),
            (
                "{\"episodes\":[{\"uuid\":\"a\",\"source\":\"text\",\"source_description\":\"b\",\"content\":\"c\"",
                Some(SourceFormat::Zep),
            ),
            ("{\"@context\": \"https://mif-spec.dev/schema/container-context.jsonld\"", Some(SourceFormat::Mif)),
            ("{\"text\":\"a\",\"content\":1,\"role_type\":\"b\",\"uuid\":\"c\"}", None),
            ("{\"text\": \"the key \\\"@context\\\": mif-spec.dev\"}", None),
            ("id,role,content", None),
            ("", None),
        ] {
            assert_eq!(detect(beginning.as_bytes()), format, "{beginning}");
        }
    }
}
