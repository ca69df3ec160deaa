ALTER TABLE second_vectors DROP COLUMN tokens;
ALTER TABLE vectors DROP COLUMN tokens;
