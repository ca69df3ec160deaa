//! The option `--as-of`: reading memories as they were at a time.

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{MemoryEngine, RecordQuery, Scope, Timestamp};

use crate::records::PAGE_RECORDS;

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

/// Returns the query of all records within a scope, as they were at a time if there is one.
pub(crate) fn records(engine: &MemoryEngine, scope: &Scope, as_of: Option<Timestamp>) -> RecordQuery {
    let query = engine.records(scope).page_rows(PAGE_RECORDS);
    match as_of {
        Some(time) => query.as_of(time),
        None => query,
    }
}
