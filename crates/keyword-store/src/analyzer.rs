//! From text to terms.

mod han;
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
pub use words::{Word, words};

use self::syllabic::is_syllabic;

/// Makes terms of text. Every backend is given the same terms, so that all find the same.
pub trait Analyzer: Debug + Send + Sync + 'static {
    /// The name and version of what it does: terms of another fingerprint do not fit its queries.
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
/// Text is [normalised](text::normalize) and cut where the script changes. Chinese becomes pairs of neighbouring
/// characters (so that a word no dictionary knows is found), single characters, and the longer words of jieba's
/// dictionary; pairs across a word boundary count less in a question. Words of other scripts are stemmed when they are
/// English and kept as they are when not; numbers, dates and versions are kept whole and in parts. Stop words are left
/// out on both sides.
///
/// Without the feature `chinese` there is no dictionary: Chinese becomes pairs and single characters, cut at stop words
/// only, and traditional characters do not match simplified ones. The fingerprint is another one then, so that a store
/// that was indexed with the dictionary is refused or indexed again.
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
        let mut weights: FxHashMap<String, (usize, f64)> = FxHashMap::default();
        analyze(text, |term, weight| {
            let place = weights.len();
            // Said twice in the question, it is looked for once, as strongly as its strongest place.
            let known = weights.entry(term).or_insert((place, weight));
            known.1 = known.1.max(weight);
        });
        let mut terms: Vec<(String, (usize, f64))> = weights.into_iter().collect();
        if terms.len() > MAX_CLAUSES {
            terms.sort_by(|(_, (a, x)), (_, (b, y))| y.total_cmp(x).then(a.cmp(b)));
            terms.truncate(MAX_CLAUSES);
        }
        terms.sort_by_key(|(_, (place, _))| *place);
        terms.into_iter().map(|(term, (_, weight))| Clause::weighted(term, weight)).collect()
    }
}

/// Maximum number of clauses of a query. Of a pasted document, the clauses with the highest weights are kept; of
/// equal ones the first.
const MAX_CLAUSES: usize = 512;

/// Gives every term of a text with how much it counts in a question.
fn analyze(text: &str, mut emit: impl FnMut(String, f64)) {
    let normalized = text::normalize(text);
    let characters: Vec<char> = normalized.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let end = |belongs: fn(char) -> bool| {
            characters[at..].iter().position(|c| !belongs(*c)).map_or(characters.len(), |n| at + n)
        };
        let c = characters[at];
        at = if text::is_han(c) {
            let end = end(text::is_han);
            han::analyze(&characters[at..end], &mut emit);
            end
        } else if is_syllabic(c) {
            let end = end(is_syllabic);
            pairs(&characters[at..end], &mut emit);
            end
        } else if c.is_alphanumeric() {
            let end = at + word::length(&characters[at..]);
            word::analyze(&characters[at..end], &mut emit);
            end
        } else {
            at + 1
        };
    }
}

fn pairs(run: &[char], emit: &mut impl FnMut(String, f64)) {
    if let [one] = run {
        emit(one.to_string(), 1.0);
    }
    for pair in run.windows(2) {
        emit(pair.iter().collect(), 1.0);
    }
}

#[cfg(test)]
mod tests;
