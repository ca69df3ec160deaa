//! Copies of whole stores: from one database into another.

mod copy;

pub use self::copy::{Copier, CopyReport};

/// Number of records that are read and committed together.
const PAGE_RECORDS: usize = 500;
