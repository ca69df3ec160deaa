-- The items, embeddings, entities and edges of a story's memory.

-- Messages and parts of messages have the kind `timeline_chunk`; other records keep their kind.
CREATE OR REPLACE VIEW memory_items WITH (security_invoker = true) AS
    SELECT r.id, r.namespace, n.tenant, n.username AS user_id, a.session AS session_id, a.branch AS branch_id,
           r.message_id AS source_message_id, r.sequence AS source_seq,
           CASE WHEN r.kind IN ('turn', 'chunk') THEN 'timeline_chunk' ELSE r.kind END AS kind,
           r.text AS content, encode(r.content_hash, 'hex') AS content_hash, r.confidence, r.derived_from,
           memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.namespace = r.namespace
    JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- The vector of each item, in the type of pgvector and as JSON, and the model that made it.
CREATE OR REPLACE VIEW memory_embeddings WITH (security_invoker = true) AS
    SELECT v.id AS memory_item_id, v.namespace, vector_dims(v.embedding) AS dim, v.embedding::text AS vector_blob,
    v.embedding,
           regexp_replace((SELECT o.made_by FROM index_metadata o
           WHERE o.part = 'embedding'), ' \([0-9]+-d, [a-z]+\)$', '')
               AS model,
           memory_time(r.recorded_at) AS created_at
    FROM (
        SELECT namespace, id, embedding FROM vectors
        WHERE NOT EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table'
        AND o.made_by = 'secondary_vectors')
        UNION ALL
        SELECT namespace, id, embedding FROM secondary_vectors
        WHERE EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table' AND o.made_by = 'secondary_vectors')
    ) v JOIN records r ON r.namespace = v.namespace AND r.id = v.id
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- An entity of a session as the first message names it. `canonical` is the name that another message gives it as well.
CREATE OR REPLACE VIEW memory_entities WITH (security_invoker = true) AS
    SELECT DISTINCT ON (e.namespace, a.session, e.entity) e.entity AS id, e.namespace, n.tenant, n.username AS user_id,
           a.session AS session_id, e.name, e.kind AS type,
           coalesce((
               SELECT min(c.name) FROM graph_aliases g
                    JOIN scopes b ON b.namespace = g.namespace AND b.scope = g.scope
                    JOIN graph_entities c ON c.namespace = g.namespace AND c.id = g.id AND c.entity = g.entity
               WHERE g.namespace = e.namespace AND g.alias = e.entity AND b.session = a.session
           ), e.name) AS canonical,
           memory_time(r.occurred_at) AS created_at
    FROM graph_entities e JOIN namespaces n ON n.namespace = e.namespace
         JOIN scopes a ON a.namespace = e.namespace AND a.scope = e.scope
         JOIN records r ON r.namespace = e.namespace AND r.id = e.id AND r.state = 'active'
    ORDER BY e.namespace, a.session, e.entity, r.occurred_at, r.place, r.id;

-- A relation between two entities, with the message that states it.
CREATE OR REPLACE VIEW memory_edges WITH (security_invoker = true) AS
    SELECT e.id::text || '/' || e.number AS id, e.namespace, n.tenant, n.username AS user_id, a.session AS session_id,
           a.branch AS branch_id, e.source AS src_entity_id, e.relation AS rel, e.target AS dst_entity_id,
           r.message_id AS evidence_message_id, r.sequence AS evidence_seq, memory_time(r.occurred_at) AS created_at
    FROM graph_edges e JOIN namespaces n ON n.namespace = e.namespace
         JOIN scopes a ON a.namespace = e.namespace AND a.scope = e.scope
         JOIN records r ON r.namespace = e.namespace AND r.id = e.id AND r.state = 'active';
