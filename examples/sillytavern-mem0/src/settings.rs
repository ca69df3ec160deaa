//! What the settings page sets, effective with the next request.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, ensure};
use memory_engine::context::REWRITE_PROMPT;
use serde::Deserialize;

/// Everything that can be set; `settings.toml` says what each of them is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) rounds: usize,
    pub(crate) write_limit_ms: u64,
    pub(crate) recent: usize,
    pub(crate) max_chars: usize,
    pub(crate) weak_at_once: bool,
    pub(crate) threshold: f64,
    pub(crate) context_threshold: f64,
    pub(crate) search_limit_ms: u64,
    pub(crate) limit: u32,
    pub(crate) inject_chars: usize,
    pub(crate) rewrite: bool,
    pub(crate) rewrite_prompt: String,
    pub(crate) rewrite_limit_ms: u64,
}

impl Settings {
    /// The settings that come with the example.
    pub(crate) fn bundled() -> Result<Self> {
        Self::read(include_str!("../settings.toml"))
    }

    fn read(text: &str) -> Result<Self> {
        let settings: Self = toml::from_str(text)?;
        ensure!((1..=2).contains(&settings.rounds), "rounds is 1 or 2");
        ensure!((0.0..=1.0).contains(&settings.threshold), "threshold is between 0 and 1");
        Ok(settings)
    }

    /// What the model that rewrites is told.
    pub(crate) fn rewrite_prompt(&self) -> &str {
        if self.rewrite_prompt.trim().is_empty() { REWRITE_PROMPT } else { &self.rewrite_prompt }
    }
}

/// Where the settings are kept: the one place that everybody asks, request by request.
#[derive(Debug)]
pub(crate) struct SettingsPage {
    file: Option<PathBuf>,
    last: Mutex<Settings>,
}

impl SettingsPage {
    /// Over a file, which has to be in order at the start, or over the settings that come with the example.
    pub(crate) fn open(file: Option<PathBuf>) -> Result<Self> {
        let settings = match &file {
            Some(path) => Settings::read(&fs::read_to_string(path).context("the settings cannot be read")?)?,
            None => Settings::bundled()?,
        };
        Ok(Self { file, last: Mutex::new(settings) })
    }

    /// The settings of this moment. A file that has got out of order changes nothing, and is told of.
    pub(crate) fn current(&self) -> Settings {
        let read = self.file.as_ref().map(|path| Settings::read(&fs::read_to_string(path)?));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Some(Ok(settings)) => *last = settings,
            Some(Err(e)) => tracing::warn!("the settings stay as they were: {e:#}"),
            None => {}
        }
        last.clone()
    }

    /// Changes settings that are in no file.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
