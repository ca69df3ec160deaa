pub(crate) mod delete;
pub(crate) mod derivations;
pub(crate) mod put;
pub(crate) mod read;
pub(crate) mod record_store;
pub(crate) mod row;
pub(crate) mod scan;
pub(crate) mod scopes;
