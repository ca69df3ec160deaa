//! Turns text into index terms and query clauses.
//!
//! Text is cut into runs of one script. The module `han` analyzes Chinese, `word` words of letters and digits. Japanese
//! and Korean are cut into pairs of characters here. The function `words` splits a text for display.

mod emoji;
mod han;
mod identifiers;
mod irregular_forms;
mod run;
mod stop_words;
mod syllabic;
mod word;
mod words;

use std::{
    fmt::Debug,
    sync::{Arc, LazyLock},
};

use memory_engine_core::{Terms, text};
use rustc_hash::FxHashMap;

use crate::store::Clause;
pub use words::{WordSpan, words};

use self::{run::run_length, syllabic::is_syllabic};

/// Turns text into terms. Backends store and search the terms of one analyzer, so that all return the same hits.
pub trait Analyzer: Debug + Send + Sync + 'static {
    /// Returns the name and version of the analyzer. Terms of another fingerprint do not match its queries.
    fn fingerprint(&self) -> &str;

    /// Returns the terms of a document.
    fn document(&self, text: &str) -> Terms;

    /// Returns the clauses of a query; none if it has only stop words and punctuation.
    fn query(&self, text: &str) -> Vec<Clause>;
}

const _: fn(&dyn Analyzer) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[deny(clippy::missing_trait_methods)]
        impl<T: Analyzer + ?Sized> Analyzer for $pointer<T> {
            fn fingerprint(&self) -> &str {
                (**self).fingerprint()
            }
            fn document(&self, text: &str) -> Terms {
                (**self).document(text)
            }
            fn query(&self, text: &str) -> Vec<Clause> {
                (**self).query(text)
            }
        }
    )*};
}

forward!(Arc, Box);

/// The analyzer for Chinese and English, also both in one sentence.
///
/// Text is [normalised](text::normalize) and cut where the script changes:
/// - Chinese becomes pairs of neighbouring characters (so that a word outside the dictionary is found), single
///   characters, and the words of jieba's dictionary with three or more characters. Pairs across a word boundary have a
///   lower weight in a query.
/// - English words are stemmed (Snowball). Words of other scripts are not. A query for one form of an irregular word
///   (eat, ate) also searches for the others.
/// - Numbers, dates and versions are indexed whole and in parts, and telephone numbers and codes without separators.
/// - Emoji are terms; flags are pairs of signs.
/// - Stop words are dropped from documents and queries.
///
/// Without the feature `chinese` there is no dictionary: Chinese becomes pairs and single characters, cut at stop words
/// only, and traditional characters do not match simplified ones. The fingerprint then differs, so that a store that
/// was indexed with the dictionary is refused or reindexed.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextAnalyzer;

static FINGERPRINT: LazyLock<String> = LazyLock::new(|| format!("{}/{}", han::VERSION, text::NORMALIZER));

impl Analyzer for TextAnalyzer {
    fn fingerprint(&self) -> &str {
        &FINGERPRINT
    }

    fn document(&self, text: &str) -> Terms {
        let mut terms = Vec::new();
        analyze(text, |term, _| terms.push(term));
        terms.into_iter().collect()
    }

    fn query(&self, text: &str) -> Vec<Clause> {
        let mut weights: FxHashMap<String, TermWeight> = FxHashMap::default();
        analyze(text, |term, weight| {
            let rank = weights.len();
            // A repeated term becomes one clause, with the highest of its weights.
            let entry = weights.entry(term).or_insert(TermWeight { rank, weight });
            entry.weight = entry.weight.max(weight);
        });
        let mut terms: Vec<(String, TermWeight)> = weights.into_iter().collect();
        if terms.len() > MAX_CLAUSES {
            terms.sort_by(|(_, a), (_, b)| b.weight.total_cmp(&a.weight).then(a.rank.cmp(&b.rank)));
            terms.truncate(MAX_CLAUSES);
        }
        terms.sort_by_key(|(_, entry)| entry.rank);
        terms.into_iter().map(|(term, entry)| irregular_forms::clause(term, entry.weight)).collect()
    }
}

/// The weight of a distinct term of a query.
#[derive(Debug)]
struct TermWeight {
    /// Number of distinct terms before this one.
    rank: usize,
    weight: f64,
}

/// Maximum number of clauses of a query. Of a pasted document, the clauses with the highest weights are kept; of
/// equal ones the first.
const MAX_CLAUSES: usize = 512;

/// Calls `emit` with every term of a text and its weight in a query.
fn analyze(text: &str, mut emit: impl FnMut(String, f64)) {
    let normalized = text::normalize(text);
    let characters: Vec<char> = normalized.chars().collect();
    let mut remaining = characters.as_slice();
    while let Some(first) = remaining.first().copied() {
        let length = if text::is_han(first) {
            let length = run_length(remaining, text::is_han);
            han::analyze(&remaining[..length], &mut emit);
            length
        } else if is_syllabic(first) {
            let length = run_length(remaining, is_syllabic);
            emit_pairs(&remaining[..length], &mut emit);
            length
        } else if first.is_alphanumeric() {
            let length = word::length(remaining);
            word::analyze(&remaining[..length], &mut emit);
            length
        } else {
            emoji::analyze(remaining, &mut emit)
        };
        remaining = &remaining[length..];
    }
    identifiers::analyze(&characters, &mut emit);
}

/// Emits the pairs of neighbouring characters, or the only character of a run.
fn emit_pairs(run: &[char], emit: &mut impl FnMut(String, f64)) {
    if let [only] = run {
        emit(only.to_string(), 1.0);
    }
    for pair in run.windows(2) {
        emit(pair.iter().collect(), 1.0);
    }
}

#[cfg(test)]
mod tests;
