-- The vectors of the tokens of a record, for token-by-token comparison. NULL if the model offers none. They do not
-- compress, so the server need not try.
ALTER TABLE vectors ADD COLUMN tokens bytea;
ALTER TABLE vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
ALTER TABLE second_vectors ADD COLUMN tokens bytea;
ALTER TABLE second_vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
