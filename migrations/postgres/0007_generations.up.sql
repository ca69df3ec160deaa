-- A second generation of vectors beside the one that serves, filled by another embedder. The two tables change places: which
-- of them serves stands in `origins` as 'serving table' ('vectors', unless told otherwise), the space of the serving one as
-- 'embedding', that of the other one as 'reembedding', and what that one still lacks in `backlog` under the same name.

CREATE TABLE second_vectors (
    ns        uuid NOT NULL,
    id        uuid NOT NULL,
    address   uuid NOT NULL,
    embedding vector NOT NULL,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX second_vectors_by_address ON second_vectors (ns, address);
ALTER TABLE addresses ADD COLUMN second_vectors bigint NOT NULL DEFAULT 0;

-- The views show the vectors that serve.
CREATE OR REPLACE VIEW conversations WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.round AS round_number,
           coalesce(r.role, 'user') AS role, r.text AS content,
           CASE WHEN coalesce(r.role, 'user') = 'user' THEN r.text END AS user_msg,
           CASE WHEN r.role = 'assistant' THEN r.text END AS assistant_msg,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           CASE WHEN EXISTS (SELECT FROM origins o WHERE o.part = 'serving table' AND o.made_by = 'second_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding,
           coalesce(memory_int(r.metadata, 'affection_delta'), 0) AS affection_delta,
           r.metadata ->> 'key_moment_id' IS NOT NULL AS is_key_moment, r.metadata ->> 'key_moment_id' AS key_moment_id,
           memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN addresses a ON a.ns = r.ns AND a.address = r.address
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
         LEFT JOIN second_vectors w ON w.ns = r.ns AND w.id = r.id
    WHERE r.kind = 'turn' AND r.state = 'active';

CREATE OR REPLACE VIEW summaries WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.text AS summary, r.text AS content,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           CASE WHEN EXISTS (SELECT FROM origins o WHERE o.part = 'serving table' AND o.made_by = 'second_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding,
           r.derived_from, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN addresses a ON a.ns = r.ns AND a.address = r.address
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
         LEFT JOIN second_vectors w ON w.ns = r.ns AND w.id = r.id
    WHERE r.kind = 'summary' AND r.state = 'active';

CREATE OR REPLACE VIEW memory_events WITH (security_invoker = true) AS
    SELECT r.ns, n.tenant, n.username AS user_id, r.id AS record_id,
           CASE WHEN r.message_id ~ '^[0-9]{1,18}$' THEN r.message_id::bigint ELSE r.sequence END AS news_event_id,
           r.kind, r.occurred_at, memory_time(r.occurred_at) AS created_at, r.text AS content_text,
           r.metadata ->> 'translated_text' AS translated_text, r.tags AS assets, r.confidence,
           CASE WHEN EXISTS (SELECT FROM origins o WHERE o.part = 'serving table' AND o.made_by = 'second_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding
    FROM records r JOIN namespaces n ON n.ns = r.ns LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
         LEFT JOIN second_vectors w ON w.ns = r.ns AND w.id = r.id
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';
