-- The vectors of the tokens of a record, for token-by-token comparison. One table beside each of the two tables of vectors:
-- a row is removed together with the vector of its record.
CREATE TABLE vector_tokens (
    record INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE,
    tokens BLOB NOT NULL
) STRICT;
CREATE TABLE second_vector_tokens (
    record INTEGER PRIMARY KEY REFERENCES second_vectors ON DELETE CASCADE,
    tokens BLOB NOT NULL
) STRICT;
