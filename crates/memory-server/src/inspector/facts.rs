//! The view of facts: lists them by subject and attribute, and shows the history and the sources of one.

pub(super) mod detail;
pub(super) mod list;
mod row;
