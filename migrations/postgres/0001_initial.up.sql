-- The tables of memory-engine.
--
-- `namespace` is tenant and user, as a UUID that is computed from their names. It leads every key, so that
-- one user is in one partition or on one server, and no statement reads two. Ids are made by the client; there are no
-- sequences. If the store is configured with partitions, each mark "by namespace" below becomes PARTITION BY HASH
-- (namespace).
--
-- Texts compare byte by byte (COLLATE "C"), times are microseconds since 1970.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'pg_trgm is not available: fuzzy search stays off';
END $$;

-- ---- Owners ----

-- A tenant and a user. Ids and tombstones are unique within a namespace. '' is the user that is not set. Writers lock
-- the row of their user first, so that the writes of one user come one after the other.
CREATE TABLE namespaces (
    namespace uuid NOT NULL PRIMARY KEY,
    tenant    text COLLATE "C" NOT NULL,
    username  text COLLATE "C" NOT NULL
) /* by namespace */;
CREATE INDEX namespaces_by_tenant ON namespaces (tenant, username);

-- A full scope ('' for a dimension that is not set), with the number of its documents and vectors.
CREATE TABLE scopes (
    namespace         uuid NOT NULL REFERENCES namespaces,
    scope             uuid NOT NULL,
    agent             text COLLATE "C" NOT NULL,
    session           text COLLATE "C" NOT NULL,
    branch            text COLLATE "C" NOT NULL,
    documents         bigint NOT NULL DEFAULT 0,
    vectors           bigint NOT NULL DEFAULT 0,
    secondary_vectors bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, scope)
) /* by namespace */;

-- ---- Records ----

-- The source of truth: every other table below can be rebuilt from it, except tombstones, synonyms and the audit log.
CREATE TABLE records (
    namespace    uuid NOT NULL,
    id           uuid NOT NULL,
    scope        uuid NOT NULL,
    revision     bigint NOT NULL,
    state        text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    trust        text COLLATE "C" NOT NULL,
    occurred_at  bigint NOT NULL,
    recorded_at  bigint NOT NULL,
    valid_from   bigint,
    valid_until  bigint,
    role         text COLLATE "C",
    speaker      text COLLATE "C",
    scene        text COLLATE "C",
    topic        text COLLATE "C",
    emotion      text COLLATE "C",
    confidence   double precision NOT NULL,
    importance   double precision NOT NULL,
    message_id   text COLLATE "C",
    sequence     bigint,
    round        bigint,
    pinned       boolean NOT NULL DEFAULT false,
    expires_at   bigint,
    entities     text[] COLLATE "C" NOT NULL,
    tags         text[] COLLATE "C" NOT NULL,
    derived_from uuid[] NOT NULL,
    -- Not jsonb, which changes numbers and the order of keys.
    metadata     json NOT NULL,
    text         text COLLATE "C" NOT NULL,
    -- The text as it is compared (width, case, traditional characters folded); NULL if that is the text itself.
    folded       text COLLATE "C",
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    -- The second part of the position of a record; the first is occurred_at, the third the id.
    place        bigint NOT NULL GENERATED ALWAYS AS (coalesce(sequence, 0)) STORED,
    PRIMARY KEY (namespace, id),
    FOREIGN KEY (namespace, scope) REFERENCES scopes
) /* by namespace */;
CREATE INDEX records_by_time ON records (namespace, occurred_at, place, id);
CREATE INDEX records_by_scope ON records (namespace, scope, occurred_at, place, id);
CREATE INDEX pinned_records ON records (namespace, occurred_at, place, id) WHERE pinned;
CREATE INDEX expiring_records ON records (expires_at) WHERE expires_at IS NOT NULL AND NOT pinned;

-- For searches of a whole tenant, which may have many namespaces: by id, and by time.
CREATE INDEX records_by_id ON records (id);
CREATE INDEX records_by_moment ON records (occurred_at);

-- Finds the records that were derived from a record. Ids are unique in practice, so the index needs no namespace.
CREATE INDEX records_by_source ON records USING gin (derived_from) WITH (fastupdate = off) WHERE derived_from <> '{}';

-- Finds misspelled words, and serves LIKE. Under a locale that knows only ASCII letters it would find no
-- Chinese, and the engine does not use it.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE INDEX records_by_trigram ON records USING gin (text gin_trgm_ops)
            WHERE state = 'active';
    END IF;
END $$;

-- ---- Deletion ----

-- `cascade_deleted` is true for a record that was deleted because its source was deleted or changed.
CREATE TABLE tombstones (
    namespace       uuid NOT NULL,
    id              uuid NOT NULL,
    scope           uuid NOT NULL,
    content_hash    bytea NOT NULL CHECK (length(content_hash) = 32),
    deleted_at      bigint NOT NULL,
    cascade_deleted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, id),
    FOREIGN KEY (namespace, scope) REFERENCES scopes
) /* by namespace */;

-- The contents that tombstones block. A content stays blocked if its tombstone is replaced.
CREATE TABLE blocked_contents (
    namespace       uuid NOT NULL REFERENCES namespaces,
    content_hash    bytea NOT NULL CHECK (length(content_hash) = 32),
    cascade_deleted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, content_hash)
) /* by namespace */;

-- ---- Jobs ----

-- The queued jobs of the records, claimed in the order of their tickets (UUIDs of version 7). A job that is a dead
-- letter has the latest possible lease.
CREATE TABLE jobs (
    namespace    uuid NOT NULL,
    job          text COLLATE "C" NOT NULL,
    id           uuid NOT NULL,
    ticket       uuid NOT NULL,
    leased_until bigint NOT NULL,
    -- The time at which `leased_until` was written. A time in the future comes from a clock that was ahead: the job is
    -- then free, unless its owner is alive.
    leased_at    bigint NOT NULL DEFAULT 0,
    -- The store that claimed the job; NULL while the job is free or waits for a retry.
    owner        bigint,
    -- The number of failures, and the reason of the latest one.
    attempts     bigint NOT NULL DEFAULT 0,
    reason       text,
    queued_at    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, job, id),
    FOREIGN KEY (namespace, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX jobs_by_ticket ON jobs (job, ticket, namespace, id);

-- The stores that may hold leases. Each holds the advisory lock of its number until its session ends.
CREATE TABLE lease_owners (
    owner bigint PRIMARY KEY
);

-- ---- Indexes ----

-- The settings of the indexes below, by part: 'keywords' is the fingerprint of the analyzer, 'embedding' the space of
-- the serving vectors, 'reembedding' that of the second ones. 'serving table' names the table that serves ('vectors' if
-- there is no row).
CREATE TABLE index_metadata (
    part    text COLLATE "C" PRIMARY KEY,
    made_by text NOT NULL
);

-- The terms of each active record, sorted and separated by blanks. `counts` are LEB128 numbers: the number of
-- occurrences of each term, or a 0 and then only the terms that occur more than once. `lexemes` find the candidates:
-- each is a term and the suffix of its owner, so that a search reads the postings of one user. A record with a term
-- that the server cannot count has the lexeme that every search includes (see `LexemeOwner::vector`). `repeated_terms`
-- are the terms that the record contains more than once, with the number of occurrences; NULL if there are none.
CREATE TABLE keyword_documents (
    namespace      uuid NOT NULL,
    id             uuid NOT NULL,
    scope          uuid NOT NULL,
    length         bigint NOT NULL,
    terms          bytea NOT NULL,
    counts         bytea NOT NULL,
    lexemes        tsvector NOT NULL,
    repeated_terms jsonb,
    PRIMARY KEY (namespace, id),
    FOREIGN KEY (namespace, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
-- Without the list of pending entries, which every search would read through.
CREATE INDEX keyword_documents_by_lexeme ON keyword_documents USING gin (lexemes) WITH (fastupdate = off);

-- The vector of each active record. The index for nearest neighbours is created when the store is opened, because it
-- needs the number of dimensions. `tokens` are the vectors of the tokens, for token-by-token comparison; NULL if the
-- model has none. They do not compress, so the server does not try.
CREATE TABLE vectors (
    namespace uuid NOT NULL,
    id        uuid NOT NULL,
    scope     uuid NOT NULL,
    embedding vector NOT NULL,
    tokens    bytea,
    PRIMARY KEY (namespace, id),
    FOREIGN KEY (namespace, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
ALTER TABLE vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
CREATE INDEX vectors_by_scope ON vectors (namespace, scope);

-- The vectors of another embedder, which replaces the one of `vectors`. When the table is complete, the two swap roles.
CREATE TABLE secondary_vectors (
    namespace uuid NOT NULL,
    id        uuid NOT NULL,
    scope     uuid NOT NULL,
    embedding vector NOT NULL,
    tokens    bytea,
    PRIMARY KEY (namespace, id),
    FOREIGN KEY (namespace, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
ALTER TABLE secondary_vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
CREATE INDEX secondary_vectors_by_scope ON secondary_vectors (namespace, scope);

-- ---- Graph ----

-- The entities that active records name. An entity is the hash of its owner and its folded name. It exists as long as a
-- record names it.
CREATE TABLE graph_entities (
    namespace uuid NOT NULL,
    id        uuid NOT NULL,
    entity    uuid NOT NULL,
    scope     uuid NOT NULL,
    name      text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, id, entity),
    FOREIGN KEY (namespace, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_entities_by_entity ON graph_entities (namespace, entity);

-- Further names that a record gives an entity; `alias` is the entity with that name.
CREATE TABLE graph_aliases (
    namespace uuid NOT NULL,
    id        uuid NOT NULL,
    entity    uuid NOT NULL,
    alias     uuid NOT NULL,
    scope     uuid NOT NULL,
    name      text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, id, entity, alias),
    FOREIGN KEY (namespace, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_aliases_by_entity ON graph_aliases (namespace, entity);
CREATE INDEX graph_aliases_by_alias ON graph_aliases (namespace, alias);

-- Relations, numbered within their record. The record is the evidence; its validity applies to edges without one of
-- their own.
CREATE TABLE graph_edges (
    namespace   uuid NOT NULL,
    id          uuid NOT NULL,
    number      integer NOT NULL,
    source      uuid NOT NULL,
    relation    text COLLATE "C" NOT NULL,
    target      uuid NOT NULL,
    scope       uuid NOT NULL,
    valid_from  bigint,
    valid_until bigint,
    rule        text COLLATE "C", -- the id of the rule, `model` for a language model, NULL if a caller stated it
    PRIMARY KEY (namespace, id, number),
    FOREIGN KEY (namespace, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_edges_by_source ON graph_edges (namespace, source);
CREATE INDEX graph_edges_by_target ON graph_edges (namespace, target);

-- ---- Synonyms ----

-- Synonym groups of a tenant (the namespace whose user is '') or of a user. Users may add rows by SQL; a row needs a
-- term and its other words.
CREATE TABLE synonym_groups (
    namespace  uuid NOT NULL REFERENCES namespaces,
    term       text NOT NULL,
    members    text[] NOT NULL,
    category   text DEFAULT 'general',
    created_at timestamptz DEFAULT now(),
    PRIMARY KEY (namespace, term)
) /* by namespace */;

-- The decisions about suggested pairs. Both words are folded, the lesser one is first.
CREATE TABLE synonym_verdicts (
    namespace uuid NOT NULL REFERENCES namespaces,
    first     text COLLATE "C" NOT NULL,
    second    text COLLATE "C" NOT NULL,
    accepted  boolean NOT NULL,
    PRIMARY KEY (namespace, first, second),
    CHECK (first < second)
) /* by namespace */;

-- ---- Audit log ----

-- Each tenant has a chain of entries, in which each hash covers the one before it. No entry has text of a
-- record: only ids, the names of the scope, and the names of the key and the program.

-- The latest entry of a tenant, and the latest one that was pruned. An append locks the row.
CREATE TABLE audit_chains (
    tenant          text COLLATE "C" PRIMARY KEY,
    sequence        bigint NOT NULL,
    hash            bytea NOT NULL,
    pruned_sequence bigint NOT NULL,
    pruned_hash     bytea NOT NULL
);

CREATE TABLE audit_log (
    tenant        text COLLATE "C" NOT NULL,
    sequence      bigint NOT NULL,
    written_at    bigint NOT NULL, -- microseconds since 1970
    actor_key     text,
    actor_agent   text,
    action        text NOT NULL,
    operation     text NOT NULL,
    username      text COLLATE "C" NOT NULL, -- the scope; empty for a dimension that is not set
    agent         text NOT NULL,
    session       text NOT NULL,
    branch        text NOT NULL,
    records       uuid[] NOT NULL,
    record_count  bigint NOT NULL,
    failed_entry  bigint, -- the entry whose action failed, and the kind of the error
    error         text,
    previous_hash bytea NOT NULL,
    hash          bytea NOT NULL,
    PRIMARY KEY (tenant, sequence)
);
CREATE INDEX audit_log_by_user ON audit_log (tenant, username, sequence);

-- ---- Numbers of records ----

-- The number of records of each kind, state and application at each scope, with their times, so that lists of users,
-- agents and sessions need not read the records. Triggers keep the rows; a row without records is removed.

CREATE TABLE record_groups (
    namespace uuid NOT NULL,
    scope     uuid NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    state     text COLLATE "C" NOT NULL,
    app       text COLLATE "C",
    records   bigint NOT NULL,
    oldest    bigint NOT NULL,
    newest    bigint NOT NULL,
    edited_at bigint,
    FOREIGN KEY (namespace, scope) REFERENCES scopes
) /* by namespace */;
-- Not unique: writers of one namespace wait for each other, and `app` may be too long for an index.
CREATE INDEX record_groups_by_scope ON record_groups (namespace, scope);

-- Two values of the metadata. The test of the text comes first, because most metadata have neither.
CREATE FUNCTION memory_record_app(metadata json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos(metadata::text, '"mem0.app"') > 0 THEN
        CASE json_typeof(metadata -> 'mem0.app') WHEN 'string' THEN nullif(metadata ->> 'mem0.app', '') END
    END
$$;
CREATE FUNCTION memory_record_edited_at(metadata json) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos(metadata::text, '"mem0.updated"') > 0 THEN
        CASE WHEN json_typeof(metadata -> 'mem0.updated') = 'number'
                AND metadata ->> 'mem0.updated' ~ '^-?[0-9]{1,18}$'
            THEN (metadata ->> 'mem0.updated')::bigint END
    END
$$;

-- Subtracts the records in the transition table `removed`.
CREATE FUNCTION memory_subtract_from_groups() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE record_groups g SET
        records = g.records - o.records,
        oldest = CASE WHEN o.oldest > g.oldest THEN g.oldest ELSE coalesce((
            SELECT r.occurred_at FROM records r
            WHERE r.namespace = g.namespace AND r.scope = g.scope AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app
            ORDER BY r.occurred_at, r.place, r.id LIMIT 1), g.oldest) END,
        newest = CASE WHEN o.newest < g.newest THEN g.newest ELSE coalesce((
            SELECT r.occurred_at FROM records r
            WHERE r.namespace = g.namespace AND r.scope = g.scope AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app
            ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1), g.newest) END,
        edited_at = CASE WHEN o.edited_at IS NULL OR o.edited_at < g.edited_at THEN g.edited_at ELSE (
            SELECT max(memory_record_edited_at(r.metadata)) FROM records r
            WHERE r.namespace = g.namespace AND r.scope = g.scope AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app) END
    FROM (
        SELECT r.namespace, r.scope, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
               min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
               max(memory_record_edited_at(r.metadata)) AS edited_at
        FROM removed r GROUP BY 1, 2, 3, 4, 5
    ) o
    WHERE g.namespace = o.namespace AND g.scope = o.scope AND g.kind = o.kind AND g.state = o.state
        AND g.app IS NOT DISTINCT FROM o.app;
    DELETE FROM record_groups g USING (SELECT DISTINCT r.namespace, r.scope FROM removed r) o
    WHERE g.namespace = o.namespace AND g.scope = o.scope AND g.records < 1;
    RETURN NULL;
END $$;

-- Adds the records in the transition table `added`.
CREATE FUNCTION memory_add_to_groups() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    WITH n AS (
        SELECT r.namespace, r.scope, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
               min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
               max(memory_record_edited_at(r.metadata)) AS edited_at
        FROM added r GROUP BY 1, 2, 3, 4, 5
    ), grown AS (
        UPDATE record_groups g SET records = g.records + n.records, oldest = least(g.oldest, n.oldest),
            newest = greatest(g.newest, n.newest), edited_at = greatest(g.edited_at, n.edited_at)
        FROM n
        WHERE g.namespace = n.namespace AND g.scope = n.scope AND g.kind = n.kind AND g.state = n.state
            AND g.app IS NOT DISTINCT FROM n.app
        RETURNING g.namespace, g.scope, g.kind, g.state, g.app
    )
    INSERT INTO record_groups (namespace, scope, kind, state, app, records, oldest, newest, edited_at)
    SELECT n.namespace, n.scope, n.kind, n.state, n.app, n.records, n.oldest, n.newest, n.edited_at FROM n
    WHERE NOT EXISTS (
        SELECT FROM grown g
        WHERE g.namespace = n.namespace AND g.scope = n.scope AND g.kind = n.kind AND g.state = n.state
            AND g.app IS NOT DISTINCT FROM n.app
    );
    RETURN NULL;
END $$;

-- Triggers of one event run in the order of their names: an update subtracts first.
CREATE TRIGGER record_groups_1_delete AFTER DELETE ON records
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION memory_subtract_from_groups();
CREATE TRIGGER record_groups_1_update AFTER UPDATE ON records
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION memory_subtract_from_groups();
CREATE TRIGGER record_groups_2_insert AFTER INSERT ON records
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION memory_add_to_groups();
CREATE TRIGGER record_groups_2_update AFTER UPDATE ON records
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION memory_add_to_groups();
