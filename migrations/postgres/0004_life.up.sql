-- What could not be done, and what went with its source.

-- How often a job has failed, and why the last time. One that was given up is leased for ever.
ALTER TABLE backlog ADD COLUMN attempts bigint NOT NULL DEFAULT 0, ADD COLUMN reason text;

-- True for what nobody deleted, but what it was made from was deleted or changed.
ALTER TABLE tombstones ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;
ALTER TABLE barred_contents ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;

-- Finds what was made from a record. An id is as good as unique, so that the index needs no namespace.
CREATE INDEX records_by_source ON records USING gin (derived_from) WITH (fastupdate = off) WHERE derived_from <> '{}';

-- No length depends on the others' any more.
ALTER TABLE addresses DROP COLUMN terms;
