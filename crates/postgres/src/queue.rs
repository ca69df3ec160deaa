pub(crate) mod job_rows;
pub(crate) mod lease_owner;
