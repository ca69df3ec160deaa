pub(crate) mod keyword_rows;
