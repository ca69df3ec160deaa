CREATE SCHEMA IF NOT EXISTS golden_schema;
CREATE FUNCTION golden_schema.memory_add_to_groups() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'golden_schema', 'public', 'extensions'
    AS $$
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
CREATE FUNCTION golden_schema.memory_insert_batch(scope_namespaces uuid[], scope_ids uuid[], scope_agents text[], scope_sessions text[], scope_branches text[], scope_documents bigint[], scope_vectors bigint[], records_json text, document_namespaces uuid[], document_ids uuid[], document_scopes uuid[], document_lengths bigint[], document_terms bytea[], document_counts bytea[], document_lexemes text[], document_repeated_terms text[], vector_namespaces uuid[], vector_ids uuid[], vector_scopes uuid[], vector_embeddings public.vector[], vector_table text, job_namespaces uuid[], job_kinds text[], job_ids uuid[], job_tickets uuid[], job_times bigint[], job_second_tickets uuid[], lease_free bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO scopes (namespace, scope, agent, session, branch, documents, vectors, secondary_vectors)
    SELECT x.namespace, x.scope, x.agent, x.session, x.branch, x.documents,
           CASE WHEN vector_table = 'vectors' THEN x.vectors ELSE 0 END,
           CASE WHEN vector_table = 'vectors' THEN 0 ELSE x.vectors END
    FROM unnest(scope_namespaces, scope_ids, scope_agents, scope_sessions, scope_branches, scope_documents,
                scope_vectors) x (namespace, scope, agent, session, branch, documents, vectors)
    ON CONFLICT (namespace, scope) DO UPDATE SET documents = scopes.documents + excluded.documents,
        vectors = scopes.vectors + excluded.vectors,
        secondary_vectors = scopes.secondary_vectors + excluded.secondary_vectors
    WHERE excluded.documents + excluded.vectors + excluded.secondary_vectors > 0;
    INSERT INTO records (namespace, id, scope, folded, content_hash, kind, text, role, speaker, scene, topic, emotion, message_id, sequence, round, confidence, importance, occurred_at, recorded_at, valid_from, valid_until, trust, state, pinned, expires_at, revision, entities, tags, derived_from, metadata) SELECT x.* FROM json_to_recordset(records_json::json) AS x (namespace uuid, id uuid, scope uuid, folded text, content_hash bytea, kind text, text text, role text, speaker text, scene text, topic text, emotion text, message_id text, sequence bigint, round bigint, confidence double precision, importance double precision, occurred_at bigint, recorded_at bigint, valid_from bigint, valid_until bigint, trust text, state text, pinned boolean, expires_at bigint, revision bigint, entities text[], tags text[], derived_from uuid[], metadata json);
    IF cardinality(document_ids) > 0 THEN
        INSERT INTO keyword_documents (namespace, id, scope, length, terms, counts, lexemes, repeated_terms)
        SELECT x.namespace, x.id, x.scope, x.length, x.terms, x.counts, x.lexemes::tsvector, x.repeated_terms::jsonb
        FROM unnest(document_namespaces, document_ids, document_scopes, document_lengths, document_terms,
                    document_counts, document_lexemes, document_repeated_terms)
             x (namespace, id, scope, length, terms, counts, lexemes, repeated_terms);
    END IF;
    IF cardinality(vector_ids) > 0 THEN
        IF vector_table = 'vectors' THEN
            INSERT INTO vectors (namespace, id, scope, embedding)
            SELECT x.* FROM unnest(vector_namespaces, vector_ids, vector_scopes, vector_embeddings)
                x (namespace, id, scope, embedding);
        ELSE
            INSERT INTO secondary_vectors (namespace, id, scope, embedding)
            SELECT x.* FROM unnest(vector_namespaces, vector_ids, vector_scopes, vector_embeddings)
                x (namespace, id, scope, embedding);
        END IF;
    END IF;
    IF cardinality(job_ids) > 0 THEN
        INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
        SELECT x.namespace, x.job, x.id, x.ticket, lease_free, x.queued_at
        FROM unnest(job_namespaces, job_kinds, job_ids, job_tickets, job_times) x (namespace, job, id, ticket, queued_at)
        UNION ALL
        SELECT x.namespace, o.part, x.id, x.ticket, lease_free, x.queued_at
        FROM unnest(job_namespaces, job_kinds, job_ids, job_second_tickets, job_times)
                 x (namespace, job, id, ticket, queued_at)
             JOIN index_metadata o ON o.part = 'reembedding'
        WHERE x.job = 'embedding'
        ON CONFLICT (namespace, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
            queued_at = excluded.queued_at, attempts = 0, reason = NULL;
    END IF;
    RETURN true;
END $$;
CREATE FUNCTION golden_schema.memory_lock_if_new(locked_namespaces uuid[], locked_tenants text[], locked_users text[], assumed_analyzer text, assumed_space text, vector_table text, new_namespaces uuid[], new_ids uuid[], hash_namespaces uuid[], new_hashes bytea[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    number_known bigint;
    number_created bigint;
BEGIN
    LOOP
        PERFORM n.namespace FROM namespaces n WHERE n.namespace = ANY (locked_namespaces) ORDER BY n.namespace FOR NO KEY UPDATE;
        GET DIAGNOSTICS number_known = ROW_COUNT;
        IF NOT (
            SELECT count(*) FILTER (WHERE o.part = 'reembedding') = 0
               AND count(*) FILTER (WHERE o.part = 'keywords' AND o.made_by = assumed_analyzer) = 1
               AND count(*) FILTER (WHERE o.part = 'embedding' AND o.made_by = assumed_space) = 1
               AND coalesce(max(o.made_by) FILTER (WHERE o.part = 'serving table'), 'vectors') = vector_table
            FROM index_metadata o
        )
        OR EXISTS (SELECT FROM unnest(new_namespaces, new_ids) k (namespace, id)
                   JOIN records r ON r.namespace = k.namespace AND r.id = k.id)
        OR EXISTS (SELECT FROM unnest(new_namespaces, new_ids) k (namespace, id)
                   JOIN tombstones b ON b.namespace = k.namespace AND b.id = k.id)
        OR EXISTS (SELECT FROM unnest(hash_namespaces, new_hashes) k (namespace, content_hash)
                   JOIN blocked_contents b ON b.namespace = k.namespace AND b.content_hash = k.content_hash)
        THEN
            RETURN false;
        END IF;
        EXIT WHEN number_known = cardinality(locked_namespaces);
        INSERT INTO namespaces (namespace, tenant, username)
        SELECT x.namespace, x.tenant, x.username
        FROM unnest(locked_namespaces, locked_tenants, locked_users) x (namespace, tenant, username)
        ON CONFLICT (namespace) DO NOTHING;
        GET DIAGNOSTICS number_created = ROW_COUNT;
        EXIT WHEN number_known + number_created = cardinality(locked_namespaces);
        -- Another writer has created some of them meanwhile. The next round locks them. If that writer waits for a
        -- namespace that was created here, the server reports a deadlock, and the client repeats the batch in a
        -- transaction.
    END LOOP;
    RETURN true;
END $$;
CREATE FUNCTION golden_schema.memory_record_app(metadata json) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN strpos(metadata::text, '"mem0.app"') > 0 THEN
        CASE json_typeof(metadata -> 'mem0.app') WHEN 'string' THEN nullif(metadata ->> 'mem0.app', '') END
    END
$$;
CREATE FUNCTION golden_schema.memory_record_edited_at(metadata json) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT CASE WHEN strpos(metadata::text, '"mem0.updated"') > 0 THEN
        CASE WHEN json_typeof(metadata -> 'mem0.updated') = 'number'
                AND metadata ->> 'mem0.updated' ~ '^-?[0-9]{1,18}$'
            THEN (metadata ->> 'mem0.updated')::bigint END
    END
$_$;
CREATE FUNCTION golden_schema.memory_subtract_from_groups() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'golden_schema', 'public', 'extensions'
    AS $$
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
CREATE TABLE golden_schema.audit_chains (
    tenant text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    hash bytea NOT NULL,
    pruned_sequence bigint NOT NULL,
    pruned_hash bytea NOT NULL
);
CREATE TABLE golden_schema.audit_log (
    tenant text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    written_at bigint NOT NULL,
    actor_key text,
    actor_agent text,
    action text NOT NULL,
    operation text NOT NULL,
    username text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL,
    session text NOT NULL,
    branch text NOT NULL,
    records uuid[] NOT NULL,
    record_count bigint NOT NULL,
    failed_entry bigint,
    error text,
    previous_hash bytea NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE golden_schema.blocked_contents (
    namespace uuid NOT NULL,
    content_hash bytea NOT NULL,
    cascade_deleted boolean DEFAULT false NOT NULL,
    CONSTRAINT blocked_contents_content_hash_check CHECK ((length(content_hash) = 32))
);
CREATE TABLE golden_schema.graph_aliases (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    entity uuid NOT NULL,
    alias uuid NOT NULL,
    scope uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE golden_schema.graph_edges (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    number integer NOT NULL,
    source uuid NOT NULL,
    relation text NOT NULL COLLATE pg_catalog."C",
    target uuid NOT NULL,
    scope uuid NOT NULL,
    valid_from bigint,
    valid_until bigint,
    rule text COLLATE pg_catalog."C"
);
CREATE TABLE golden_schema.graph_entities (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    entity uuid NOT NULL,
    scope uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE golden_schema.index_metadata (
    part text NOT NULL COLLATE pg_catalog."C",
    made_by text NOT NULL
);
CREATE TABLE golden_schema.jobs (
    namespace uuid NOT NULL,
    job text NOT NULL COLLATE pg_catalog."C",
    id uuid NOT NULL,
    ticket uuid NOT NULL,
    leased_until bigint NOT NULL,
    leased_at bigint DEFAULT 0 NOT NULL,
    owner bigint,
    attempts bigint DEFAULT 0 NOT NULL,
    reason text,
    queued_at bigint DEFAULT 0 NOT NULL
);
CREATE TABLE golden_schema.keyword_documents (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    scope uuid NOT NULL,
    length bigint NOT NULL,
    terms bytea NOT NULL,
    counts bytea NOT NULL,
    lexemes tsvector NOT NULL,
    repeated_terms jsonb
);
CREATE TABLE golden_schema.lease_owners (
    owner bigint NOT NULL
);
CREATE TABLE golden_schema.memory_schema (
    version bigint NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE golden_schema.namespaces (
    namespace uuid NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    username text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE golden_schema.record_groups (
    namespace uuid NOT NULL,
    scope uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    app text COLLATE pg_catalog."C",
    records bigint NOT NULL,
    oldest bigint NOT NULL,
    newest bigint NOT NULL,
    edited_at bigint
);
CREATE TABLE golden_schema.records (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    scope uuid NOT NULL,
    revision bigint NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    trust text NOT NULL COLLATE pg_catalog."C",
    occurred_at bigint NOT NULL,
    recorded_at bigint NOT NULL,
    valid_from bigint,
    valid_until bigint,
    role text COLLATE pg_catalog."C",
    speaker text COLLATE pg_catalog."C",
    scene text COLLATE pg_catalog."C",
    topic text COLLATE pg_catalog."C",
    emotion text COLLATE pg_catalog."C",
    confidence double precision NOT NULL,
    importance double precision NOT NULL,
    message_id text COLLATE pg_catalog."C",
    sequence bigint,
    round bigint,
    pinned boolean DEFAULT false NOT NULL,
    expires_at bigint,
    entities text[] NOT NULL COLLATE pg_catalog."C",
    tags text[] NOT NULL COLLATE pg_catalog."C",
    derived_from uuid[] NOT NULL,
    metadata json NOT NULL,
    text text NOT NULL COLLATE pg_catalog."C",
    folded text COLLATE pg_catalog."C",
    content_hash bytea NOT NULL,
    place bigint GENERATED ALWAYS AS (COALESCE(sequence, (0)::bigint)) STORED NOT NULL,
    CONSTRAINT records_content_hash_check CHECK ((length(content_hash) = 32))
);
CREATE TABLE golden_schema.scopes (
    namespace uuid NOT NULL,
    scope uuid NOT NULL,
    agent text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    branch text NOT NULL COLLATE pg_catalog."C",
    documents bigint DEFAULT 0 NOT NULL,
    vectors bigint DEFAULT 0 NOT NULL,
    secondary_vectors bigint DEFAULT 0 NOT NULL
);
CREATE TABLE golden_schema.secondary_vectors (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    scope uuid NOT NULL,
    embedding public.vector NOT NULL,
    tokens bytea
);
ALTER TABLE ONLY golden_schema.secondary_vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
CREATE TABLE golden_schema.synonym_groups (
    namespace uuid NOT NULL,
    term text NOT NULL,
    members text[] NOT NULL,
    category text DEFAULT 'general'::text,
    created_at timestamp with time zone DEFAULT now()
);
CREATE TABLE golden_schema.synonym_verdicts (
    namespace uuid NOT NULL,
    first text NOT NULL COLLATE pg_catalog."C",
    second text NOT NULL COLLATE pg_catalog."C",
    accepted boolean NOT NULL,
    CONSTRAINT synonym_verdicts_check CHECK ((first < second))
);
CREATE TABLE golden_schema.tombstones (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    scope uuid NOT NULL,
    content_hash bytea NOT NULL,
    deleted_at bigint NOT NULL,
    cascade_deleted boolean DEFAULT false NOT NULL,
    CONSTRAINT tombstones_content_hash_check CHECK ((length(content_hash) = 32))
);
CREATE TABLE golden_schema.vectors (
    namespace uuid NOT NULL,
    id uuid NOT NULL,
    scope uuid NOT NULL,
    embedding public.vector NOT NULL,
    tokens bytea
);
ALTER TABLE ONLY golden_schema.vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
INSERT INTO golden_schema.blocked_contents VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '\x9ae62f7599bcdd173efce8c2e5a12f23939152e926904e00079005f412c2cc08', false);
INSERT INTO golden_schema.index_metadata VALUES ('keywords', 'words-1');
INSERT INTO golden_schema.index_metadata VALUES ('embedding', 'test (16-d, cosine)');
INSERT INTO golden_schema.jobs VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', 'embedding', '01a22940-e66e-777d-9e3c-b18055818a3a', '01a22940-e66e-777d-9e3c-b183685b40a0', -9223372036854775808, 0, NULL, 0, NULL, 1795988448878494);
INSERT INTO golden_schema.jobs VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', 'embedding', '01a22940-e66e-777d-9e3c-b181c1e23d47', '01a22940-e68f-75e8-9017-9b26cfd738ac', -9223372036854775808, 0, NULL, 0, NULL, 1795988448911298);
INSERT INTO golden_schema.keyword_documents VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '01a22940-e66e-777d-9e3c-b18055818a3a', '219e7343-45c1-8989-ba40-119900db869f', 4, '\xe5afb920e6889120e6b5b7e9b29c20e8bf87e6958f', '\x01010101', '''对y9tLcw-nkDWs'' ''我y9tLcw-nkDWs'' ''海鲜y9tLcw-nkDWs'' ''过敏y9tLcw-nkDWs''', NULL);
INSERT INTO golden_schema.keyword_documents VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '01a22940-e66e-777d-9e3c-b181c1e23d47', '219e7343-45c1-8989-ba40-119900db869f', 4, '\x332e313420616e6420632b2b20646f636b6572', '\x01010101', '''3.14y9tLcw-nkDWs'' ''andy9tLcw-nkDWs'' ''c++y9tLcw-nkDWs'' ''dockery9tLcw-nkDWs''', NULL);
INSERT INTO golden_schema.memory_schema VALUES (1, '0001_initial', '2026-11-29 21:40:48.776073+00');
INSERT INTO golden_schema.namespaces VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', 'default', 'lin');
INSERT INTO golden_schema.record_groups VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '219e7343-45c1-8989-ba40-119900db869f', 'turn', 'active', NULL, 2, 1795988448878261, 1795988448878281, NULL);
INSERT INTO golden_schema.records VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '01a22940-e66e-777d-9e3c-b18055818a3a', '219e7343-45c1-8989-ba40-119900db869f', 1, 'active', 'turn', 'user', 1795988448878261, 1795988448878261, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0.5, NULL, NULL, NULL, false, NULL, '{}', '{}', '{}', '{}', '我 对 海鲜 过敏', NULL, '\xcf1335682103f6a4d617793b4a8730fefa3e4e03e099eab1aa921d65e11a277a', DEFAULT);
INSERT INTO golden_schema.records VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '01a22940-e66e-777d-9e3c-b181c1e23d47', '219e7343-45c1-8989-ba40-119900db869f', 1, 'active', 'turn', 'user', 1795988448878281, 1795988448878281, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0.5, NULL, NULL, NULL, false, NULL, '{}', '{btc}', '{}', '{"mood":[1,2.5,null]}', 'docker and c++ 3.14', NULL, '\xbf370ee154135942813752df51dd4d9af06b839f8e20b379560d039eab01e4f4', DEFAULT);
INSERT INTO golden_schema.scopes VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '219e7343-45c1-8989-ba40-119900db869f', '', '', '', 2, 1, 0);
INSERT INTO golden_schema.synonym_groups VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', 'docker', '{容器}', 'general', '2026-11-29 21:40:48.944861+00');
INSERT INTO golden_schema.tombstones VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '01a22940-e66e-777d-9e3c-b18257e4888f', '219e7343-45c1-8989-ba40-119900db869f', '\x9ae62f7599bcdd173efce8c2e5a12f23939152e926904e00079005f412c2cc08', 1795988448927453, false);
INSERT INTO golden_schema.vectors VALUES ('730fa790-35ac-8067-9535-c413957e7cfa', '01a22940-e66e-777d-9e3c-b18055818a3a', '219e7343-45c1-8989-ba40-119900db869f', '[0.35979408,-0.105698705,-0.01941216,-0.31105012,-0.32453787,0.09008962,0.10478026,0.35025746,0.3658799,0.06077057,-0.46501994,-0.3176648,-0.16509289,-0.4448278,0.22316891,0.27133656]', NULL);
ALTER TABLE ONLY golden_schema.audit_chains
    ADD CONSTRAINT audit_chains_pkey PRIMARY KEY (tenant);
ALTER TABLE ONLY golden_schema.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (tenant, sequence);
ALTER TABLE ONLY golden_schema.blocked_contents
    ADD CONSTRAINT blocked_contents_pkey PRIMARY KEY (namespace, content_hash);
ALTER TABLE ONLY golden_schema.graph_aliases
    ADD CONSTRAINT graph_aliases_pkey PRIMARY KEY (namespace, id, entity, alias);
ALTER TABLE ONLY golden_schema.graph_edges
    ADD CONSTRAINT graph_edges_pkey PRIMARY KEY (namespace, id, number);
ALTER TABLE ONLY golden_schema.graph_entities
    ADD CONSTRAINT graph_entities_pkey PRIMARY KEY (namespace, id, entity);
ALTER TABLE ONLY golden_schema.index_metadata
    ADD CONSTRAINT index_metadata_pkey PRIMARY KEY (part);
ALTER TABLE ONLY golden_schema.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (namespace, job, id);
ALTER TABLE ONLY golden_schema.keyword_documents
    ADD CONSTRAINT keyword_documents_pkey PRIMARY KEY (namespace, id);
ALTER TABLE ONLY golden_schema.lease_owners
    ADD CONSTRAINT lease_owners_pkey PRIMARY KEY (owner);
ALTER TABLE ONLY golden_schema.memory_schema
    ADD CONSTRAINT memory_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY golden_schema.namespaces
    ADD CONSTRAINT namespaces_pkey PRIMARY KEY (namespace);
ALTER TABLE ONLY golden_schema.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (namespace, id);
ALTER TABLE ONLY golden_schema.scopes
    ADD CONSTRAINT scopes_pkey PRIMARY KEY (namespace, scope);
ALTER TABLE ONLY golden_schema.secondary_vectors
    ADD CONSTRAINT secondary_vectors_pkey PRIMARY KEY (namespace, id);
ALTER TABLE ONLY golden_schema.synonym_groups
    ADD CONSTRAINT synonym_groups_pkey PRIMARY KEY (namespace, term);
ALTER TABLE ONLY golden_schema.synonym_verdicts
    ADD CONSTRAINT synonym_verdicts_pkey PRIMARY KEY (namespace, first, second);
ALTER TABLE ONLY golden_schema.tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (namespace, id);
ALTER TABLE ONLY golden_schema.vectors
    ADD CONSTRAINT vectors_pkey PRIMARY KEY (namespace, id);
CREATE INDEX audit_log_by_user ON golden_schema.audit_log USING btree (tenant, username, sequence);
CREATE INDEX expiring_records ON golden_schema.records USING btree (expires_at) WHERE ((expires_at IS NOT NULL) AND (NOT pinned));
CREATE INDEX graph_aliases_by_alias ON golden_schema.graph_aliases USING btree (namespace, alias);
CREATE INDEX graph_aliases_by_entity ON golden_schema.graph_aliases USING btree (namespace, entity);
CREATE INDEX graph_edges_by_source ON golden_schema.graph_edges USING btree (namespace, source);
CREATE INDEX graph_edges_by_target ON golden_schema.graph_edges USING btree (namespace, target);
CREATE INDEX graph_entities_by_entity ON golden_schema.graph_entities USING btree (namespace, entity);
CREATE INDEX jobs_by_ticket ON golden_schema.jobs USING btree (job, ticket, namespace, id);
CREATE INDEX keyword_documents_by_lexeme ON golden_schema.keyword_documents USING gin (lexemes) WITH (fastupdate=off);
CREATE INDEX namespaces_by_tenant ON golden_schema.namespaces USING btree (tenant, username);
CREATE INDEX pinned_records ON golden_schema.records USING btree (namespace, occurred_at, place, id) WHERE pinned;
CREATE INDEX record_groups_by_scope ON golden_schema.record_groups USING btree (namespace, scope);
CREATE INDEX records_by_id ON golden_schema.records USING btree (id);
CREATE INDEX records_by_moment ON golden_schema.records USING btree (occurred_at);
CREATE INDEX records_by_scope ON golden_schema.records USING btree (namespace, scope, occurred_at, place, id);
CREATE INDEX records_by_source ON golden_schema.records USING gin (derived_from) WITH (fastupdate=off) WHERE (derived_from <> '{}'::uuid[]);
CREATE INDEX records_by_time ON golden_schema.records USING btree (namespace, occurred_at, place, id);
CREATE INDEX records_by_trigram ON golden_schema.records USING gin (text public.gin_trgm_ops) WHERE (state = 'active'::text);
CREATE INDEX secondary_vectors_by_scope ON golden_schema.secondary_vectors USING btree (namespace, scope);
CREATE INDEX vectors_by_scope ON golden_schema.vectors USING btree (namespace, scope);
CREATE TRIGGER record_groups_1_delete AFTER DELETE ON golden_schema.records REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION golden_schema.memory_subtract_from_groups();
CREATE TRIGGER record_groups_1_update AFTER UPDATE ON golden_schema.records REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION golden_schema.memory_subtract_from_groups();
CREATE TRIGGER record_groups_2_insert AFTER INSERT ON golden_schema.records REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION golden_schema.memory_add_to_groups();
CREATE TRIGGER record_groups_2_update AFTER UPDATE ON golden_schema.records REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION golden_schema.memory_add_to_groups();
ALTER TABLE ONLY golden_schema.blocked_contents
    ADD CONSTRAINT blocked_contents_namespace_fkey FOREIGN KEY (namespace) REFERENCES golden_schema.namespaces(namespace);
ALTER TABLE ONLY golden_schema.graph_aliases
    ADD CONSTRAINT graph_aliases_namespace_id_fkey FOREIGN KEY (namespace, id) REFERENCES golden_schema.records(namespace, id) ON DELETE CASCADE;
ALTER TABLE ONLY golden_schema.graph_edges
    ADD CONSTRAINT graph_edges_namespace_id_fkey FOREIGN KEY (namespace, id) REFERENCES golden_schema.records(namespace, id) ON DELETE CASCADE;
ALTER TABLE ONLY golden_schema.graph_entities
    ADD CONSTRAINT graph_entities_namespace_id_fkey FOREIGN KEY (namespace, id) REFERENCES golden_schema.records(namespace, id) ON DELETE CASCADE;
ALTER TABLE ONLY golden_schema.jobs
    ADD CONSTRAINT jobs_namespace_id_fkey FOREIGN KEY (namespace, id) REFERENCES golden_schema.records(namespace, id) ON DELETE CASCADE;
ALTER TABLE ONLY golden_schema.keyword_documents
    ADD CONSTRAINT keyword_documents_namespace_id_fkey FOREIGN KEY (namespace, id) REFERENCES golden_schema.records(namespace, id) ON DELETE CASCADE;
ALTER TABLE ONLY golden_schema.record_groups
    ADD CONSTRAINT record_groups_namespace_scope_fkey FOREIGN KEY (namespace, scope) REFERENCES golden_schema.scopes(namespace, scope);
ALTER TABLE ONLY golden_schema.records
    ADD CONSTRAINT records_namespace_scope_fkey FOREIGN KEY (namespace, scope) REFERENCES golden_schema.scopes(namespace, scope);
ALTER TABLE ONLY golden_schema.scopes
    ADD CONSTRAINT scopes_namespace_fkey FOREIGN KEY (namespace) REFERENCES golden_schema.namespaces(namespace);
ALTER TABLE ONLY golden_schema.secondary_vectors
    ADD CONSTRAINT secondary_vectors_namespace_id_fkey FOREIGN KEY (namespace, id) REFERENCES golden_schema.records(namespace, id) ON DELETE CASCADE;
ALTER TABLE ONLY golden_schema.synonym_groups
    ADD CONSTRAINT synonym_groups_namespace_fkey FOREIGN KEY (namespace) REFERENCES golden_schema.namespaces(namespace);
ALTER TABLE ONLY golden_schema.synonym_verdicts
    ADD CONSTRAINT synonym_verdicts_namespace_fkey FOREIGN KEY (namespace) REFERENCES golden_schema.namespaces(namespace);
ALTER TABLE ONLY golden_schema.tombstones
    ADD CONSTRAINT tombstones_namespace_scope_fkey FOREIGN KEY (namespace, scope) REFERENCES golden_schema.scopes(namespace, scope);
ALTER TABLE ONLY golden_schema.vectors
    ADD CONSTRAINT vectors_namespace_id_fkey FOREIGN KEY (namespace, id) REFERENCES golden_schema.records(namespace, id) ON DELETE CASCADE;
