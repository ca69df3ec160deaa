//! Groups of synonyms.

use std::collections::BTreeSet;

use memory_engine_core::{Error, Result, phrases::fold};
use serde::{Deserialize, Serialize};

/// Ten example groups of a story, as TOML for [`groups_from_toml`].
pub const SEED: &str = include_str!("../seed.toml");

/// A group of synonyms, identified by one of them.
///
/// The term identifies the group: two groups cannot have terms that are equal after folding (case, width and script).
/// Members may have several words and any script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynonymGroup {
    /// The main term of the group.
    pub term: String,
    /// The other words for it.
    pub members: Vec<String>,
    /// The category, such as `person`.
    #[serde(default = "general")]
    pub category: String,
}

fn general() -> String {
    SynonymGroup::GENERAL.into()
}

impl SynonymGroup {
    /// The category of a group that names none.
    pub const GENERAL: &'static str = "general";
    /// Maximum length of a word, in bytes.
    pub const MAX_WORD_BYTES: usize = 256;
    /// Maximum number of members.
    pub const MAX_MEMBERS: usize = 64;

    /// Creates a group of the general category.
    pub fn new<M: Into<String>>(term: impl Into<String>, members: impl IntoIterator<Item = M>) -> Self {
        Self { term: term.into(), members: members.into_iter().map(Into::into).collect(), category: general() }
    }

    /// Sets the category.
    #[must_use]
    pub fn with_category(mut self, category: impl Into<String>) -> Self {
        self.category = category.into();
        self
    }

    /// Returns the key of the group: its folded term.
    pub fn key(&self) -> String {
        fold(&self.term)
    }

    /// Returns all words of the group, the term first. Of words that are equal after folding only the first is
    /// returned.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let mut seen = BTreeSet::new();
        [&self.term].into_iter().chain(&self.members).map(String::as_str).filter(move |word| seen.insert(fold(word)))
    }

    /// Validates the group.
    ///
    /// # Errors
    /// `InvalidInput` for a word that is empty, too long or contains a control character, and for no members or too
    /// many.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::invalid("synonyms", message));
        for word in [&self.term, &self.category].into_iter().chain(&self.members) {
            if fold(word).is_empty() {
                return invalid("a word of the group is empty; write at least one character".into());
            }
            if word.len() > Self::MAX_WORD_BYTES {
                return invalid(format!("a word has {} bytes; the maximum is {}", word.len(), Self::MAX_WORD_BYTES));
            }
            if word.chars().any(char::is_control) {
                return invalid("a word of the group contains a control character; remove it".into());
            }
        }
        if self.members.len() > Self::MAX_MEMBERS {
            return invalid(format!(
                "the group has {} members; the maximum is {}",
                self.members.len(),
                Self::MAX_MEMBERS
            ));
        }
        if self.words().count() < 2 {
            return invalid("the group has no member besides its term; give at least one other word".into());
        }
        Ok(())
    }
}

/// Reads groups from TOML: `[[groups]]` with `term`, `members` and optionally `category`.
///
/// # Errors
/// `InvalidInput` with line and column for invalid TOML and unknown fields, and the errors of
/// [`SynonymGroup::validate`].
pub fn groups_from_toml(text: &str) -> Result<Vec<SynonymGroup>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        groups: Vec<SynonymGroup>,
    }
    let file: File = toml::from_str(text).map_err(|e| Error::invalid("synonyms", e.to_string().trim_end()))?;
    file.groups.iter().try_for_each(SynonymGroup::validate)?;
    Ok(file.groups)
}

#[cfg(test)]
mod tests;
