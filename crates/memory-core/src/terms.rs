//! The analyzed terms of a text.

use std::collections::BTreeMap;

/// The analyzed terms of one text, with the number of occurrences of each.
///
/// An analyzer of the crate `keyword-store` creates them, so that every backend indexes identical terms. A term is not
/// empty and contains no white space.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms(BTreeMap<String, u32>);

impl Terms {
    /// Returns the terms with their counts, sorted by term.
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
    /// Adds terms. Drops those that are empty or contain white space.
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
    /// Counts terms. Drops those that are empty or contain white space.
    fn from_iter<I: IntoIterator<Item = T>>(terms: I) -> Self {
        let mut counted = Self::default();
        counted.extend(terms);
        counted
    }
}
