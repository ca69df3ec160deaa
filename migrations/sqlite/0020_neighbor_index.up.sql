-- Finding the neighbours of a record reads this index alone, unless both have the same role: a row of `records` is on
-- another page of the file, and with several kinds of records at one address, several rows are passed. The index has no
-- speakers: SQLite can leave bytes of deleted entries in the pages of an index.
DROP INDEX records_by_scope;
CREATE INDEX records_by_scope ON records (scope, occurred_at, place, id, kind, state, role);
