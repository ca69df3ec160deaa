//! Random records and filters. Values come from small pools, so that filters match records, and include edge cases.

mod addresses;
mod filters;
mod pools;
mod records;

pub(crate) use addresses::{RandomAddress, addresses};
pub(crate) use filters::filters;
pub(crate) use records::records;
