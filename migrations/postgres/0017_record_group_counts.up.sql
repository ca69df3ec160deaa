-- Counts the existing records. Not in the migration before, whose table has its partitions only after its last statement.
-- The triggers of that migration already block the writes of other processes until both are committed.
DELETE FROM record_groups;
INSERT INTO record_groups (ns, address, kind, state, app, records, oldest, newest, edited_at)
    SELECT r.ns, r.address, r.kind, r.state, memory_record_app(r.metadata), count(*), min(r.occurred_at),
           max(r.occurred_at), max(memory_record_edited_at(r.metadata))
    FROM records r GROUP BY 1, 2, 3, 4, 5;
