//! The pages of a transfer.

/// Number of records that are read and committed together.
pub(super) const PAGE_RECORDS: usize = 500;
