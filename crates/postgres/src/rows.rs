//! The rows of records, namespaces and tombstones: what the modules of every other table read and write.

mod field;
pub(crate) mod namespaces;
pub(crate) mod remembered_scopes;
pub(crate) mod row;
pub(crate) mod scopes;
pub(crate) mod stub;
pub(crate) mod tombstones;
