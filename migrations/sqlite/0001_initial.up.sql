-- The tables of memory-engine.
--
-- Names of tenants, users and conversations are stored once, as text, in `tenants`, `namespaces` and `scopes`. All
-- other tables except the audit log refer to them by number. Rows of these three tables are never removed, so that a
-- number is never used for another owner. Times are microseconds since 1970, lists and metadata JSON.

-- ---- Owners ----

CREATE TABLE tenants (
    tenant INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE
) STRICT;

-- A tenant and a user. Ids and tombstones are unique within a namespace. '' is the user that is not set.
CREATE TABLE namespaces (
    namespace INTEGER PRIMARY KEY,
    tenant    INTEGER NOT NULL REFERENCES tenants,
    user      TEXT NOT NULL,
    UNIQUE (tenant, user)
) STRICT;

-- A full scope. '' for a dimension that is not set.
CREATE TABLE scopes (
    scope     INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    agent     TEXT NOT NULL,
    session   TEXT NOT NULL,
    branch    TEXT NOT NULL,
    UNIQUE (namespace, agent, session, branch)
) STRICT;

-- ---- Records ----

-- The source of truth. Terms, vectors, derivations and groups are rebuilt from records. Tombstones, blocked contents,
-- synonyms, failed jobs, relations that a caller stated, and the audit log are not.
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
    pinned       INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    expires_at   INTEGER,
    entities     TEXT NOT NULL,
    tags         TEXT NOT NULL,
    derived_from TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    text         TEXT NOT NULL,
    -- The second part of the position of a record; the first is occurred_at, the third the id.
    place        INTEGER NOT NULL GENERATED ALWAYS AS (coalesce(sequence, 0)) VIRTUAL,
    -- Two values of the metadata, NULL for metadata that are not JSON. The test of the text comes first, because most
    -- metadata have neither.
    app          TEXT GENERATED ALWAYS AS (
        CASE WHEN instr(metadata, '"mem0.app"') > 0 AND json_valid(metadata) THEN
            CASE json_type(metadata, '$."mem0.app"') WHEN 'text' THEN nullif(metadata ->> '$."mem0.app"', '') END
        END
    ) VIRTUAL,
    edited_at    INTEGER GENERATED ALWAYS AS (
        CASE WHEN instr(metadata, '"mem0.updated"') > 0 AND json_valid(metadata) THEN
            CASE json_type(metadata, '$."mem0.updated"') WHEN 'integer' THEN
                CASE WHEN metadata ->> '$."mem0.updated"' BETWEEN -999999999999999999 AND 999999999999999999
                    THEN metadata ->> '$."mem0.updated"' END
            END
        END
    ) VIRTUAL,
    UNIQUE (id, namespace)
) STRICT;

-- Finding the neighbours of a record reads this index alone, unless both have the same role: a row of `records` is on
-- another page of the file, and with several kinds of records in one scope, several rows are passed. The index has no
-- speakers: SQLite can leave bytes of deleted entries in the pages of an index.
CREATE INDEX records_by_scope ON records (scope, occurred_at, place, id, kind, state, role);
CREATE INDEX records_by_namespace ON records (namespace, occurred_at, place, id);
CREATE INDEX pinned_records ON records (namespace, occurred_at, place, id) WHERE pinned;
CREATE INDEX expiring_records ON records (expires_at) WHERE expires_at IS NOT NULL AND NOT pinned;

-- The sources of each derived record. A source is stored by its id, because its record may be missing.
CREATE TABLE derivations (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    source    BLOB NOT NULL CHECK (length(source) = 16),
    record    INTEGER NOT NULL REFERENCES records,
    PRIMARY KEY (namespace, source, record)
) STRICT, WITHOUT ROWID;

-- ---- Deletion ----

-- `cascade_deleted` is 1 for a record that was deleted because its source was deleted or changed.
CREATE TABLE tombstones (
    namespace       INTEGER NOT NULL REFERENCES namespaces,
    id              BLOB NOT NULL CHECK (length(id) = 16),
    scope           INTEGER NOT NULL REFERENCES scopes,
    content_hash    BLOB NOT NULL CHECK (length(content_hash) = 32),
    deleted_at      INTEGER NOT NULL,
    cascade_deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

-- The contents that tombstones block. A content stays blocked if its tombstone is replaced.
CREATE TABLE blocked_contents (
    namespace       INTEGER NOT NULL REFERENCES namespaces,
    content_hash    BLOB NOT NULL CHECK (length(content_hash) = 32),
    cascade_deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, content_hash)
) STRICT, WITHOUT ROWID;

-- ---- Jobs ----

-- The queued jobs of the records, claimed in the order of their tickets. A job that is a dead letter has the latest
-- possible lease.
CREATE TABLE jobs (
    ticket       INTEGER PRIMARY KEY,
    job          TEXT NOT NULL,
    record       INTEGER NOT NULL REFERENCES records,
    leased_until INTEGER NOT NULL,
    -- The time at which `leased_until` was written. A time in the future comes from a clock that was ahead: the job is
    -- then free, unless its owner is alive.
    leased_at    INTEGER NOT NULL DEFAULT 0,
    -- The store that claimed the job; NULL while the job is free or waits for a retry.
    owner        INTEGER,
    -- The number of failures, and the reason of the latest one.
    attempts     INTEGER NOT NULL DEFAULT 0,
    reason       TEXT,
    queued_at    INTEGER NOT NULL DEFAULT 0,
    UNIQUE (record, job)
) STRICT;
CREATE INDEX jobs_by_job ON jobs (job, ticket);

-- The stores that may hold leases. Each holds a lock on its own file next to the database until it is closed or its
-- process ends.
CREATE TABLE lease_owners (
    owner INTEGER PRIMARY KEY
) STRICT;

-- ---- Indexes ----

-- The settings of the indexes below, by part: 'keywords' is the fingerprint of the analyzer, 'embedding' the space of
-- the serving vectors, 'reembedding' that of the second ones. 'serving table' names the table that serves ('vectors' if
-- there is no row).
CREATE TABLE index_metadata (
    part    TEXT PRIMARY KEY,
    made_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- A random number that identifies this database, so that index caches of another database are not used.
INSERT INTO index_metadata (part, made_by) VALUES ('store id', lower(hex(randomblob(8))));

-- The terms of each active record, sorted and separated by blanks. `counts` are LEB128 numbers: the number of
-- occurrences of each term, or a 0 and then only the terms that occur more than once.
CREATE TABLE keyword_documents (
    record INTEGER PRIMARY KEY REFERENCES records,
    id     BLOB NOT NULL,
    scope  INTEGER NOT NULL REFERENCES scopes,
    length INTEGER NOT NULL,
    terms  TEXT NOT NULL,
    counts BLOB NOT NULL
) STRICT;

-- The vector of each active record: 32-bit floats, little-endian.
CREATE TABLE vectors (
    record INTEGER PRIMARY KEY REFERENCES records,
    id     BLOB NOT NULL,
    scope  INTEGER NOT NULL REFERENCES scopes,
    vector BLOB NOT NULL
) STRICT;

-- The vectors of another embedder, which replaces the one of `vectors`. When the table is complete, the two swap roles.
CREATE TABLE secondary_vectors (
    record INTEGER PRIMARY KEY REFERENCES records,
    id     BLOB NOT NULL,
    scope  INTEGER NOT NULL REFERENCES scopes,
    vector BLOB NOT NULL
) STRICT;

-- The vectors of the tokens of a record, for token-by-token comparison. A row is removed with the vector of its record.
CREATE TABLE vector_tokens (
    record INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE,
    tokens BLOB NOT NULL
) STRICT;
CREATE TABLE secondary_vector_tokens (
    record INTEGER PRIMARY KEY REFERENCES secondary_vectors ON DELETE CASCADE,
    tokens BLOB NOT NULL
) STRICT;

-- The records whose terms or vectors changed, for processes that keep them in memory. The latest row is never removed.
CREATE TABLE changes (
    change INTEGER PRIMARY KEY,
    record INTEGER NOT NULL,
    -- A random number. An index cache stores that of its newest change. After a backup is restored, the same change has
    -- another number, so that newer caches are not used.
    nonce  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- ---- Graph ----

-- The entities that active records name. An entity is the hash of its owner and its folded name. It exists as long as a
-- record names it.
CREATE TABLE graph_entities (
    record INTEGER NOT NULL REFERENCES records,
    entity BLOB NOT NULL CHECK (length(entity) = 16),
    scope  INTEGER NOT NULL REFERENCES scopes,
    name   TEXT NOT NULL,
    kind   TEXT NOT NULL,
    PRIMARY KEY (record, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_entities_by_entity ON graph_entities (entity, record);

-- Further names that a record gives an entity; `alias` is the entity with that name.
CREATE TABLE graph_aliases (
    record INTEGER NOT NULL REFERENCES records,
    entity BLOB NOT NULL CHECK (length(entity) = 16),
    alias  BLOB NOT NULL CHECK (length(alias) = 16),
    scope  INTEGER NOT NULL REFERENCES scopes,
    name   TEXT NOT NULL,
    PRIMARY KEY (record, entity, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_aliases_by_entity ON graph_aliases (entity);
CREATE INDEX graph_aliases_by_alias ON graph_aliases (alias);

-- Relations. The record is the evidence; its validity applies to edges without one of their own.
CREATE TABLE graph_edges (
    edge        INTEGER PRIMARY KEY,
    record      INTEGER NOT NULL REFERENCES records,
    source      BLOB NOT NULL CHECK (length(source) = 16),
    relation    TEXT NOT NULL,
    target      BLOB NOT NULL CHECK (length(target) = 16),
    scope       INTEGER NOT NULL REFERENCES scopes,
    valid_from  INTEGER,
    valid_until INTEGER,
    rule        TEXT -- the id of the rule, `model` for a language model, NULL for a relation that a caller stated
) STRICT;
CREATE INDEX graph_edges_by_record ON graph_edges (record);
CREATE INDEX graph_edges_by_source ON graph_edges (source);
CREATE INDEX graph_edges_by_target ON graph_edges (target);

-- ---- Synonyms ----

-- Synonym groups of a tenant (the namespace whose user is '') or of a user. Users may add rows by SQL; a row needs a
-- term and its other words.
CREATE TABLE synonym_groups (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    term      TEXT NOT NULL,
    members   TEXT NOT NULL CHECK (json_valid(members) AND json_type(members) = 'array'),
    category  TEXT NOT NULL DEFAULT 'general',
    PRIMARY KEY (namespace, term)
) STRICT, WITHOUT ROWID;

-- The decisions about suggested pairs. Both words are folded, the lesser one is first.
CREATE TABLE synonym_verdicts (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    first     TEXT NOT NULL,
    second    TEXT NOT NULL,
    accepted  INTEGER NOT NULL CHECK (accepted IN (0, 1)),
    PRIMARY KEY (namespace, first, second),
    CHECK (first < second)
) STRICT, WITHOUT ROWID;

-- ---- Audit log ----

-- Each tenant has a chain of entries, in which each hash covers the one before it. No entry has text of a
-- record: only ids, the names of the scope, and the names of the key and the program.

-- The latest entry of a tenant, and the latest one that was pruned.
CREATE TABLE audit_chains (
    tenant          TEXT PRIMARY KEY,
    sequence        INTEGER NOT NULL,
    hash            BLOB NOT NULL,
    pruned_sequence INTEGER NOT NULL,
    pruned_hash     BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_log (
    tenant        TEXT NOT NULL,
    sequence      INTEGER NOT NULL,
    written_at    INTEGER NOT NULL, -- microseconds since 1970
    actor_key     TEXT,
    actor_agent   TEXT,
    action        TEXT NOT NULL,
    operation     TEXT NOT NULL,
    user          TEXT NOT NULL, -- the scope; empty for a dimension that is not set
    agent         TEXT NOT NULL,
    session       TEXT NOT NULL,
    branch        TEXT NOT NULL,
    records       BLOB NOT NULL, -- ids of 16 bytes
    record_count  INTEGER NOT NULL,
    failed_entry  INTEGER, -- the entry whose action failed, and the kind of the error
    error         TEXT,
    previous_hash BLOB NOT NULL,
    hash          BLOB NOT NULL,
    PRIMARY KEY (tenant, sequence)
) STRICT;
CREATE INDEX audit_log_by_user ON audit_log (tenant, user, sequence);

-- ---- Numbers of records ----

-- The number of records of each kind, state and application at each address, with their times, so that lists of users,
-- agents and sessions need not read the records. Triggers keep the rows; a row without records is removed.
-- `app` is text of the records and therefore in no index: deleted index entries may leave bytes in the file.
CREATE TABLE record_groups (
    record_group INTEGER PRIMARY KEY,
    scope        INTEGER NOT NULL REFERENCES scopes,
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,
    app          TEXT,
    records      INTEGER NOT NULL,
    oldest       INTEGER NOT NULL,
    newest       INTEGER NOT NULL,
    edited_at    INTEGER,
    -- 1 if the oldest or newest record was removed, 2 if the one with the latest edit was. The store reads the times
    -- again at the end of its transaction, since a trigger would do so for each of many removed records.
    stale        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX record_groups_by_scope ON record_groups (scope);
CREATE INDEX record_groups_stale ON record_groups (record_group) WHERE stale > 0;

CREATE TRIGGER record_groups_after_insert AFTER INSERT ON records BEGIN
    INSERT INTO record_groups (scope, kind, state, app, records, oldest, newest)
        SELECT new.scope, new.kind, new.state, new.app, 0, new.occurred_at, new.occurred_at
        WHERE NOT EXISTS (
            SELECT 1 FROM record_groups
            WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app
        );
    UPDATE record_groups SET records = records + 1, oldest = min(oldest, new.occurred_at),
            newest = max(newest, new.occurred_at),
            edited_at = max(coalesce(edited_at, new.edited_at), coalesce(new.edited_at, edited_at))
        WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app;
END;

CREATE TRIGGER record_groups_after_delete AFTER DELETE ON records BEGIN
    UPDATE record_groups SET records = records - 1,
            stale = max(stale, CASE WHEN old.edited_at >= edited_at THEN 2
                                    WHEN old.occurred_at <= oldest OR old.occurred_at >= newest THEN 1 ELSE 0 END)
        WHERE scope = old.scope AND kind = old.kind AND state = old.state AND app IS old.app;
    DELETE FROM record_groups WHERE scope = old.scope AND records < 1;
END;

CREATE TRIGGER record_groups_after_update AFTER UPDATE ON records
    WHEN (old.scope, old.kind, old.state, old.app, old.occurred_at, old.edited_at)
        IS NOT (new.scope, new.kind, new.state, new.app, new.occurred_at, new.edited_at)
BEGIN
    INSERT INTO record_groups (scope, kind, state, app, records, oldest, newest)
        SELECT new.scope, new.kind, new.state, new.app, 0, new.occurred_at, new.occurred_at
        WHERE NOT EXISTS (
            SELECT 1 FROM record_groups
            WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app
        );
    UPDATE record_groups SET records = records + 1, oldest = min(oldest, new.occurred_at),
            newest = max(newest, new.occurred_at),
            edited_at = max(coalesce(edited_at, new.edited_at), coalesce(new.edited_at, edited_at))
        WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app;
    UPDATE record_groups SET records = records - 1,
            stale = max(stale, CASE WHEN old.edited_at >= edited_at THEN 2
                                    WHEN old.occurred_at <= oldest OR old.occurred_at >= newest THEN 1 ELSE 0 END)
        WHERE scope = old.scope AND kind = old.kind AND state = old.state AND app IS old.app;
    DELETE FROM record_groups WHERE scope = old.scope AND records < 1;
END;
