//! How evidence is gathered.

use std::{env, str::FromStr, time::Duration};

use memory_engine_core::{Error, Result};

const HOUR: u64 = 60 * 60;

/// How evidence is gathered. The defaults are those of evidence that may be cited.
///
/// ```
/// use memory_engine_evidence::{EvidenceMode, EvidenceOptions};
///
/// // MEMORY_BACKEND, MEMORY_MATCH_THRESHOLD, MEMORY_TIME_WINDOW_HOURS and MEMORY_MATCH_COUNT may say otherwise.
/// let cited = EvidenceOptions::default().from_env()?;
/// let brought_together = EvidenceOptions::aggregation();
/// assert!(brought_together.match_threshold < cited.match_threshold && cited.mode == EvidenceMode::Hybrid);
/// # Ok::<(), memory_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EvidenceOptions {
    /// Which sources take part.
    pub mode: EvidenceMode,
    /// The least similarity of vectors: 0.85.
    pub match_threshold: f64,
    /// The least confidence: 0.6. The document's keyword function takes it, too.
    pub min_confidence: f64,
    /// How far back to look: 72 hours.
    pub window: Duration,
    /// How many for each slot at the most: 5.
    pub match_count: usize,
    /// How long each step may take: 3 seconds.
    pub step_time: Duration,
    /// Whether the local memory is asked even when the database gave something.
    pub always_local: bool,
}

/// Which sources take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EvidenceMode {
    /// The database, as far as it is configured, and the local memory.
    #[default]
    Hybrid,
    /// The same: the local memory remains the last resort.
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
            other => Err(Error::invalid("MEMORY_BACKEND", format!("'{other}' is none of hybrid, supabase and local"))),
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
    /// The looser options for bringing memories together, which nobody cites: similarity 0.40, a week back.
    pub fn aggregation() -> Self {
        Self { match_threshold: 0.40, window: Duration::from_secs(168 * HOUR), ..Self::default() }
    }

    /// These options with what the environment says of them: `MEMORY_BACKEND`, `MEMORY_MATCH_THRESHOLD`,
    /// `MEMORY_TIME_WINDOW_HOURS`, `MEMORY_MATCH_COUNT`.
    ///
    /// # Errors
    /// `InvalidInput` naming the variable that cannot be read.
    pub fn from_env(self) -> Result<Self> {
        self.overridden("MEMORY_MATCH_THRESHOLD", "MEMORY_TIME_WINDOW_HOURS", |name| env::var(name).ok())
    }

    /// The [aggregation](Self::aggregation) options with what the environment says of them: `MEMORY_BACKEND`,
    /// `MEMORY_SIMILARITY_THRESHOLD`, `MEMORY_LOOKBACK_HOURS`, `MEMORY_MATCH_COUNT`.
    ///
    /// # Errors
    /// `InvalidInput` naming the variable that cannot be read.
    pub fn aggregation_from_env() -> Result<Self> {
        let variable = |name: &str| env::var(name).ok();
        Self::aggregation().overridden("MEMORY_SIMILARITY_THRESHOLD", "MEMORY_LOOKBACK_HOURS", variable)
    }

    fn overridden(mut self, threshold: &str, hours: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        fn read<T: FromStr>(name: &str, text: &str, fits: impl Fn(&T) -> bool, wanted: &str) -> Result<T> {
            let value = text.trim().parse().ok().filter(fits);
            value.ok_or_else(|| Error::invalid("evidence", format!("{name} is '{text}'; it has to be {wanted}")))
        }
        if let Some(text) = variable("MEMORY_BACKEND") {
            self.mode = text.parse()?;
        }
        if let Some(text) = variable(threshold) {
            self.match_threshold = read(threshold, &text, |n| (0.0..=1.0).contains(n), "a number from 0 to 1")?;
        }
        if let Some(text) = variable(hours) {
            let wanted = "a whole number of hours from 1 on";
            self.window =
                Duration::from_secs(HOUR * read::<u64>(hours, &text, |n| (1..1_000_000).contains(n), wanted)?);
        }
        if let Some(text) = variable("MEMORY_MATCH_COUNT") {
            let wanted = "a whole number from 1 to 1000";
            self.match_count = read("MEMORY_MATCH_COUNT", &text, |n| (1..=1000).contains(n), wanted)?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
