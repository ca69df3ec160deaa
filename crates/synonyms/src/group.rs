//! Words that mean the same.

use std::collections::BTreeSet;

use memory_engine_core::{Error, Result, phrases::fold};
use serde::{Deserialize, Serialize};

/// Ten groups to begin with, as TOML for [`groups_from_toml`]: those of the story gateway's document.
pub const SEED: &str = include_str!("../seed.toml");

/// Words that mean the same, named by one of them.
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
    /// The longest word, in bytes.
    pub const MAX_WORD_BYTES: usize = 256;
    /// The most members.
    pub const MAX_MEMBERS: usize = 64;

    /// A group of the general category.
    pub fn new<M: Into<String>>(term: impl Into<String>, members: impl IntoIterator<Item = M>) -> Self {
        Self { term: term.into(), members: members.into_iter().map(Into::into).collect(), category: general() }
    }

    /// Another category.
    #[must_use]
    pub fn with_category(mut self, category: impl Into<String>) -> Self {
        self.category = category.into();
        self
    }

    /// Returns the key of the group: its folded term.
    pub fn key(&self) -> String {
        fold(&self.term)
    }

    /// All words of the group, the term first, each once however it is spelled.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let mut seen = BTreeSet::new();
        [&self.term].into_iter().chain(&self.members).map(String::as_str).filter(move |word| seen.insert(fold(word)))
    }

    /// Refuses a group that no store keeps.
    ///
    /// # Errors
    /// `InvalidInput` for a word that is empty, too long or holds a control character, for no member besides the term,
    /// and for too many.
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::invalid("synonyms", message));
        for word in [&self.term, &self.category].into_iter().chain(&self.members) {
            if fold(word).is_empty() {
                return wrong("a word of the group is empty; write at least one character".into());
            }
            if word.len() > Self::MAX_WORD_BYTES {
                return wrong(format!("a word has {} bytes; {} are the most", word.len(), Self::MAX_WORD_BYTES));
            }
            if word.chars().any(char::is_control) {
                return wrong("a word of the group holds a control character; leave it out".into());
            }
        }
        if self.members.len() > Self::MAX_MEMBERS {
            return wrong(format!("it has {} members; {} are the most", self.members.len(), Self::MAX_MEMBERS));
        }
        if self.words().count() < 2 {
            return wrong("the group has no member besides its term; give at least one other word".into());
        }
        Ok(())
    }
}

/// Reads groups from TOML: `[[groups]]` with `term`, `members` and, if wanted, `category`.
///
/// # Errors
/// `InvalidInput` with line and column for what is no TOML or no field of ours, and as [`SynonymGroup::validate`].
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
