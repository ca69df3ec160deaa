-- Groups of synonyms, and what was decided about pairs that were suggested. They belong to a tenant (the namespace whose
-- user is '') or to a user. People edit the first table by hand, too: a row needs no more than a term and its other words.

CREATE TABLE synonym_groups (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    term      TEXT NOT NULL,
    members   TEXT NOT NULL CHECK (json_valid(members) AND json_type(members) = 'array'),
    category  TEXT NOT NULL DEFAULT 'general',
    PRIMARY KEY (namespace, term)
) STRICT, WITHOUT ROWID;

-- Both words are folded, the lesser one first.
CREATE TABLE synonym_verdicts (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    first     TEXT NOT NULL,
    second    TEXT NOT NULL,
    accepted  INTEGER NOT NULL CHECK (accepted IN (0, 1)),
    PRIMARY KEY (namespace, first, second),
    CHECK (first < second)
) STRICT, WITHOUT ROWID;
