//! How much of a memory is on.

use std::{env, ffi::OsString, fmt, str::FromStr};

use memory_engine::{Error, Result};
use serde::{Deserialize, Serialize};

/// How much of a memory is on: what the variable `MEMORY_MODE` says.
///
/// ```
/// use memory_engine_story::MemoryMode;
///
/// assert_eq!("vector".parse::<MemoryMode>()?, MemoryMode::Vector);
/// assert!(!MemoryMode::default().is_on());
/// # Ok::<(), memory_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryMode {
    /// Nothing is read and nothing is written.
    #[default]
    Off,
    /// Memories are kept, and found by their words and their vectors.
    Vector,
    /// That, and by the entities and relations that they name.
    Graph,
}

impl MemoryMode {
    /// The variable that says it.
    pub const VARIABLE: &'static str = "MEMORY_MODE";
    /// All of them, each with less than the next.
    pub const ALL: [Self; 3] = [Self::Off, Self::Vector, Self::Graph];

    /// What the environment of this process says; [`MemoryMode::Off`] when it says nothing.
    ///
    /// # Errors
    /// `InvalidInput` when it says something else than one of the three.
    pub fn from_env() -> Result<Self> {
        Self::said(env::var_os(Self::VARIABLE))
    }

    fn said(value: Option<OsString>) -> Result<Self> {
        value.map_or(Ok(Self::Off), |value| value.to_string_lossy().parse())
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Vector => "vector",
            Self::Graph => "graph",
        }
    }

    /// Whether anything is read or written at all.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }
}

impl fmt::Display for MemoryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MemoryMode {
    type Err = Error;

    /// Reads a name in any case, with blanks around it or not; an empty text is [`MemoryMode::Off`], as a variable that is
    /// not set.
    fn from_str(text: &str) -> Result<Self> {
        let name = text.trim().to_ascii_lowercase();
        if name.is_empty() {
            return Ok(Self::Off);
        }
        let wrong = || Error::invalid("mode", "there is no such memory mode; MEMORY_MODE is off, vector or graph");
        Self::ALL.into_iter().find(|mode| mode.as_str() == name).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_mode_is_read_as_people_write_it_and_off_when_they_write_nothing() {
        for (text, mode) in [
            ("off", MemoryMode::Off),
            ("", MemoryMode::Off),
            (" Vector\n", MemoryMode::Vector),
            ("GRAPH", MemoryMode::Graph),
        ] {
            assert_eq!(text.parse::<MemoryMode>().unwrap(), mode);
        }
        assert_eq!(MemoryMode::said(None).unwrap(), MemoryMode::Off);
        assert_eq!(MemoryMode::said(Some("vector".into())).unwrap(), MemoryMode::Vector);
        assert!(MemoryMode::said(Some("yes".into())).is_err(), "what is not understood is not silently off");
        let e = "on".parse::<MemoryMode>().unwrap_err();
        assert!(e.to_string().contains("off, vector or graph"), "{e}");
        assert_eq!(memory_engine::serde_json::to_string(&MemoryMode::Graph).unwrap(), "\"graph\"");
        assert_eq!(MemoryMode::default(), MemoryMode::Off);
        assert!(MemoryMode::ALL.is_sorted() && MemoryMode::Vector.is_on() && !MemoryMode::Off.is_on());
    }
}
