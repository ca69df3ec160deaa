-- Brings the views back to what 0002_documents.up.sql made of them. No data is lost.

DROP VIEW user_profiles;

CREATE VIEW user_profiles WITH (security_invoker = true) AS
    SELECT DISTINCT ON (r.ns) n.username AS user_id, r.ns, n.tenant, r.metadata ->> 'nickname' AS nickname,
           coalesce(memory_int(r.metadata, 'affection'), 0) AS affection,
           coalesce(memory_int(r.metadata, 'current_chapter'), 1) AS current_chapter,
           coalesce(r.metadata ->> 'personality_summary', r.text) AS personality_summary,
           r.metadata ->> 'preferences_summary' AS preferences_summary,
           r.metadata ->> 'relationship_summary' AS relationship_summary,
           r.metadata ->> 'recent_topics' AS recent_topics,
           coalesce(memory_int(r.metadata, 'total_messages'), 0) AS total_messages,
           coalesce(memory_int(r.metadata, 'consecutive_days'), 0) AS consecutive_days,
           memory_time(r.occurred_at) AS last_active_at, memory_time(r.recorded_at) AS created_at, r.id AS record_id
    FROM records r JOIN namespaces n ON n.ns = r.ns
    WHERE r.kind = 'profile' AND r.state = 'active'
    ORDER BY r.ns, r.occurred_at DESC, r.place DESC, r.id DESC;

CREATE OR REPLACE VIEW affection_logs WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, coalesce(memory_int(r.metadata, 'delta'), 0) AS delta,
           coalesce(r.metadata ->> 'reason', r.text) AS reason, memory_int(r.metadata, 'before_value') AS before_value,
           memory_int(r.metadata, 'after_value') AS after_value, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns
    WHERE r.kind = 'affection' AND r.state = 'active';

CREATE OR REPLACE VIEW memory_events WITH (security_invoker = true) AS
    SELECT r.ns, n.tenant, n.username AS user_id, r.id AS record_id,
           CASE WHEN r.message_id ~ '^[0-9]{1,18}$' THEN r.message_id::bigint ELSE r.sequence END AS news_event_id,
           r.kind, r.occurred_at, memory_time(r.occurred_at) AS created_at, r.text AS content_text,
           r.metadata ->> 'translated_text' AS translated_text, r.tags AS assets, r.confidence, v.embedding
    FROM records r JOIN namespaces n ON n.ns = r.ns LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.state = 'active';
