pub(crate) mod embedding_versions;
pub(crate) mod vector_rows;
