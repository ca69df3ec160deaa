pub(crate) mod backlog;
mod job_queue;
