pub(crate) mod connection;
pub(crate) mod failure;
pub(crate) mod migration;
pub(crate) mod origin;
pub(crate) mod readers;
pub(crate) mod statement;
pub(crate) mod writer;
