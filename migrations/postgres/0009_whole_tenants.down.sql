DROP INDEX records_by_moment;
DROP INDEX records_by_id;
