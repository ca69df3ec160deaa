pub(crate) mod backlog;
mod job_queue;
pub(crate) mod lease_owner;
