//! The words of a text, as an index sees them.

use std::collections::BTreeMap;

/// The analyzed terms of one text with how often each occurs.
///
/// Made by an analyzer (see the keyword-store crate) and never by splitting raw text elsewhere, so that every backend
/// indexes identical terms. A term is not empty and holds no white space.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms(BTreeMap<String, u32>);

impl Terms {
    /// The terms in their order of spelling, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(term, count)| (term.as_str(), *count))
    }

    /// Returns the number of occurrences of a term.
    pub fn count(&self, term: &str) -> u32 {
        self.0.get(term).copied().unwrap_or(0)
    }

    /// Returns the number of terms with repetitions: the length of the text for ranking.
    pub fn length(&self) -> u32 {
        self.0.values().sum()
    }

    /// Returns true if there are no terms.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<String>> Extend<T> for Terms {
    /// Counts the terms, too; those that are empty or hold white space are left out.
    fn extend<I: IntoIterator<Item = T>>(&mut self, terms: I) {
        for term in terms {
            let term: String = term.into();
            if !term.is_empty() && !term.chars().any(char::is_whitespace) {
                *self.0.entry(term).or_insert(0) += 1;
            }
        }
    }
}

impl<T: Into<String>> FromIterator<T> for Terms {
    /// Counts the terms; those that are empty or hold white space are left out.
    fn from_iter<I: IntoIterator<Item = T>>(terms: I) -> Self {
        let mut all = Self::default();
        all.extend(terms);
        all
    }
}
