-- Back to the narrower index. No data is lost.
DROP INDEX records_by_scope;
CREATE INDEX records_by_scope ON records (scope, occurred_at, place, id);
