//! Shortens long texts, so that an answer with many records stays small.

/// Maximum length of a text in a list, in characters.
pub(super) const LIST_MAX_CHARS: usize = 600;
/// Maximum length of the text of a record that is shown as evidence, in characters.
pub(super) const EVIDENCE_MAX_CHARS: usize = 4000;

/// Returns the first characters of a text, and true if there are more.
pub(super) fn clip(text: &str, max_chars: usize) -> (String, bool) {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(clip("桥塌了", 2), ("桥塌".to_owned(), true));
        assert_eq!(clip("桥塌了", 3), ("桥塌了".to_owned(), false));
        assert_eq!(clip("", 0), (String::new(), false));
    }
}
