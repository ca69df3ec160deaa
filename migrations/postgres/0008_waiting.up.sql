-- Since when a record has been waiting for a job: of those that wait already, since they were recorded.
ALTER TABLE backlog ADD COLUMN queued_at bigint NOT NULL DEFAULT 0;
UPDATE backlog b SET queued_at = r.recorded_at FROM records r WHERE r.ns = b.ns AND r.id = b.id;
