//! The row of `index_metadata` that lists the installed sets of views.

use std::collections::BTreeSet;

use memory_engine_core::ViewSet;

/// The row of `index_metadata` with the names of the installed sets of views, separated by blanks. Without a set there
/// is no row. A backup contains the row, and not the views.
pub const VIEWS_PART: &str = "views";

/// Reads the row. A name that this version does not have is ignored.
pub fn read_sets(row: Option<String>) -> BTreeSet<ViewSet> {
    row.unwrap_or_default().split_whitespace().filter_map(|name| name.parse().ok()).collect()
}

/// Returns the content of the row.
pub fn set_names(sets: &BTreeSet<ViewSet>) -> String {
    sets.iter().map(|set| set.as_str()).collect::<Vec<_>>().join(" ")
}
