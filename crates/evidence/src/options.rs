//! Options of a cascade, with their environment variables.

use std::{env, str::FromStr, time::Duration};

use memory_engine_core::{Error, Result};

use crate::step::EvidenceSlot;

const HOUR: u64 = 60 * 60;

/// Options of an [`EvidenceCascade`](crate::EvidenceCascade). The defaults are strict enough for evidence that is
/// cited.
///
/// ```
/// use memory_engine_evidence::{EvidenceMode, EvidenceOptions};
///
/// // MEMORY_BACKEND, MEMORY_MATCH_THRESHOLD, MEMORY_TIME_WINDOW_HOURS and MEMORY_MATCH_COUNT override the defaults.
/// let cited = EvidenceOptions::default().from_env()?;
/// let aggregated = EvidenceOptions::aggregation();
/// assert!(aggregated.match_threshold < cited.match_threshold && cited.mode == EvidenceMode::Hybrid);
/// # Ok::<(), memory_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EvidenceOptions {
    /// Sources that are searched. Default: [`EvidenceMode::Hybrid`].
    pub mode: EvidenceMode,
    /// Minimum similarity of vectors, 0 to 1. Default: 0.85.
    pub match_threshold: f64,
    /// Minimum confidence of an event, 0 to 1, also for keywords. Default: 0.6.
    pub min_confidence: f64,
    /// Maximum age of an event. Default: 72 hours.
    pub window: Duration,
    /// Maximum number of pieces of evidence in each slot. Default: 5.
    pub match_count: usize,
    /// Time limit of each step. Default: 3 s.
    pub step_time: Duration,
    /// True if the local memory is searched even if the database has found evidence. Default: false.
    pub always_local: bool,
}

/// The sources that are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EvidenceMode {
    /// The database, if one is configured, and the local memory.
    #[default]
    Hybrid,
    /// As [`Hybrid`](Self::Hybrid): the local memory is searched if the database finds nothing.
    Supabase,
    /// The local memory only.
    Local,
}

impl FromStr for EvidenceMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim().to_lowercase().as_str() {
            "hybrid" => Ok(Self::Hybrid),
            "supabase" => Ok(Self::Supabase),
            "local" => Ok(Self::Local),
            other => {
                Err(Error::invalid("MEMORY_BACKEND", format!("'{other}' is not a mode; use hybrid, supabase or local")))
            }
        }
    }
}

impl Default for EvidenceOptions {
    fn default() -> Self {
        Self {
            mode: EvidenceMode::Hybrid,
            match_threshold: 0.85,
            min_confidence: 0.6,
            window: Duration::from_secs(72 * HOUR),
            match_count: 5,
            step_time: Duration::from_secs(3),
            always_local: false,
        }
    }
}

impl EvidenceOptions {
    /// Returns looser options for collecting related memories that are not cited: similarity 0.40, events of one week.
    pub fn aggregation() -> Self {
        Self { match_threshold: 0.40, window: Duration::from_secs(168 * HOUR), ..Self::default() }
    }

    /// Returns these options, overridden by environment variables: `MEMORY_BACKEND`, `MEMORY_MATCH_THRESHOLD`,
    /// `MEMORY_TIME_WINDOW_HOURS`, `MEMORY_MATCH_COUNT`.
    ///
    /// # Errors
    /// `InvalidInput` with the name of the invalid variable.
    pub fn from_env(self) -> Result<Self> {
        self.overridden("MEMORY_MATCH_THRESHOLD", "MEMORY_TIME_WINDOW_HOURS", |name| env::var(name).ok())
    }

    /// Returns the [aggregation](Self::aggregation) options, overridden by environment variables: `MEMORY_BACKEND`,
    /// `MEMORY_SIMILARITY_THRESHOLD`, `MEMORY_LOOKBACK_HOURS`, `MEMORY_MATCH_COUNT`.
    ///
    /// # Errors
    /// `InvalidInput` with the name of the invalid variable.
    pub fn aggregation_from_env() -> Result<Self> {
        Self::aggregation_from(|name| env::var(name).ok())
    }

    fn aggregation_from(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        Self::aggregation().overridden("MEMORY_SIMILARITY_THRESHOLD", "MEMORY_LOOKBACK_HOURS", variable)
    }

    fn overridden(self, threshold: &str, hours: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let (options, invalid) = self.overridden_where_valid(threshold, hours, variable);
        invalid.into_iter().next().map_or(Ok(options), |setting| Err(setting.error))
    }

    /// Overrides the options with the variables that are valid, and returns the others.
    pub(crate) fn overridden_where_valid(
        mut self,
        threshold: &str,
        hours: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> (Self, Vec<InvalidSetting>) {
        use EvidenceSlot::{SupabaseKeyword, SupabaseVector};
        let mut invalid = Vec::new();
        if let Some(text) = variable("MEMORY_BACKEND") {
            match text.parse() {
                Ok(mode) => self.mode = mode,
                Err(error) => invalid.push(InvalidSetting { slots: &[SupabaseVector, SupabaseKeyword], error }),
            }
        }
        if let Some(text) = variable(threshold) {
            match parse(threshold, &text, |n| (0.0..=1.0).contains(n), "a number from 0 to 1") {
                Ok(threshold) => self.match_threshold = threshold,
                Err(error) => invalid.push(InvalidSetting { slots: &[SupabaseVector], error }),
            }
        }
        if let Some(text) = variable(hours) {
            match parse::<u64>(hours, &text, |n| (1..1_000_000).contains(n), "a whole number of hours, at least 1") {
                Ok(hours) => self.window = Duration::from_secs(HOUR * hours),
                Err(error) => invalid.push(InvalidSetting { slots: &[SupabaseVector, SupabaseKeyword], error }),
            }
        }
        if let Some(text) = variable("MEMORY_MATCH_COUNT") {
            match parse("MEMORY_MATCH_COUNT", &text, |n| (1..=1000).contains(n), "a whole number from 1 to 1000") {
                Ok(count) => self.match_count = count,
                Err(error) => invalid.push(InvalidSetting { slots: &[SupabaseVector, SupabaseKeyword], error }),
            }
        }
        (self, invalid)
    }
}

/// An environment variable with an invalid value.
#[derive(Debug)]
pub(crate) struct InvalidSetting {
    /// The slots of the database that depend on the variable.
    pub(crate) slots: &'static [EvidenceSlot],
    pub(crate) error: Error,
}

fn parse<T: FromStr>(name: &str, text: &str, is_valid: impl Fn(&T) -> bool, expected: &str) -> Result<T> {
    let value = text.trim().parse().ok().filter(is_valid);
    value.ok_or_else(|| Error::invalid("evidence", format!("{name} is '{text}'; it must be {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e9_aggregation_has_its_own_variables() {
        let lookup = |name: &str| match name {
            "MEMORY_SIMILARITY_THRESHOLD" => Some("0.3".to_owned()),
            "MEMORY_LOOKBACK_HOURS" => Some("240".to_owned()),
            "MEMORY_MATCH_THRESHOLD" => Some("0.9".to_owned()),
            _ => None,
        };
        let aggregation = EvidenceOptions::aggregation_from(lookup).unwrap();
        assert_eq!((aggregation.match_threshold, aggregation.window), (0.3, Duration::from_secs(240 * HOUR)));
        let cited = EvidenceOptions::default()
            .overridden("MEMORY_MATCH_THRESHOLD", "MEMORY_TIME_WINDOW_HOURS", lookup)
            .unwrap();
        assert_eq!((cited.match_threshold, cited.window), (0.9, Duration::from_secs(72 * HOUR)));
        let default = EvidenceOptions::aggregation();
        assert_eq!((default.match_threshold, default.window), (0.40, Duration::from_secs(168 * HOUR)));
    }

    #[test]
    fn e2_the_environment_overrides_and_a_mistake_names_its_variable() {
        let read = |pairs: &[(&str, &str)]| {
            let lookup = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            EvidenceOptions::default().overridden("MEMORY_MATCH_THRESHOLD", "MEMORY_TIME_WINDOW_HOURS", lookup)
        };
        assert_eq!(read(&[]).unwrap(), EvidenceOptions::default());
        let all = read(&[
            ("MEMORY_BACKEND", "local"),
            ("MEMORY_MATCH_THRESHOLD", "0.7"),
            ("MEMORY_TIME_WINDOW_HOURS", "24"),
            ("MEMORY_MATCH_COUNT", "9"),
        ])
        .unwrap();
        assert_eq!((all.mode, all.match_threshold, all.match_count), (EvidenceMode::Local, 0.7, 9));
        assert_eq!(all.window, Duration::from_secs(24 * HOUR));
        for (name, value) in [
            ("MEMORY_BACKEND", "chroma"),
            ("MEMORY_MATCH_THRESHOLD", "85%"),
            ("MEMORY_MATCH_THRESHOLD", "NaN"),
            ("MEMORY_TIME_WINDOW_HOURS", "0"),
            ("MEMORY_MATCH_COUNT", "-1"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
