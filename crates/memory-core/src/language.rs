//! The language of a text.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    text::is_han,
};

/// A language with rules, word lists and prompts of its own.
///
/// Serde and [`FromStr`] also accept the codes `zh` and `en`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Language {
    /// Chinese.
    #[serde(alias = "zh")]
    Chinese,
    /// English. Texts in any language other than Chinese are treated as English.
    #[serde(alias = "en")]
    English,
}

impl Language {
    /// Returns the language of most of a text: a Chinese character counts as much as a word of letters. A text without
    /// either is English.
    ///
    /// ```
    /// use memory_engine_core::Language;
    ///
    /// assert_eq!(Language::of("我用 Rust 写代码"), Language::Chinese);
    /// assert_eq!(Language::of("I'm learning 中文"), Language::English);
    /// ```
    pub fn of(text: &str) -> Self {
        let mut han_count = 0_usize;
        let mut word_count = 0_usize;
        let mut is_inside_word = false;
        for c in text.chars() {
            if is_han(c) {
                han_count += 1;
                is_inside_word = false;
            } else if c.is_alphabetic() {
                if !is_inside_word {
                    word_count += 1;
                }
                is_inside_word = true;
            } else {
                is_inside_word = is_inside_word && matches!(c, '\'' | '’' | '-');
            }
        }
        let starts_with_han = text.chars().find(|c| c.is_alphabetic()).is_some_and(is_han);
        if han_count > word_count || (han_count == word_count && starts_with_han) {
            Self::Chinese
        } else {
            Self::English
        }
    }

    /// Returns `chinese` for Chinese, and `english` for every other language.
    pub fn pick<T>(self, chinese: T, english: T) -> T {
        match self {
            Self::Chinese => chinese,
            Self::English => english,
        }
    }

    /// Returns the name as in serde: `chinese` or `english`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chinese => "chinese",
            Self::English => "english",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Language {
    type Err = Error;

    /// Reads a name (`chinese`, `english`) or a code (`zh`, `en`).
    ///
    /// # Errors
    /// `InvalidInput` for any other text.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "chinese" | "zh" => Ok(Self::Chinese),
            "english" | "en" => Ok(Self::English),
            _ => Err(Error::invalid("language", format!("'{text}' is no known language; write zh or en"))),
        }
    }
}

#[cfg(test)]
mod tests;
