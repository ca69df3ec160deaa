#![doc = include_str!("../README.md")]

// The SQLite of `rusqlite` in a build with encryption.
#[cfg(feature = "chroma")]
extern crate memory_engine_sqlite3mc as _;

mod chat_files;
pub mod chatgpt;
#[cfg(feature = "chroma")]
pub mod chroma;
pub mod claude;
pub mod claude_code;
pub mod codex;
mod csv;
mod error;
mod exports;
mod json_array;
pub mod json_lines;
mod json_text;
pub mod letta;
mod lines;
pub mod markdown;
pub mod mem0;
pub mod mif;
mod row;
pub mod silly_tavern;
mod source_file;
mod sources;
pub mod tables;
mod unique_keys;
mod validity;
pub mod whatsapp;
pub mod zep;

#[cfg(feature = "chroma")]
pub use error::ChromaError;
pub use error::{ImportError, RowError};
pub use lines::{Line, Lines};
pub use row::{ImportRows, ImportedTurn, Row, SourceRows, convert_time};
pub use source_file::open_named;
pub use sources::{DEFAULT_SOURCE, ImportSource, Reader, SOURCES, SourceOptions};
