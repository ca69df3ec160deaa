//! The view of the graph: entities and relations, and the records that state them.

pub(super) mod evidence;
mod expiry;
pub(super) mod picture;
