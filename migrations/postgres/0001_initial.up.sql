-- The tables of memory-engine.
--
-- `ns` is a namespace: tenant and user, as a UUID that is computed from their names. It leads every key, so that one
-- user is in one partition or on one server, and no statement reads two. Ids are made by the client; there are no
-- sequences. If the store is configured with partitions, each mark "by namespace" below becomes PARTITION BY HASH (ns).
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
    ns       uuid NOT NULL PRIMARY KEY,
    tenant   text COLLATE "C" NOT NULL,
    username text COLLATE "C" NOT NULL
) /* by namespace */;
CREATE INDEX namespaces_by_tenant ON namespaces (tenant, username);

-- Returns the namespace of a user; NULL if nothing was ever stored for that user. For programs that read by SQL.
CREATE FUNCTION memory_ns(of_user text, of_tenant text DEFAULT 'default') RETURNS uuid
    LANGUAGE sql STABLE SET search_path FROM CURRENT
    AS $$ SELECT n.ns FROM namespaces n WHERE n.tenant = of_tenant AND n.username = coalesce(of_user, '') $$;

-- Returns the namespace of all users of the default tenant, and creates it. It is the hash of the names ('default', no
-- user), which the engine computes as well. Default of synonyms, for programs that write them by SQL.
CREATE FUNCTION memory_default_ns() RETURNS uuid LANGUAGE sql VOLATILE SET search_path FROM CURRENT
    AS $$
        INSERT INTO namespaces (ns, tenant, username) VALUES ('408566ef-5be8-8484-8b30-134a3e7d56f0', 'default', '')
        ON CONFLICT (ns) DO NOTHING;
        SELECT uuid '408566ef-5be8-8484-8b30-134a3e7d56f0'
    $$;

-- A full scope ('' for a dimension that is not set), with the number of its documents and vectors.
CREATE TABLE scopes (
    ns             uuid NOT NULL REFERENCES namespaces,
    scope        uuid NOT NULL,
    agent          text COLLATE "C" NOT NULL,
    session        text COLLATE "C" NOT NULL,
    branch         text COLLATE "C" NOT NULL,
    documents      bigint NOT NULL DEFAULT 0,
    vectors        bigint NOT NULL DEFAULT 0,
    secondary_vectors bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (ns, scope)
) /* by namespace */;

-- ---- Records ----

-- The source of truth: every other table below can be rebuilt from it, except tombstones, synonyms and the audit log.
CREATE TABLE records (
    ns           uuid NOT NULL,
    id           uuid NOT NULL,
    scope      uuid NOT NULL,
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
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, scope) REFERENCES scopes
) /* by namespace */;
CREATE INDEX records_by_time ON records (ns, occurred_at, place, id);
CREATE INDEX records_by_scope ON records (ns, scope, occurred_at, place, id);
CREATE INDEX pinned_records ON records (ns, occurred_at, place, id) WHERE pinned;
CREATE INDEX expiring_records ON records (expires_at) WHERE expires_at IS NOT NULL AND NOT pinned;

-- For searches of a whole tenant, which may have many namespaces: by id, and by time.
CREATE INDEX records_by_id ON records (id);
CREATE INDEX records_by_moment ON records (occurred_at);

-- Finds the records that were derived from a record. Ids are unique in practice, so the index needs no namespace.
CREATE INDEX records_by_source ON records USING gin (derived_from) WITH (fastupdate = off) WHERE derived_from <> '{}';

-- Finds misspelled words, and serves LIKE in views. Under a locale that knows only ASCII letters it would find no
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
    ns           uuid NOT NULL,
    id           uuid NOT NULL,
    scope      uuid NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    deleted_at   bigint NOT NULL,
    cascade_deleted    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, scope) REFERENCES scopes
) /* by namespace */;

-- The contents that tombstones block. A content stays blocked if its tombstone is replaced.
CREATE TABLE blocked_contents (
    ns           uuid NOT NULL REFERENCES namespaces,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    cascade_deleted    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (ns, content_hash)
) /* by namespace */;

-- ---- Jobs ----

-- The queued jobs of the records, claimed in the order of their tickets (UUIDs of version 7). A job that is a dead
-- letter has the latest possible lease.
CREATE TABLE jobs (
    ns           uuid NOT NULL,
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
    PRIMARY KEY (ns, job, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX jobs_by_ticket ON jobs (job, ticket, ns, id);

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
    ns             uuid NOT NULL,
    id             uuid NOT NULL,
    scope        uuid NOT NULL,
    length         bigint NOT NULL,
    terms          bytea NOT NULL,
    counts         bytea NOT NULL,
    lexemes        tsvector NOT NULL,
    repeated_terms jsonb,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
-- Without the list of pending entries, which every search would read through.
CREATE INDEX keyword_documents_by_lexeme ON keyword_documents USING gin (lexemes) WITH (fastupdate = off);

-- The vector of each active record. The index for nearest neighbours is created when the store is opened, because it
-- needs the number of dimensions. `tokens` are the vectors of the tokens, for token-by-token comparison; NULL if the
-- model has none. They do not compress, so the server does not try.
CREATE TABLE vectors (
    ns        uuid NOT NULL,
    id        uuid NOT NULL,
    scope   uuid NOT NULL,
    embedding vector NOT NULL,
    tokens    bytea,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
ALTER TABLE vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
CREATE INDEX vectors_by_scope ON vectors (ns, scope);

-- The vectors of another embedder, which replaces the one of `vectors`. When the table is complete, the two swap roles.
CREATE TABLE secondary_vectors (
    ns        uuid NOT NULL,
    id        uuid NOT NULL,
    scope   uuid NOT NULL,
    embedding vector NOT NULL,
    tokens    bytea,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
ALTER TABLE secondary_vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
CREATE INDEX secondary_vectors_by_scope ON secondary_vectors (ns, scope);

-- ---- Graph ----

-- The entities that active records name. An entity is the hash of its owner and its folded name. It exists as long as a
-- record names it.
CREATE TABLE graph_entities (
    ns      uuid NOT NULL,
    id      uuid NOT NULL,
    entity  uuid NOT NULL,
    scope uuid NOT NULL,
    name    text COLLATE "C" NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    PRIMARY KEY (ns, id, entity),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_entities_by_entity ON graph_entities (ns, entity);

-- Further names that a record gives an entity; `alias` is the entity with that name.
CREATE TABLE graph_aliases (
    ns      uuid NOT NULL,
    id      uuid NOT NULL,
    entity  uuid NOT NULL,
    alias   uuid NOT NULL,
    scope uuid NOT NULL,
    name    text COLLATE "C" NOT NULL,
    PRIMARY KEY (ns, id, entity, alias),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_aliases_by_entity ON graph_aliases (ns, entity);
CREATE INDEX graph_aliases_by_alias ON graph_aliases (ns, alias);

-- Relations, numbered within their record. The record is the evidence; its validity applies to edges without one of
-- their own.
CREATE TABLE graph_edges (
    ns          uuid NOT NULL,
    id          uuid NOT NULL,
    number      integer NOT NULL,
    source      uuid NOT NULL,
    relation    text COLLATE "C" NOT NULL,
    target      uuid NOT NULL,
    scope     uuid NOT NULL,
    valid_from  bigint,
    valid_until bigint,
    rule        text COLLATE "C", -- the id of the rule, `model` for a language model, NULL if a caller stated it
    PRIMARY KEY (ns, id, number),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX graph_edges_by_source ON graph_edges (ns, source);
CREATE INDEX graph_edges_by_target ON graph_edges (ns, target);

-- ---- Synonyms ----

-- Synonym groups: a term with its other words. Users may add rows by SQL.
CREATE TABLE synonym_map (
    ns         uuid NOT NULL DEFAULT memory_default_ns() REFERENCES namespaces,
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    term       text NOT NULL,
    synonyms   text[] NOT NULL,
    category   text DEFAULT 'general',
    created_at timestamptz DEFAULT now(),
    PRIMARY KEY (ns, id),
    UNIQUE (ns, term)
) /* by namespace */;

-- The decisions about suggested pairs. Both words are folded, the lesser one is first.
CREATE TABLE synonym_verdicts (
    ns       uuid NOT NULL REFERENCES namespaces,
    first    text COLLATE "C" NOT NULL,
    second   text COLLATE "C" NOT NULL,
    accepted boolean NOT NULL,
    PRIMARY KEY (ns, first, second),
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
    ns        uuid NOT NULL,
    scope   uuid NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    state     text COLLATE "C" NOT NULL,
    app       text COLLATE "C",
    records   bigint NOT NULL,
    oldest    bigint NOT NULL,
    newest    bigint NOT NULL,
    edited_at bigint,
    FOREIGN KEY (ns, scope) REFERENCES scopes
) /* by namespace */;
-- Not unique: writers of one namespace wait for each other, and `app` may be too long for an index.
CREATE INDEX record_groups_by_scope ON record_groups (ns, scope);

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
            WHERE r.ns = g.ns AND r.scope = g.scope AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app
            ORDER BY r.occurred_at, r.place, r.id LIMIT 1), g.oldest) END,
        newest = CASE WHEN o.newest < g.newest THEN g.newest ELSE coalesce((
            SELECT r.occurred_at FROM records r
            WHERE r.ns = g.ns AND r.scope = g.scope AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app
            ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1), g.newest) END,
        edited_at = CASE WHEN o.edited_at IS NULL OR o.edited_at < g.edited_at THEN g.edited_at ELSE (
            SELECT max(memory_record_edited_at(r.metadata)) FROM records r
            WHERE r.ns = g.ns AND r.scope = g.scope AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app) END
    FROM (
        SELECT r.ns, r.scope, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
               min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
               max(memory_record_edited_at(r.metadata)) AS edited_at
        FROM removed r GROUP BY 1, 2, 3, 4, 5
    ) o
    WHERE g.ns = o.ns AND g.scope = o.scope AND g.kind = o.kind AND g.state = o.state
        AND g.app IS NOT DISTINCT FROM o.app;
    DELETE FROM record_groups g USING (SELECT DISTINCT r.ns, r.scope FROM removed r) o
    WHERE g.ns = o.ns AND g.scope = o.scope AND g.records < 1;
    RETURN NULL;
END $$;

-- Adds the records in the transition table `added`.
CREATE FUNCTION memory_add_to_groups() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    WITH n AS (
        SELECT r.ns, r.scope, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
               min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
               max(memory_record_edited_at(r.metadata)) AS edited_at
        FROM added r GROUP BY 1, 2, 3, 4, 5
    ), grown AS (
        UPDATE record_groups g SET records = g.records + n.records, oldest = least(g.oldest, n.oldest),
            newest = greatest(g.newest, n.newest), edited_at = greatest(g.edited_at, n.edited_at)
        FROM n
        WHERE g.ns = n.ns AND g.scope = n.scope AND g.kind = n.kind AND g.state = n.state
            AND g.app IS NOT DISTINCT FROM n.app
        RETURNING g.ns, g.scope, g.kind, g.state, g.app
    )
    INSERT INTO record_groups (ns, scope, kind, state, app, records, oldest, newest, edited_at)
    SELECT n.ns, n.scope, n.kind, n.state, n.app, n.records, n.oldest, n.newest, n.edited_at FROM n
    WHERE NOT EXISTS (
        SELECT FROM grown g
        WHERE g.ns = n.ns AND g.scope = n.scope AND g.kind = n.kind AND g.state = n.state
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

-- ---- Views ----

-- Microseconds since 1970 as a point in time; the years beyond 4700 BC and 9800 AD as those.
CREATE FUNCTION memory_time(micros bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT timestamptz 'epoch'
        + interval '1 second' * (greatest(least(micros, 250000000000000000), -210000000000000000) / 1000000)
        + interval '1 microsecond' * (greatest(least(micros, 250000000000000000), -210000000000000000) % 1000000) $$;

-- A whole number under a key of the metadata; NULL for anything else.
CREATE FUNCTION memory_int(metadata json, key text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN metadata ->> key ~ '^-?[0-9]{1,9}$' THEN (metadata ->> key)::integer END $$;

-- The turns.
CREATE VIEW conversations WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.round AS round_number,
           coalesce(r.role, 'user') AS role, r.text AS content,
           CASE WHEN coalesce(r.role, 'user') = 'user' THEN r.text END AS user_msg,
           CASE WHEN r.role = 'assistant' THEN r.text END AS assistant_msg,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           CASE WHEN EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table' AND o.made_by = 'secondary_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding,
           coalesce(memory_int(r.metadata, 'affection_delta'), 0) AS affection_delta,
           r.metadata ->> 'key_moment_id' IS NOT NULL AS is_key_moment, r.metadata ->> 'key_moment_id' AS key_moment_id,
           memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN scopes a ON a.ns = r.ns AND a.scope = r.scope
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
         LEFT JOIN secondary_vectors w ON w.ns = r.ns AND w.id = r.id
    WHERE r.kind = 'turn' AND r.state = 'active';

CREATE VIEW summaries WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.text AS summary, r.text AS content,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           CASE WHEN EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table' AND o.made_by = 'secondary_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding,
           r.derived_from, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN scopes a ON a.ns = r.ns AND a.scope = r.scope
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
         LEFT JOIN secondary_vectors w ON w.ns = r.ns AND w.id = r.id
    WHERE r.kind = 'summary' AND r.state = 'active';

-- What goes beyond a record's own fields is in its metadata, under the names of the columns.
CREATE VIEW key_moments WITH (security_invoker = true) AS
    SELECT coalesce(r.message_id, r.id::text) AS id, r.ns, n.tenant, n.username AS user_id,
           coalesce(memory_int(r.metadata, 'chapter'), 1) AS chapter,
           coalesce(r.metadata ->> 'moment_name', r.topic) AS moment_name, memory_time(r.occurred_at) AS triggered_at,
           coalesce(r.metadata ->> 'user_response', r.text) AS user_response,
           r.metadata ->> 'aicy_response' AS aicy_response,
           memory_int(r.metadata, 'affection_gained') AS affection_gained,
           coalesce(r.metadata ->> 'status', 'completed') AS status, r.id AS record_id
    FROM records r JOIN namespaces n ON n.ns = r.ns
    WHERE r.kind = 'key_moment' AND r.state = 'active';

-- One row for each companion of a user: how the two stand, and the latest profile.
CREATE VIEW user_profiles WITH (security_invoker = true) AS
    SELECT n.username AS user_id, who.ns, n.tenant, p.metadata ->> 'nickname' AS nickname,
           coalesce(memory_int(b.metadata, 'affection'), memory_int(p.metadata, 'affection'), 0) AS affection,
           coalesce(memory_int(b.metadata, 'current_chapter'), memory_int(p.metadata, 'current_chapter'), 1)
               AS current_chapter,
           coalesce(p.metadata ->> 'personality_summary', p.text) AS personality_summary,
           p.metadata ->> 'preferences_summary' AS preferences_summary,
           p.metadata ->> 'relationship_summary' AS relationship_summary,
           p.metadata ->> 'recent_topics' AS recent_topics,
           coalesce(memory_int(b.metadata, 'total_messages'), memory_int(p.metadata, 'total_messages'), 0)
               AS total_messages,
           coalesce(memory_int(b.metadata, 'consecutive_days'), memory_int(p.metadata, 'consecutive_days'), 0)
               AS consecutive_days,
           memory_time(coalesce(
               CASE WHEN b.metadata ->> 'last_active_micros' ~ '^-?[0-9]{1,18}$'
                    THEN (b.metadata ->> 'last_active_micros')::bigint END,
               p.occurred_at, b.occurred_at)) AS last_active_at,
           memory_time(least(b.recorded_at, p.recorded_at)) AS created_at, coalesce(p.id, b.id) AS record_id, a.agent
    FROM (SELECT DISTINCT ns, scope FROM records WHERE kind IN ('ledger/companion', 'profile') AND state = 'active') who
         JOIN namespaces n ON n.ns = who.ns JOIN scopes a ON a.ns = who.ns AND a.scope = who.scope
         LEFT JOIN LATERAL (
             SELECT * FROM records r
             WHERE r.ns = who.ns AND r.scope = who.scope AND r.kind = 'ledger/companion' AND r.state = 'active'
             ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1) b ON true
         LEFT JOIN LATERAL (
             SELECT * FROM records r
             WHERE r.ns = who.ns AND r.scope = who.scope AND r.kind = 'profile' AND r.state = 'active'
             ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1) p ON true;

CREATE VIEW affection_logs WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, coalesce(memory_int(r.metadata, 'delta'), 0) AS delta,
           coalesce(r.metadata ->> 'reason', r.text) AS reason, memory_int(r.metadata, 'before_value') AS before_value,
           memory_int(r.metadata, 'after_value') AS after_value, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns
    WHERE r.kind = 'ledger/affection' AND r.state = 'active';

-- What the two functions below search: every active record, with its tags as the assets it is about. `news_event_id` is
-- the number that the record has where it came from, if that is a number.
CREATE VIEW memory_events WITH (security_invoker = true) AS
    SELECT r.ns, n.tenant, n.username AS user_id, r.id AS record_id,
           CASE WHEN r.message_id ~ '^[0-9]{1,18}$' THEN r.message_id::bigint ELSE r.sequence END AS news_event_id,
           r.kind, r.occurred_at, memory_time(r.occurred_at) AS created_at, r.text AS content_text,
           r.metadata ->> 'translated_text' AS translated_text, r.tags AS assets, r.confidence,
           CASE WHEN EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table' AND o.made_by = 'secondary_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding
    FROM records r JOIN namespaces n ON n.ns = r.ns LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
         LEFT JOIN secondary_vectors w ON w.ns = r.ns AND w.id = r.id
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- By nearness: the nearest first, from `match_threshold` on. Whoever keeps several users' memories in one database says
-- whose are meant.
CREATE FUNCTION search_memory_events(
    query_embedding vector,
    match_threshold double precision DEFAULT 0.85,
    match_count integer DEFAULT 5,
    asset_filter text[] DEFAULT NULL,
    min_confidence double precision DEFAULT 0.6,
    time_window_hours integer DEFAULT 72,
    of_user text DEFAULT NULL,
    of_tenant text DEFAULT 'default'
) RETURNS TABLE (
    news_event_id bigint,
    created_at timestamptz,
    content_text text,
    translated_text text,
    similarity double precision,
    record_id uuid
) LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT s.news_event_id, s.created_at, s.content_text, s.translated_text, s.similarity, s.record_id
    FROM (
        SELECT e.*, CASE WHEN vector_dims(e.embedding) = vector_dims(query_embedding)
                         THEN 1 - (e.embedding <=> query_embedding) END AS similarity
        FROM memory_events e
        WHERE e.tenant = of_tenant AND (of_user IS NULL OR e.user_id = of_user)
          AND e.occurred_at >= (extract(epoch FROM now()) * 1000000)::bigint - time_window_hours * 3600000000
          AND e.confidence >= min_confidence
          AND (asset_filter IS NULL OR e.assets && asset_filter)
    ) s
    WHERE s.similarity >= match_threshold
    ORDER BY s.similarity DESC, s.created_at DESC, s.record_id
    LIMIT match_count
$$;

-- By words: the share of the keywords that stand in the text (in its translation, if it has one), in any case of
-- letters.
CREATE FUNCTION search_memory_events_keywords(
    query_keywords text[],
    time_window_hours integer DEFAULT 72,
    match_count integer DEFAULT 10,
    min_confidence double precision DEFAULT 0.0,
    asset_filter text[] DEFAULT NULL,
    of_user text DEFAULT NULL,
    of_tenant text DEFAULT 'default'
) RETURNS TABLE (
    news_event_id bigint,
    created_at timestamptz,
    content_text text,
    translated_text text,
    match_score double precision,
    record_id uuid
) LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT s.news_event_id, s.created_at, s.content_text, s.translated_text, s.match_score, s.record_id
    FROM (
        SELECT e.*, (
            SELECT count(*)::double precision FROM unnest(query_keywords) word
            WHERE strpos(lower(coalesce(e.translated_text, e.content_text, '')), lower(word)) > 0
        ) / greatest(cardinality(query_keywords), 1) AS match_score
        FROM memory_events e
        WHERE e.tenant = of_tenant AND (of_user IS NULL OR e.user_id = of_user)
          AND e.occurred_at >= (extract(epoch FROM now()) * 1000000)::bigint - time_window_hours * 3600000000
          AND e.confidence >= min_confidence
          AND (asset_filter IS NULL OR e.assets && asset_filter)
    ) s
    WHERE s.match_score > 0
    ORDER BY s.match_score DESC, s.created_at DESC, s.record_id
    LIMIT match_count
$$;

-- Messages and parts of messages have the kind `timeline_chunk`; other records keep their kind.
CREATE VIEW memory_items WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, a.branch AS branch_id,
           r.message_id AS source_message_id, r.sequence AS source_seq,
           CASE WHEN r.kind IN ('turn', 'chunk') THEN 'timeline_chunk' ELSE r.kind END AS kind,
           r.text AS content, encode(r.content_hash, 'hex') AS content_hash, r.confidence, r.derived_from,
           memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN scopes a ON a.ns = r.ns AND a.scope = r.scope
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- The vector of each item, in the type of pgvector and as JSON, and the model that made it.
CREATE VIEW memory_embeddings WITH (security_invoker = true) AS
    SELECT v.id AS memory_item_id, v.ns, vector_dims(v.embedding) AS dim, v.embedding::text AS vector_blob, v.embedding,
           regexp_replace((SELECT o.made_by FROM index_metadata o WHERE o.part = 'embedding'), ' \([0-9]+-d, [a-z]+\)$', '')
               AS model,
           memory_time(r.recorded_at) AS created_at
    FROM (
        SELECT ns, id, embedding FROM vectors
        WHERE NOT EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table' AND o.made_by = 'secondary_vectors')
        UNION ALL
        SELECT ns, id, embedding FROM secondary_vectors
        WHERE EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table' AND o.made_by = 'secondary_vectors')
    ) v JOIN records r ON r.ns = v.ns AND r.id = v.id
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- An entity of a session as the first message names it. `canonical` is the name that another message gives it as well.
CREATE VIEW memory_entities WITH (security_invoker = true) AS
    SELECT DISTINCT ON (e.ns, a.session, e.entity) e.entity AS id, e.ns, n.tenant, n.username AS user_id,
           a.session AS session_id, e.name, e.kind AS type,
           coalesce((
               SELECT min(c.name) FROM graph_aliases g
                    JOIN scopes b ON b.ns = g.ns AND b.scope = g.scope
                    JOIN graph_entities c ON c.ns = g.ns AND c.id = g.id AND c.entity = g.entity
               WHERE g.ns = e.ns AND g.alias = e.entity AND b.session = a.session
           ), e.name) AS canonical,
           memory_time(r.occurred_at) AS created_at
    FROM graph_entities e JOIN namespaces n ON n.ns = e.ns
         JOIN scopes a ON a.ns = e.ns AND a.scope = e.scope
         JOIN records r ON r.ns = e.ns AND r.id = e.id AND r.state = 'active'
    ORDER BY e.ns, a.session, e.entity, r.occurred_at, r.place, r.id;

-- A relation between two entities, with the message that states it.
CREATE VIEW memory_edges WITH (security_invoker = true) AS
    SELECT e.id::text || '/' || e.number AS id, e.ns, n.tenant, n.username AS user_id, a.session AS session_id,
           a.branch AS branch_id, e.source AS src_entity_id, e.relation AS rel, e.target AS dst_entity_id,
           r.message_id AS evidence_message_id, r.sequence AS evidence_seq, memory_time(r.occurred_at) AS created_at
    FROM graph_edges e JOIN namespaces n ON n.ns = e.ns
         JOIN scopes a ON a.ns = e.ns AND a.scope = e.scope
         JOIN records r ON r.ns = e.ns AND r.id = e.id AND r.state = 'active';
