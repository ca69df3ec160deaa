-- A second generation of vectors beside the one that serves, filled by another embedder. The two tables change places: which
-- of them serves stands in `origins` as 'serving table' ('vectors', unless told otherwise), the space of the serving one as
-- 'embedding', that of the other one as 'reembedding', and what that one still lacks in `backlog` under the same name.
CREATE TABLE second_vectors (
    record INTEGER PRIMARY KEY REFERENCES records,
    id     BLOB NOT NULL,
    scope  INTEGER NOT NULL REFERENCES scopes,
    vector BLOB NOT NULL
) STRICT;
