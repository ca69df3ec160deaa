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
    namespace    INTEGER NOT NULL REFERENCES namespaces,
    id           BLOB NOT NULL CHECK (length(id) = 16),
    scope        INTEGER NOT NULL REFERENCES scopes,
    content_hash BLOB NOT NULL CHECK (length(content_hash) = 32),
    deleted_at   INTEGER NOT NULL,
    cascade_deleted    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

-- The contents that tombstones block. A content stays blocked if its tombstone is replaced.
CREATE TABLE blocked_contents (
    namespace    INTEGER NOT NULL REFERENCES namespaces,
    content_hash BLOB NOT NULL CHECK (length(content_hash) = 32),
    cascade_deleted    INTEGER NOT NULL DEFAULT 0,
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
    nonce   INTEGER NOT NULL DEFAULT 0
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

-- ---- Views ----

-- Views of the records of a companion, for programs that read them by SQL. `tenant`, `user_id` and `agent` identify
-- the owner. Times are texts in UTC. Columns that records do not have are read from metadata of the same name.

CREATE VIEW conversations AS
    SELECT lower(printf('%s-%s-%s-%s-%s', substr(hex(r.id), 1, 8), substr(hex(r.id), 9, 4), substr(hex(r.id), 13, 4),
                        substr(hex(r.id), 17, 4), substr(hex(r.id), 21))) AS id,
           t.name AS tenant, n.user AS user_id, s.agent, s.session AS session_id,
           coalesce(r.role, 'user') AS role, r.text AS content,
           coalesce(CASE json_type(r.metadata, '$.affection_delta') WHEN 'integer' THEN r.metadata ->> '$.affection_delta' END,
                    0) AS affection_delta,
           r.metadata ->> '$.key_moment_id' IS NOT NULL AS is_key_moment,
           r.metadata ->> '$.key_moment_id' AS key_moment_id, r.sequence,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS created_at
    FROM records r JOIN scopes s ON s.scope = r.scope JOIN namespaces n ON n.namespace = r.namespace
         JOIN tenants t ON t.tenant = n.tenant
    WHERE r.kind = 'turn' AND r.state = 'active';

CREATE VIEW key_moments AS
    SELECT coalesce(r.message_id, lower(hex(r.id))) AS id, t.name AS tenant, n.user AS user_id, s.agent,
           coalesce(CASE json_type(r.metadata, '$.chapter') WHEN 'integer' THEN r.metadata ->> '$.chapter' END, 1) AS chapter,
           coalesce(r.metadata ->> '$.moment_name', r.topic) AS moment_name,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS triggered_at,
           coalesce(r.metadata ->> '$.user_response', r.text) AS user_response,
           r.metadata ->> '$.aicy_response' AS aicy_response,
           CASE json_type(r.metadata, '$.affection_gained') WHEN 'integer' THEN r.metadata ->> '$.affection_gained' END
               AS affection_gained,
           coalesce(r.metadata ->> '$.status', 'completed') AS status
    FROM records r JOIN scopes s ON s.scope = r.scope JOIN namespaces n ON n.namespace = r.namespace
         JOIN tenants t ON t.tenant = n.tenant
    WHERE r.kind = 'key_moment' AND r.state = 'active';

-- One row for each companion of a user: how the two stand, and the latest profile.
CREATE VIEW user_profiles AS
    SELECT n.user AS user_id, t.name AS tenant, s.agent, p.metadata ->> '$.nickname' AS nickname,
           coalesce(b.metadata ->> '$.affection', p.metadata ->> '$.affection', 0) AS affection,
           coalesce(b.metadata ->> '$.current_chapter', p.metadata ->> '$.current_chapter', 1) AS current_chapter,
           coalesce(p.metadata ->> '$.personality_summary', p.text) AS personality_summary,
           p.metadata ->> '$.preferences_summary' AS preferences_summary,
           p.metadata ->> '$.relationship_summary' AS relationship_summary,
           p.metadata ->> '$.recent_topics' AS recent_topics,
           coalesce(b.metadata ->> '$.total_messages', p.metadata ->> '$.total_messages', 0) AS total_messages,
           coalesce(b.metadata ->> '$.consecutive_days', p.metadata ->> '$.consecutive_days', 0) AS consecutive_days,
           strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(b.metadata ->> '$.last_active_micros', p.occurred_at) / 1000000.0,
                    'unixepoch') AS last_active_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', min(coalesce(b.recorded_at, p.recorded_at), coalesce(p.recorded_at, b.recorded_at))
                    / 1000000.0, 'unixepoch') AS created_at
    FROM (SELECT DISTINCT scope FROM records WHERE kind IN ('ledger/companion', 'profile') AND state = 'active') who
         JOIN scopes s ON s.scope = who.scope JOIN namespaces n ON n.namespace = s.namespace
         JOIN tenants t ON t.tenant = n.tenant
         LEFT JOIN records b ON b.record = (
             SELECT record FROM records WHERE scope = who.scope AND kind = 'ledger/companion' AND state = 'active'
             ORDER BY occurred_at DESC, place DESC, id DESC LIMIT 1)
         LEFT JOIN records p ON p.record = (
             SELECT record FROM records WHERE scope = who.scope AND kind = 'profile' AND state = 'active'
             ORDER BY occurred_at DESC, place DESC, id DESC LIMIT 1);

CREATE VIEW affection_logs AS
    SELECT lower(printf('%s-%s-%s-%s-%s', substr(hex(r.id), 1, 8), substr(hex(r.id), 9, 4), substr(hex(r.id), 13, 4),
                        substr(hex(r.id), 17, 4), substr(hex(r.id), 21))) AS id, t.name AS tenant, n.user AS user_id, s.agent,
           coalesce(CASE json_type(r.metadata, '$.delta') WHEN 'integer' THEN r.metadata ->> '$.delta' END, 0) AS delta,
           coalesce(r.metadata ->> '$.reason', r.text) AS reason,
           CASE json_type(r.metadata, '$.before_value') WHEN 'integer' THEN r.metadata ->> '$.before_value' END AS before_value,
           CASE json_type(r.metadata, '$.after_value') WHEN 'integer' THEN r.metadata ->> '$.after_value' END AS after_value,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS created_at
    FROM records r JOIN scopes s ON s.scope = r.scope JOIN namespaces n ON n.namespace = r.namespace
         JOIN tenants t ON t.tenant = n.tenant
    WHERE r.kind = 'ledger/affection' AND r.state = 'active';

-- The items, embeddings, entities and edges of a story's memory, for programs that read them by SQL under these
-- names. The columns `tenant` and `user_id` identify the owner. Times are texts in UTC, ids the text of a UUID.
-- SQLite has no function for a hash of the content, so `memory_items` has no column for it.

-- Messages and parts of messages have the kind `timeline_chunk`; other records keep their kind.
CREATE VIEW memory_items AS
    SELECT lower(printf('%s-%s-%s-%s-%s', substr(hex(r.id), 1, 8), substr(hex(r.id), 9, 4), substr(hex(r.id), 13, 4),
                        substr(hex(r.id), 17, 4), substr(hex(r.id), 21))) AS id,
           t.name AS tenant, n.user AS user_id, s.session AS session_id, s.branch AS branch_id,
           r.message_id AS source_message_id, r.sequence AS source_seq,
           CASE WHEN r.kind IN ('turn', 'chunk') THEN 'timeline_chunk' ELSE r.kind END AS kind,
           r.text AS content, r.confidence, r.derived_from,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS created_at
    FROM records r JOIN scopes s ON s.scope = r.scope JOIN namespaces n ON n.namespace = r.namespace
         JOIN tenants t ON t.tenant = n.tenant
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- The vector of each item as 32-bit floats, little-endian, and the model that made it.
CREATE VIEW memory_embeddings AS
    SELECT lower(printf('%s-%s-%s-%s-%s', substr(hex(r.id), 1, 8), substr(hex(r.id), 9, 4), substr(hex(r.id), 13, 4),
                        substr(hex(r.id), 17, 4), substr(hex(r.id), 21))) AS memory_item_id,
           length(v.vector) / 4 AS dim, v.vector AS vector_blob,
           -- The space is written as `model (dimensions, metric)`: the text before the last parenthesis is the model.
           (SELECT substr(o.made_by, 1, length(rtrim(o.made_by, replace(o.made_by, '(', ''))) - 2)
            FROM index_metadata o WHERE o.part = 'embedding') AS model,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.recorded_at / 1000000.0, 'unixepoch') AS created_at
    FROM (
        SELECT record, vector FROM vectors
        WHERE NOT EXISTS (SELECT 1 FROM index_metadata WHERE part = 'serving table' AND made_by = 'secondary_vectors')
        UNION ALL
        SELECT record, vector FROM secondary_vectors
        WHERE EXISTS (SELECT 1 FROM index_metadata WHERE part = 'serving table' AND made_by = 'secondary_vectors')
    ) v JOIN records r ON r.record = v.record
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- An entity of a session as the first message names it. `canonical` is the name that another message gives it as well.
CREATE VIEW memory_entities AS
    SELECT lower(hex(e.entity)) AS id, t.name AS tenant, n.user AS user_id, s.session AS session_id, e.name,
           e.kind AS type,
           coalesce((
               SELECT min(c.name) FROM graph_aliases g
                    JOIN scopes b ON b.scope = g.scope
                    JOIN graph_entities c ON c.record = g.record AND c.entity = g.entity
               WHERE g.alias = e.entity AND b.namespace = s.namespace AND b.session = s.session
           ), e.name) AS canonical,
           strftime('%Y-%m-%dT%H:%M:%fZ', min(r.occurred_at) / 1000000.0, 'unixepoch') AS created_at
    FROM graph_entities e JOIN scopes s ON s.scope = e.scope JOIN namespaces n ON n.namespace = s.namespace
         JOIN tenants t ON t.tenant = n.tenant JOIN records r ON r.record = e.record AND r.state = 'active'
    GROUP BY s.namespace, s.session, e.entity;

-- A relation between two entities, with the message that states it.
CREATE VIEW memory_edges AS
    SELECT e.edge AS id, t.name AS tenant, n.user AS user_id, s.session AS session_id, s.branch AS branch_id,
           lower(hex(e.source)) AS src_entity_id, e.relation AS rel, lower(hex(e.target)) AS dst_entity_id,
           r.message_id AS evidence_message_id, r.sequence AS evidence_seq,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS created_at
    FROM graph_edges e JOIN scopes s ON s.scope = e.scope JOIN namespaces n ON n.namespace = s.namespace
         JOIN tenants t ON t.tenant = n.tenant JOIN records r ON r.record = e.record AND r.state = 'active';
