-- Since when a record has been waiting for a job: of those that wait already, since they were recorded.
ALTER TABLE backlog ADD COLUMN queued_at INTEGER NOT NULL DEFAULT 0;
UPDATE backlog SET queued_at = (SELECT r.recorded_at FROM records r WHERE r.record = backlog.record);
