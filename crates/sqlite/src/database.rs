pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod index_metadata;
pub(crate) mod migration;
pub(crate) mod readers;
pub(crate) mod schema;
pub(crate) mod statement;
pub(crate) mod writer;
