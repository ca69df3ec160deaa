//! Words for units of time.

use memory_engine_text::Words;
use serde::Deserialize;

use crate::calendar::Unit;

/// The words for a unit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnitWords {
    pub(crate) words: Words,
    pub(crate) unit: Unit,
}
