//! Stores of a user: a vector store over a plain map, and a record store that writes an audit log. Both are written
//! against `memory_engine::store` alone.

pub mod audited_records;
pub mod map_vectors;
