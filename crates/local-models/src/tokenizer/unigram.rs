//! The SentencePiece unigram model (Kudo 2018): the segmentation of highest probability.
//!
//! Ids equal those of the hub tokenizer of the same model: same normalisation, U+2581 for each space
//! and at the start, and no piece across a space. The segmentation uses Viterbi's algorithm.

#[cfg(feature = "hf")]
use super::charsmap::Charsmap;
use super::{pieces::PieceTable, replacements::CharReplacements};
use crate::error::ModelError;

/// The marker of a space.
const SPACE: char = '\u{2581}';

/// Penalty of an unknown character relative to the least probable piece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// The normalisation before the segmentation.
#[derive(Debug)]
pub(crate) enum Normalizer {
    /// Rules for single characters.
    Characters(CharReplacements),
    /// No normalisation.
    #[cfg(feature = "hf")]
    Identity,
    /// SentencePiece's compiled map of strings to strings.
    #[cfg(feature = "hf")]
    Charsmap(Charsmap),
}

/// Parameters that differ between models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnigramOptions {
    /// The id that opens a sequence.
    pub(crate) start: u32,
    /// The id that closes it.
    pub(crate) end: u32,
    /// The id of characters that no piece covers.
    pub(crate) unknown: u32,
    /// True if runs of U+0020 count as one.
    pub(crate) merge_spaces: bool,
    /// True if every kind of white space only separates words and is dropped.
    pub(crate) split_white_space: bool,
}

/// A unigram tokenizer.
#[derive(Debug)]
pub(crate) struct Unigram {
    normalizer: Normalizer,
    pieces: PieceTable,
    scores: Vec<f32>,
    unknown_score: f64,
    options: UnigramOptions,
}

/// The best segmentation up to a position: its score and its last piece.
#[derive(Clone, Copy)]
struct BestPath {
    score: f64,
    start: usize,
    id: u32,
}

impl BestPath {
    /// Replaces the path by a better one. On a tie, the earlier path stays.
    fn improve(&mut self, other: Self) {
        if other.score > self.score {
            *self = other;
        }
    }
}

impl Unigram {
    /// Creates a tokenizer from pieces and their log probabilities.
    ///
    /// # Errors
    /// `Corrupt` unless each piece has one finite score and all special ids are pieces.
    pub(crate) fn new(
        normalizer: Normalizer,
        pieces: PieceTable,
        scores: Vec<f32>,
        options: UnigramOptions,
    ) -> Result<Self, ModelError> {
        if scores.len() != pieces.len() || scores.is_empty() {
            let (scores, pieces) = (scores.len(), pieces.len());
            return Err(ModelError::corrupt(format!(
                "there are {scores} scores for {pieces} pieces; each piece needs one"
            )));
        }
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(ModelError::corrupt("the score of a piece is not finite"));
        }
        let special = [options.start, options.end, options.unknown];
        if let Some(id) = special.into_iter().find(|&id| id as usize >= pieces.len()) {
            return Err(ModelError::corrupt(format!("the special token {id} is not in the vocabulary")));
        }
        let min_score = scores.iter().copied().fold(f32::INFINITY, f32::min);
        let unknown_score = f64::from(min_score) - UNKNOWN_PENALTY;
        Ok(Self { normalizer, pieces, scores, unknown_score, options })
    }

    /// Returns the start and end ids of a sequence.
    pub(crate) fn ends(&self) -> (u32, u32) {
        (self.options.start, self.options.end)
    }

    /// Number of pieces.
    pub(crate) fn size(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the log probability of a piece, or that of an unknown character for any other id.
    pub(crate) fn score(&self, id: u32) -> f32 {
        match self.scores.get(id as usize) {
            Some(&score) if id != self.options.unknown => score,
            _ => self.unknown_score as f32,
        }
    }

    /// Returns the ids of a text, without special tokens.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let marked = self.mark_spaces(&self.normalize(text));
        let mut ids = Vec::with_capacity(marked.len() / 3 + 2);
        let mut best = Vec::new();
        let mut rest = marked.as_str();
        while !rest.is_empty() {
            // Each space marker starts a word.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let end = rest[first..].find(SPACE).map_or(rest.len(), |offset| first + offset);
            let (word, after) = rest.split_at(end);
            self.segment(word, &mut best, &mut ids);
            rest = after;
        }
        ids
    }

    fn normalize(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 8);
        match &self.normalizer {
            Normalizer::Characters(rules) => rules.apply(text, &mut out),
            #[cfg(feature = "hf")]
            Normalizer::Identity => out.push_str(text),
            #[cfg(feature = "hf")]
            Normalizer::Charsmap(map) => map.apply(text, &mut out),
        }
        out
    }

    /// Replaces each space by a marker, and adds one at the start.
    fn mark_spaces(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + text.len() / 4 + 3);
        if self.options.split_white_space {
            for word in text.split_whitespace() {
                if !word.starts_with(SPACE) {
                    out.push(SPACE);
                }
                out.push_str(word);
            }
            return out;
        }
        let mut previous = '\0';
        for character in text.chars() {
            let is_space = character == ' ';
            if out.is_empty() && !is_space && character != SPACE {
                out.push(SPACE);
            }
            if !(is_space && previous == ' ' && self.options.merge_spaces) {
                out.push(if is_space { SPACE } else { character });
            }
            previous = character;
        }
        out
    }

    /// Appends the ids of the best segmentation of one word.
    fn segment(&self, word: &str, best: &mut Vec<BestPath>, ids: &mut Vec<u32>) {
        let unknown = self.options.unknown;
        best.clear();
        best.resize(word.len() + 1, BestPath { score: f64::NEG_INFINITY, start: 0, id: unknown });
        best[0].score = 0.0;
        for (start, character) in word.char_indices() {
            let prefix_score = best[start].score;
            let char_length = character.len_utf8();
            let mut has_piece = false;
            self.pieces.for_each_prefix(&word[start..], |length, id| {
                has_piece |= length == char_length;
                let score = prefix_score + f64::from(self.scores[id as usize]);
                best[start + length].improve(BestPath { score, start, id });
            });
            if !has_piece {
                let score = prefix_score + self.unknown_score;
                best[start + char_length].improve(BestPath { score, start, id: unknown });
            }
        }
        self.trace(best, ids);
    }

    /// Traces the best path back from the end. Adjacent unknown characters become one token.
    fn trace(&self, best: &[BestPath], ids: &mut Vec<u32>) {
        let first = ids.len();
        let mut end = best.len() - 1;
        while end > 0 {
            let BestPath { start, id, .. } = best[end];
            if id != self.options.unknown || ids[first..].last() != Some(&id) {
                ids.push(id);
            }
            end = start;
        }
        ids[first..].reverse();
    }
}
