pub(crate) mod caches;
pub(crate) mod changes;
pub(crate) mod directory;
pub(crate) mod keeper;
pub(crate) mod keyword_index;
pub(crate) mod side_file;
pub(crate) mod timeline;
pub(crate) mod vector_index;

#[cfg(test)]
mod golden_tests;
