-- The turns.
CREATE OR REPLACE VIEW conversations WITH (security_invoker = true) AS
    SELECT r.id, r.namespace, n.tenant, n.username AS user_id, a.session AS session_id, r.round AS round_number,
           coalesce(r.role, 'user') AS role, r.text AS content,
           CASE WHEN coalesce(r.role, 'user') = 'user' THEN r.text END AS user_msg,
           CASE WHEN r.role = 'assistant' THEN r.text END AS assistant_msg,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           CASE WHEN EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table'
           AND o.made_by = 'secondary_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding,
           coalesce(memory_int(r.metadata, 'affection_delta'), 0) AS affection_delta,
           r.metadata ->> 'key_moment_id' IS NOT NULL AS is_key_moment, r.metadata ->> 'key_moment_id' AS key_moment_id,
           memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.namespace = r.namespace
    JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope
         LEFT JOIN vectors v ON v.namespace = r.namespace AND v.id = r.id
         LEFT JOIN secondary_vectors w ON w.namespace = r.namespace AND w.id = r.id
    WHERE r.kind = 'turn' AND r.state = 'active';
