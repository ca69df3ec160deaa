pub(crate) mod graph_store;
pub(crate) mod graph_walk;
