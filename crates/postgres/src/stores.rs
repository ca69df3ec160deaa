//! The store contracts, one a file: each call checks its request and runs on a connection of the store. `explain` has
//! the query plans of their searches.

mod audit_log;
mod embedding_versions;
pub(crate) mod explain;
mod graph_store;
mod job_queue;
mod keyword_store;
mod record_store;
mod synonym_store;
mod vector_store;
