pub(crate) mod backlog;
