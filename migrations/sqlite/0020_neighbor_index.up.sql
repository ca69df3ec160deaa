-- Finding the neighbours of a record reads this index alone: a row of `records` is another page of the file, and with
-- several kinds of records at one address, several rows are passed.
DROP INDEX records_by_scope;
CREATE INDEX records_by_scope ON records (scope, occurred_at, place, id, kind, state, role, speaker);
