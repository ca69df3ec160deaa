-- Keeps the generation of vectors that serves, in the table `vectors`, and removes the other one. The index for near ones is made
-- anew when the store is opened.

CREATE OR REPLACE VIEW conversations WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.round AS round_number,
           coalesce(r.role, 'user') AS role, r.text AS content,
           CASE WHEN coalesce(r.role, 'user') = 'user' THEN r.text END AS user_msg,
           CASE WHEN r.role = 'assistant' THEN r.text END AS assistant_msg,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           v.embedding,
           coalesce(memory_int(r.metadata, 'affection_delta'), 0) AS affection_delta,
           r.metadata ->> 'key_moment_id' IS NOT NULL AS is_key_moment, r.metadata ->> 'key_moment_id' AS key_moment_id,
           memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN addresses a ON a.ns = r.ns AND a.address = r.address
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.kind = 'turn' AND r.state = 'active';

CREATE OR REPLACE VIEW summaries WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.text AS summary, r.text AS content,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           v.embedding,
           r.derived_from, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN addresses a ON a.ns = r.ns AND a.address = r.address
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.kind = 'summary' AND r.state = 'active';

CREATE OR REPLACE VIEW memory_events WITH (security_invoker = true) AS
    SELECT r.ns, n.tenant, n.username AS user_id, r.id AS record_id,
           CASE WHEN r.message_id ~ '^[0-9]{1,18}$' THEN r.message_id::bigint ELSE r.sequence END AS news_event_id,
           r.kind, r.occurred_at, memory_time(r.occurred_at) AS created_at, r.text AS content_text,
           r.metadata ->> 'translated_text' AS translated_text, r.tags AS assets, r.confidence,
           v.embedding
    FROM records r JOIN namespaces n ON n.ns = r.ns LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

DO $$
BEGIN
    IF EXISTS (SELECT FROM origins WHERE part = 'serving table' AND made_by = 'second_vectors') THEN
        DROP INDEX IF EXISTS vectors_by_nearness;
        DELETE FROM origins WHERE part = 'vector index';
        TRUNCATE vectors;
        INSERT INTO vectors (ns, id, address, embedding) SELECT ns, id, address, embedding FROM second_vectors;
        UPDATE addresses SET vectors = second_vectors;
    END IF;
END $$;
DROP TABLE second_vectors;
ALTER TABLE addresses DROP COLUMN second_vectors;
DELETE FROM backlog WHERE job = 'reembedding';
DELETE FROM origins WHERE part IN ('reembedding', 'serving table', 'second vector index');
