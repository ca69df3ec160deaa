//! The mode of a story memory: off, vector or graph.

use std::{env, ffi::OsString, fmt, str::FromStr};

use memory_engine::{Error, Result};
use serde::{Deserialize, Serialize};

/// The mode of a story memory, usually set by the environment variable `MEMORY_MODE`.
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
    /// The memory is off: nothing is read or written.
    #[default]
    Off,
    /// Memories are found by words and vectors.
    Vector,
    /// Memories are found by words, vectors, and the entities and relations in them.
    Graph,
}

impl MemoryMode {
    /// The name of the environment variable.
    pub const VARIABLE: &'static str = "MEMORY_MODE";
    /// All modes; each includes the previous one.
    pub const ALL: [Self; 3] = [Self::Off, Self::Vector, Self::Graph];

    /// Reads the mode from the environment variable. An unset variable means [`MemoryMode::Off`].
    ///
    /// # Errors
    /// `InvalidInput` for any other value than the names of the three modes.
    pub fn from_env() -> Result<Self> {
        Self::from_variable(env::var_os(Self::VARIABLE))
    }

    fn from_variable(value: Option<OsString>) -> Result<Self> {
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

    /// Returns true unless the mode is [`MemoryMode::Off`].
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

    /// Parses a name. Case and white space around it are ignored. An empty text means [`MemoryMode::Off`].
    fn from_str(text: &str) -> Result<Self> {
        let name = text.trim().to_ascii_lowercase();
        if name.is_empty() {
            return Ok(Self::Off);
        }
        let unknown = || {
            Error::invalid("mode", format!("'{name}' is not a memory mode; set MEMORY_MODE to off, vector or graph"))
        };
        Self::ALL.into_iter().find(|mode| mode.as_str() == name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_mode_is_parsed_in_any_case_and_unset_means_off() {
        for (text, mode) in [
            ("off", MemoryMode::Off),
            ("", MemoryMode::Off),
            (" Vector\n", MemoryMode::Vector),
            ("GRAPH", MemoryMode::Graph),
        ] {
            assert_eq!(text.parse::<MemoryMode>().unwrap(), mode);
        }
        assert_eq!(MemoryMode::from_variable(None).unwrap(), MemoryMode::Off);
        assert_eq!(MemoryMode::from_variable(Some("vector".into())).unwrap(), MemoryMode::Vector);
        assert!(MemoryMode::from_variable(Some("yes".into())).is_err(), "an unknown mode is an error, not off");
        let e = "on".parse::<MemoryMode>().unwrap_err();
        assert!(e.to_string().contains("off, vector or graph"), "{e}");
        assert_eq!(memory_engine::serde_json::to_string(&MemoryMode::Graph).unwrap(), "\"graph\"");
        assert_eq!(MemoryMode::default(), MemoryMode::Off);
        assert!(MemoryMode::ALL.is_sorted() && MemoryMode::Vector.is_on() && !MemoryMode::Off.is_on());
    }
}
