pub(crate) mod keyword_rows;
pub(crate) mod keyword_search;
pub(crate) mod keyword_statement;
pub(crate) mod lexeme;
