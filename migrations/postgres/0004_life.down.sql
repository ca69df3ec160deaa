ALTER TABLE addresses ADD COLUMN terms bigint NOT NULL DEFAULT 0;
UPDATE addresses a SET terms = coalesce(
    (SELECT sum(k.length) FROM keyword_documents k WHERE k.ns = a.ns AND k.address = a.address), 0);
DROP INDEX records_by_source;
-- Earlier versions would keep away for ever what was only withdrawn.
DELETE FROM barred_contents WHERE withdrawn;
ALTER TABLE barred_contents DROP COLUMN withdrawn;
ALTER TABLE tombstones DROP COLUMN withdrawn;
-- Earlier versions know two jobs, and would try without end.
DELETE FROM backlog WHERE job NOT IN ('keywords', 'embedding');
UPDATE backlog SET leased_until = -9223372036854775808 WHERE leased_until = 9223372036854775807;
ALTER TABLE backlog DROP COLUMN attempts, DROP COLUMN reason;
