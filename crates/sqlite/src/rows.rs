//! The rows of records, scopes and tombstones: what the modules of every other table read and write.

pub(crate) mod addresses;
mod field;
pub(crate) mod raw;
pub(crate) mod row;
pub(crate) mod scopes;
pub(crate) mod stub;
pub(crate) mod tombstones;
