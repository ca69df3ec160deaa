pub(crate) mod graph_rows;
pub(crate) mod graph_walk;
