-- No data is lost: the groups are counted from the records.
DROP TRIGGER record_groups_2_update ON records;
DROP TRIGGER record_groups_2_insert ON records;
DROP TRIGGER record_groups_1_update ON records;
DROP TRIGGER record_groups_1_delete ON records;
DROP FUNCTION memory_add_to_groups();
DROP FUNCTION memory_subtract_from_groups();
DROP FUNCTION memory_record_edited_at(json);
DROP FUNCTION memory_record_app(json);
DROP TABLE record_groups;
