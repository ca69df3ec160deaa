//! The store contracts, one a file: each call checks its request and runs on a thread of the store.

mod audit_log;
mod embedding_versions;
mod graph_store;
mod job_queue;
mod keyword_store;
mod record_store;
mod synonym_store;
mod vector_store;
