pub(crate) mod keyword_store;
