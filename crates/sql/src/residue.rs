//! The tables in which ids of deleted records may remain, for the searches for traces in both backends.

/// Returns the reason why ids of deleted records remain in a table; `None` if they must not.
pub fn keeps_ids(table: &str) -> Option<&'static str> {
    match table {
        "tombstones" => Some("a tombstone blocks the id of a deleted record"),
        table if table.starts_with("audit") => Some("the audit log names the records of each action, without texts"),
        _ => None,
    }
}
