//! Random records and filters, drawn from small pools so that they meet, and from odd values so that they hurt.

mod addresses;
mod filters;
mod pools;
mod records;

pub(crate) use addresses::{Address, addresses};
pub(crate) use filters::filters;
pub(crate) use records::records;
