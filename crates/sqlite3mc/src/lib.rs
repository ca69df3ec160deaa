#![doc = include_str!("../README.md")]

/// The version of SQLite that is compiled in.
#[cfg(feature = "encryption")]
pub const SQLITE_VERSION: &str = env!("SQLITE3MC_SQLITE_VERSION");
