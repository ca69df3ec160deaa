-- What records are made of, what could not be done, and what went with its source.

-- Which record was made from which other one, by its id: that one may not be there (any more, or yet).
CREATE TABLE derivations (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    source    BLOB NOT NULL CHECK (length(source) = 16),
    record    INTEGER NOT NULL REFERENCES records,
    PRIMARY KEY (namespace, source, record)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO derivations (namespace, source, record)
    SELECT r.namespace, unhex(replace(j.value, '-', '')), r.record FROM records r, json_each(r.derived_from) j;

-- How often a job has failed, and why the last time. One that was given up is leased for ever.
ALTER TABLE backlog ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE backlog ADD COLUMN reason TEXT;

-- 1 for what nobody deleted, but what it was made from was deleted or changed.
ALTER TABLE tombstones ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE barred_contents ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;

-- No length depends on the others' any more.
ALTER TABLE scopes DROP COLUMN terms;
