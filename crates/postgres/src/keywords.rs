pub(crate) mod keyword_search;
pub(crate) mod keyword_statement;
pub(crate) mod keyword_store;
pub(crate) mod lexeme;
