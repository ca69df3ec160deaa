#![doc = include_str!("../README.md")]

#[cfg(feature = "chroma")]
pub mod chroma;
mod csv;
mod error;
pub mod json_lines;
mod lines;
pub mod mem0;
mod row;
pub mod silly_tavern;
pub mod tables;
mod unique_keys;

#[cfg(feature = "chroma")]
pub use error::ChromaError;
pub use error::{ImportError, RowError};
pub use lines::{Line, Lines};
pub use row::{ImportRows, ImportedTurn, Row};
