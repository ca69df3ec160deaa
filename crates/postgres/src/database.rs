pub(crate) mod connections;
pub(crate) mod error;
pub(crate) mod index_metadata;
pub(crate) mod migration;
pub(crate) mod secret;
pub(crate) mod server;
pub(crate) mod statement;
pub(crate) mod transaction;
