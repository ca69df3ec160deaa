pub(crate) mod embedding_versions;
pub(crate) mod index_builder;
pub(crate) mod vector_index;
pub(crate) mod vector_rows;
pub(crate) mod vector_search;
pub(crate) mod vector_statement;
