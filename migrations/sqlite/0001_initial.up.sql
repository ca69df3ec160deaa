-- Every table of memory-engine. Names of people and conversations are kept once, as text, in tenants, namespaces and
-- scopes; everything else goes by their numbers. Rows of these three are never removed, so that a number never comes to
-- mean somebody else.

CREATE TABLE tenants (
    tenant INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE
) STRICT;

-- Tenant and user: ids and tombstones are unique within it. '' is the user that is not set.
CREATE TABLE namespaces (
    namespace INTEGER PRIMARY KEY,
    tenant    INTEGER NOT NULL REFERENCES tenants,
    user      TEXT NOT NULL,
    UNIQUE (tenant, user)
) STRICT;

-- A full address, '' for what is not set, with the corpus statistics of the records at it.
CREATE TABLE scopes (
    scope     INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    agent     TEXT NOT NULL,
    session   TEXT NOT NULL,
    branch    TEXT NOT NULL,
    documents INTEGER NOT NULL DEFAULT 0,
    terms     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (namespace, agent, session, branch)
) STRICT;

-- The truth. Times are microseconds since 1970, lists and metadata JSON.
CREATE TABLE records (
    record       INTEGER PRIMARY KEY,
    namespace    INTEGER NOT NULL REFERENCES namespaces,
    scope        INTEGER NOT NULL REFERENCES scopes,
    id           BLOB NOT NULL CHECK (length(id) = 16),
    revision     INTEGER NOT NULL,
    state        TEXT NOT NULL,
    kind         TEXT NOT NULL,
    trust        TEXT NOT NULL,
    occurred_at  INTEGER NOT NULL,
    recorded_at  INTEGER NOT NULL,
    valid_from   INTEGER,
    valid_until  INTEGER,
    role         TEXT,
    speaker      TEXT,
    scene        TEXT,
    topic        TEXT,
    emotion      TEXT,
    confidence   REAL NOT NULL,
    importance   REAL NOT NULL,
    message_id   TEXT,
    sequence     INTEGER,
    round        INTEGER,
    entities     TEXT NOT NULL,
    tags         TEXT NOT NULL,
    derived_from TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    text         TEXT NOT NULL,
    -- The second part of a record's position; the first is occurred_at, the third the id.
    place        INTEGER NOT NULL GENERATED ALWAYS AS (coalesce(sequence, 0)) VIRTUAL,
    UNIQUE (id, namespace)
) STRICT;
CREATE INDEX records_by_scope ON records (scope, occurred_at, place, id);
CREATE INDEX records_by_namespace ON records (namespace, occurred_at, place, id);

CREATE TABLE tombstones (
    namespace    INTEGER NOT NULL REFERENCES namespaces,
    id           BLOB NOT NULL CHECK (length(id) = 16),
    scope        INTEGER NOT NULL REFERENCES scopes,
    content_hash BLOB NOT NULL CHECK (length(content_hash) = 32),
    deleted_at   INTEGER NOT NULL,
    PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

-- The content that tombstones bar. A tombstone that is replaced does not lift what it barred.
CREATE TABLE barred_contents (
    namespace    INTEGER NOT NULL REFERENCES namespaces,
    content_hash BLOB NOT NULL CHECK (length(content_hash) = 32),
    PRIMARY KEY (namespace, content_hash)
) STRICT, WITHOUT ROWID;

-- What is still to be done for which record, the oldest ticket first.
CREATE TABLE backlog (
    ticket       INTEGER PRIMARY KEY,
    job          TEXT NOT NULL,
    record       INTEGER NOT NULL REFERENCES records,
    leased_until INTEGER NOT NULL,
    UNIQUE (record, job)
) STRICT;
CREATE INDEX backlog_by_job ON backlog (job, ticket);

-- What the derived tables below were made with: the analyzer's fingerprint and the embedding space.
CREATE TABLE origins (
    part    TEXT PRIMARY KEY,
    made_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The terms of each active record: sorted, with one blank between them, and how often each occurs (LEB128).
CREATE TABLE keyword_documents (
    record INTEGER PRIMARY KEY REFERENCES records,
    id     BLOB NOT NULL,
    scope  INTEGER NOT NULL REFERENCES scopes,
    length INTEGER NOT NULL,
    terms  TEXT NOT NULL,
    counts BLOB NOT NULL
) STRICT;

-- Finds the candidates among them. It holds no term, but a token that is made of the term's hash and of whose it is.
CREATE VIRTUAL TABLE keyword_tokens USING fts5 (
    tokens, content = '', detail = none, columnsize = 0, tokenize = 'ascii'
);
INSERT INTO keyword_tokens (keyword_tokens, rank) VALUES ('secure-delete', 1);

-- The vector of each active record: 32-bit floats, little-endian.
CREATE TABLE vectors (
    record INTEGER PRIMARY KEY REFERENCES records,
    id     BLOB NOT NULL,
    scope  INTEGER NOT NULL REFERENCES scopes,
    vector BLOB NOT NULL
) STRICT;

-- Which vectors have changed, for processes that keep them in memory. The latest row is never removed.
CREATE TABLE vector_changes (
    change INTEGER PRIMARY KEY,
    record INTEGER NOT NULL
) STRICT;
