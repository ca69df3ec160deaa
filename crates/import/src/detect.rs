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
}

/// Number of first lines of which one has to be a message of a chat.
const CHAT_LINES: usize = 10;

/// Recognises a format by the first bytes of a file; a few thousand are enough. `None` if it is another format, or if
/// more than one is possible.
pub fn detect(beginning: &[u8]) -> Option<SourceFormat> {
    let text = String::from_utf8_lossy(beginning);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let has_key = |key: &str| text.contains(&format!("\"{key}\""));
    let is_list = text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'));
    match (is_list, has_key("mapping"), has_key("chat_messages")) {
        (true, true, false) => Some(SourceFormat::ChatGpt),
        (true, false, true) => Some(SourceFormat::Claude),
        (false, ..) if text.lines().take(CHAT_LINES).any(crate::whatsapp::is_message) => Some(SourceFormat::WhatsApp),
        _ => None,
    }
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
            ("id,role,content", None),
            ("", None),
        ] {
            assert_eq!(detect(beginning.as_bytes()), format, "{beginning}");
        }
    }
}
