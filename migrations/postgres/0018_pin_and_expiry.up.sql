-- Pinned records, and the time at which a record expires (microseconds since 1970).
ALTER TABLE records ADD COLUMN pinned boolean NOT NULL DEFAULT false, ADD COLUMN expires_at bigint;
CREATE INDEX pinned_records ON records (ns, occurred_at, place, id) WHERE pinned;
CREATE INDEX expiring_records ON records (expires_at) WHERE expires_at IS NOT NULL AND NOT pinned;
