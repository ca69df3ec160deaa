pub(crate) mod generations;
pub(crate) mod vector_store;
