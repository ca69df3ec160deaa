-- No data is lost: the groups are counted from the records.
DROP TRIGGER record_groups_after_update;
DROP TRIGGER record_groups_after_delete;
DROP TRIGGER record_groups_after_insert;
DROP TABLE record_groups;
ALTER TABLE records DROP COLUMN edited_at;
ALTER TABLE records DROP COLUMN app;
