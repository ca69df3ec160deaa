//! BERT's tokenizer: basic splitting, then greedy longest-match pieces (Devlin et al. 2018).

use super::{
    bert_tables::{ACCENTED, BARE, DECOMPOSITIONS, IDEOGRAPHS, NONSPACING_MARKS, PUNCTUATION, REMOVED},
    pieces::PieceTable,
};
use crate::error::ModelError;

/// Parameters that differ between models.
#[derive(Debug, Clone)]
pub(crate) struct WordPieceOptions {
    /// The id that opens a sequence.
    pub(crate) start: u32,
    /// The id that closes it.
    pub(crate) end: u32,
    /// The id of a word that no pieces cover.
    pub(crate) unknown: u32,
    /// Prefix of pieces inside a word.
    pub(crate) continuation: String,
    /// Words with more characters are unknown.
    pub(crate) max_word_chars: usize,
    pub(crate) clean_text: bool,
    pub(crate) separate_ideographs: bool,
    pub(crate) strip_accents: bool,
    pub(crate) lowercase: bool,
}

/// A WordPiece tokenizer.
#[derive(Debug)]
pub(crate) struct WordPiece {
    pieces: PieceTable,
    options: WordPieceOptions,
    /// [`ACCENTED`] with [`BARE`], sorted.
    folds: Vec<(char, char)>,
}

impl WordPiece {
    /// Creates a tokenizer from a vocabulary.
    ///
    /// # Errors
    /// `Corrupt` if a special id is not a piece.
    pub(crate) fn new(pieces: PieceTable, options: WordPieceOptions) -> Result<Self, ModelError> {
        let special = [options.start, options.end, options.unknown];
        if let Some(id) = special.into_iter().find(|&id| id as usize >= pieces.len()) {
            return Err(ModelError::corrupt(format!("the special token {id} is not in the vocabulary")));
        }
        Ok(Self { pieces, options, folds: ACCENTED.chars().zip(BARE.chars()).collect() })
    }

    /// Returns the start and end ids of a sequence.
    pub(crate) fn ends(&self) -> (u32, u32) {
        (self.options.start, self.options.end)
    }

    /// Number of pieces.
    pub(crate) fn size(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the ids of a text, without special tokens.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let normalized = self.normalize(text);
        let mut ids = Vec::with_capacity(normalized.len() / 3 + 2);
        for word in normalized.split_whitespace() {
            let mut start = 0;
            for (offset, character) in word.char_indices() {
                if is_in_ranges(&PUNCTUATION, character) {
                    let end = offset + character.len_utf8();
                    self.split_word(&word[start..offset], &mut ids);
                    self.split_word(&word[offset..end], &mut ids);
                    start = end;
                }
            }
            self.split_word(&word[start..], &mut ids);
        }
        ids
    }

    fn normalize(&self, text: &str) -> String {
        let options = &self.options;
        let mut out = String::with_capacity(text.len() + 8);
        for character in text.chars() {
            if options.clean_text && character.is_whitespace() && !is_in_ranges(&REMOVED, character) {
                out.push(' ');
            } else if options.clean_text && is_in_ranges(&REMOVED, character) {
                // Dropped.
            } else if options.separate_ideographs && is_in_ranges(&IDEOGRAPHS, character) {
                out.push(' ');
                self.fold(character, &mut out);
                out.push(' ');
            } else {
                self.fold(character, &mut out);
            }
        }
        out
    }

    /// Strips accents and lowercases, if configured.
    fn fold(&self, character: char, out: &mut String) {
        if !self.options.strip_accents || character.is_ascii() {
            self.lower(character, out);
        } else if let Some(parts) = hangul_parts(character) {
            parts.into_iter().flatten().for_each(|part| self.lower(part, out));
        } else if let Ok(index) = self.folds.binary_search_by_key(&character, |&(from, _)| from) {
            self.lower(self.folds[index].1, out);
        } else if let Ok(index) = DECOMPOSITIONS.binary_search_by_key(&character, |&(from, _)| from) {
            DECOMPOSITIONS[index].1.chars().for_each(|part| self.lower(part, out));
        } else if !is_in_ranges(&NONSPACING_MARKS, character) {
            self.lower(character, out);
        }
    }

    fn lower(&self, character: char, out: &mut String) {
        if self.options.lowercase {
            out.extend(character.to_lowercase());
        } else {
            out.push(character);
        }
    }

    /// Appends the pieces of one word, or the unknown id if a part of it has no piece.
    fn split_word(&self, word: &str, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        if word.chars().count() > self.options.max_word_chars {
            ids.push(self.options.unknown);
            return;
        }
        let first = ids.len();
        let mut rest = word;
        while !rest.is_empty() {
            let with_marker = format!("{}{rest}", self.options.continuation);
            let (text, marker_length) =
                if rest.len() == word.len() { (rest, 0) } else { (&*with_marker, with_marker.len() - rest.len()) };
            let mut longest = None;
            self.pieces.for_each_prefix(text, |length, id| {
                if length > marker_length {
                    longest = Some((length - marker_length, id));
                }
            });
            let Some((length, id)) = longest else {
                ids.truncate(first);
                ids.push(self.options.unknown);
                return;
            };
            ids.push(id);
            rest = &rest[length..];
        }
    }
}

fn is_in_ranges(ranges: &[(u32, u32)], character: char) -> bool {
    let code = character as u32;
    let index = ranges.partition_point(|&(_, last)| last < code);
    ranges.get(index).is_some_and(|&(first, _)| first <= code)
}

/// Returns the two or three letters of a Hangul syllable (Unicode standard, section 3.12).
fn hangul_parts(character: char) -> Option<[Option<char>; 3]> {
    let index = (character as u32).checked_sub(0xAC00).filter(|&index| index < 11_172)?;
    let (lead, vowel, tail) = (index / 588, index % 588 / 28, index % 28);
    let tail = (tail > 0).then_some(0x11A7 + tail).and_then(char::from_u32);
    Some([char::from_u32(0x1100 + lead), char::from_u32(0x1161 + vowel), tail])
}
