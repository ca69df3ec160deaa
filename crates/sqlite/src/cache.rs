//! Indexes in memory, and their cache files.
//!
//! `docs/design/index-cache.md` describes the file format, when a cache is valid, and the life of a cache.
//!
//! Reasons: `docs/design/decisions/0004-cache-files-are-caches.md`.

pub(crate) mod check;
mod file;
pub(crate) mod filter_cache;
mod format;
pub(crate) mod index_caches;
mod index_load;
mod keywords;
mod manifest;
mod policy;
mod row_set;
mod tenant_sizes;
mod timeline;
pub(crate) mod vectors;
pub(crate) mod writer;

#[cfg(test)]
mod tests;
