mod job_queue;
pub(crate) mod lease_owner;
pub(crate) mod queue_rows;
