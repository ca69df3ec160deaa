-- Pinned records, and the time at which a record expires (microseconds since 1970).
ALTER TABLE records ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
ALTER TABLE records ADD COLUMN expires_at INTEGER;
CREATE INDEX pinned_records ON records (namespace, occurred_at, place, id) WHERE pinned;
CREATE INDEX expiring_records ON records (expires_at) WHERE expires_at IS NOT NULL AND NOT pinned;
