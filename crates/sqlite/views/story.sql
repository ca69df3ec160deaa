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
