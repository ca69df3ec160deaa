-- The time at which `leased_until` was written. A time in the future comes from a clock that was ahead: the item is
-- then free, unless its owner is alive. Leases and retry delays of an earlier schema have no such time and end here.
ALTER TABLE backlog ADD COLUMN leased_at INTEGER NOT NULL DEFAULT 0;
UPDATE backlog SET leased_until = -9223372036854775808, owner = NULL WHERE leased_until <> 9223372036854775807;
