pub(crate) mod connections;
pub(crate) mod failure;
pub(crate) mod migration;
pub(crate) mod origin;
pub(crate) mod server;
pub(crate) mod statement;
pub(crate) mod transaction;
