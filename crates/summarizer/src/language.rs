//! Which language a text is in.

use memory_engine_core::text::is_han;
use serde::{Deserialize, Serialize};

/// A language that rules are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Chinese. `zh` is read as well.
    #[serde(alias = "zh")]
    Chinese,
    /// English, and every other language. `en` is read as well.
    #[serde(alias = "en")]
    English,
}

impl Language {
    /// The language that most of a text is in: a Chinese character weighs as much as a word of letters. A text without
    /// either is English.
    pub fn of(text: &str) -> Self {
        let (mut han, mut words, mut inside) = (0_usize, 0_usize, false);
        let begins = text.chars().find(|c| c.is_alphabetic()).is_some_and(is_han);
        for c in text.chars() {
            let letter = c.is_alphabetic() && !is_han(c);
            words += usize::from(letter && !inside);
            han += usize::from(is_han(c));
            inside = letter || (inside && matches!(c, '\'' | '’' | '-'));
        }
        if han > words || (han == words && begins) { Self::Chinese } else { Self::English }
    }

    /// One of two texts.
    pub(crate) fn pick<T>(self, chinese: T, english: T) -> T {
        match self {
            Self::Chinese => chinese,
            Self::English => english,
        }
    }
}

#[cfg(test)]
mod tests;
