//! Models from a hub: files that are resumed where they broke off, and checked before they are used.

mod address;
mod download;
mod fetch;
mod file;
mod model;
mod sums;

pub use address::Hub;
pub use file::{Checked, Fetched, Step};
pub use model::{HubFile, HubModel};
