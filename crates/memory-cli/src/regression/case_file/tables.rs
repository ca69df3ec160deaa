//! The tables of a file of cases.

use std::path::PathBuf;

use memory_engine::Filter;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Spanned;

use crate::regression::{case::Target, expectation::RecordRule};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTable {
    #[serde(default)]
    pub(super) defaults: DefaultsTable,
    #[serde(default, rename = "case")]
    pub(super) cases: Vec<Spanned<CaseTable>>,
}

/// Values for cases that do not set them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DefaultsTable {
    pub(super) tenant: Option<String>,
    pub(super) user: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) target: Option<Target>,
    pub(super) limit: Option<usize>,
    pub(super) now: Option<TimeText>,
    pub(super) timezone: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseTable {
    pub(super) name: Option<String>,
    pub(super) query: String,
    pub(super) tenant: Option<String>,
    pub(super) user: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) target: Option<Target>,
    pub(super) limit: Option<usize>,
    pub(super) now: Option<TimeText>,
    pub(super) timezone: Option<String>,
    pub(super) since: Option<TimeText>,
    pub(super) until: Option<TimeText>,
    pub(super) as_of: Option<TimeText>,
    #[serde(default)]
    pub(super) only_then: bool,
    pub(super) kind: Option<String>,
    pub(super) scene: Option<String>,
    pub(super) from_scene: Option<String>,
    pub(super) filter: Option<Filter>,
    #[serde(default)]
    pub(super) conversation: Vec<String>,
    pub(super) round: Option<u64>,
    pub(super) pack: Option<PathBuf>,
    #[serde(default)]
    pub(super) expect: Vec<RecordRule>,
    #[serde(default)]
    pub(super) forbid: Vec<RecordRule>,
    #[serde(default)]
    pub(super) abstain: bool,
}

/// A time: a text, or a time of TOML.
#[derive(Debug, Clone)]
pub(super) struct TimeText(pub(super) String);

impl<'de> Deserialize<'de> for TimeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        let text = match &value {
            toml::Value::String(text) => Some(text.clone()),
            toml::Value::Datetime(time) => Some(time.to_string()),
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => None,
        };
        text.map(Self).ok_or_else(|| {
            let form = "\"2026-03-02T20:15:00+08:00\" or \"2026-03-02\"";
            D::Error::custom(format!("a time is written as {form}, not as {}", value.type_str()))
        })
    }
}
