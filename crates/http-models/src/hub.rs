//! Downloads models from a hub. Interrupted downloads are resumed, and files are verified before use.

mod address;
mod checksums;
mod download;
mod fetch;
mod file;
mod model;

pub use address::Hub;
pub use file::{DownloadProgress, FetchedFile, Verification};
pub use model::{HubFile, HubModel};
