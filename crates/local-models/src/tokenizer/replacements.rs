//! Replacements of single characters before tokenisation.

use super::compositions::compose;
use crate::error::ModelError;

/// A map from characters to replacements, which may be empty: the one-character rules of
/// SentencePiece's `nmt_nfkc` normalisation.
#[derive(Debug, Default)]
pub(crate) struct CharReplacements {
    /// Sorted characters, each with the bounds of its replacement in `text`.
    entries: Vec<(char, u32, u32)>,
    text: String,
}

impl CharReplacements {
    /// Adds a rule. Characters must be added in ascending order.
    ///
    /// # Errors
    /// `Corrupt` if they are not.
    pub(crate) fn push(&mut self, from: char, to: impl Iterator<Item = char>) -> Result<(), ModelError> {
        if self.entries.last().is_some_and(|&(last, ..)| last >= from) {
            return Err(ModelError::corrupt("the normalisation rules are not in ascending order"));
        }
        let start = self.text.len();
        self.text.extend(to);
        self.entries.push((from, start as u32, self.text.len() as u32));
        Ok(())
    }

    /// Composes letters and marks, applies all rules and appends the result to `out`.
    pub(crate) fn apply(&self, text: &str, out: &mut String) {
        let mut characters = text.chars().peekable();
        while let Some(mut character) = characters.next() {
            while let Some(composed) = characters.peek().and_then(|&mark| compose(character, mark)) {
                character = composed;
                characters.next();
            }
            match self.entries.binary_search_by_key(&character, |&(from, ..)| from) {
                Ok(index) => {
                    let (_, start, end) = self.entries[index];
                    out.push_str(&self.text[start as usize..end as usize]);
                }
                Err(_) => out.push(character),
            }
        }
    }
}
