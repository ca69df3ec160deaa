//! The log.

use serde::{Deserialize, Serialize};

/// Filter and format of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogConfig {
    /// A filter such as `info` or `info,memory_engine=debug`. Default: `info`.
    pub filter: String,
    /// Text or JSON. Default: text.
    pub format: LogFormat,
    /// True if `debug` and `trace` of the filter apply to libraries, too. Some of them log requests and replies with
    /// the texts in them. Default: false.
    pub include_texts: bool,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { filter: "info".into(), format: LogFormat::default(), include_texts: false }
    }
}
