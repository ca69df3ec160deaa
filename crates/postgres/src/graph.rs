pub(crate) mod graph_rows;
mod graph_store;
pub(crate) mod graph_walk;
