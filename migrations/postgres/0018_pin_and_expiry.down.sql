-- Pins and expiry times are lost. Earlier versions do not know the state 'pending': such records become retracted ones.
UPDATE records SET state = 'revoked' WHERE state = 'pending';
DROP INDEX expiring_records;
DROP INDEX pinned_records;
ALTER TABLE records DROP COLUMN expires_at, DROP COLUMN pinned;
