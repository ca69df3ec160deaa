-- The audit log is lost.
DROP TABLE audit_log;
DROP TABLE audit_chains;
