//! The option `--as-of`: reading memories as they were at a time.

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{MemoryEngine, Page, ScanQuery, Scope, Timestamp};

/// The time at which memories are read.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AsOfArgs {
    /// Read the memories that were current at this time; default: now
    ///
    /// They are shown as they were then.
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
}

impl AsOfArgs {
    /// Returns the time, if it is set. A time without an offset is in `zone`.
    ///
    /// # Errors
    /// If the text is no time.
    pub(crate) fn time(&self, zone: &TimeZone) -> Result<Option<Timestamp>> {
        Ok(self.as_of.as_ref().map(|text| Timestamp::parse_in(text, zone)).transpose()?)
    }
}

/// Returns a page of records, as they were at a time if there is one.
pub(crate) async fn scan(
    engine: &MemoryEngine,
    scope: &Scope,
    query: &ScanQuery,
    as_of: Option<Timestamp>,
) -> Result<Page> {
    Ok(match as_of {
        Some(time) => engine.history().as_of(time).scan(scope, query).await?,
        None => engine.scan(scope, query).await?,
    })
}
