-- The key moments, profiles and affection of a companion. Columns that records do not have are read from metadata of
-- the same name.

CREATE OR REPLACE VIEW key_moments WITH (security_invoker = true) AS
    SELECT coalesce(r.message_id, r.id::text) AS id, r.namespace, n.tenant, n.username AS user_id,
           coalesce(memory_int(r.metadata, 'chapter'), 1) AS chapter,
           coalesce(r.metadata ->> 'moment_name', r.topic) AS moment_name, memory_time(r.occurred_at) AS triggered_at,
           coalesce(r.metadata ->> 'user_response', r.text) AS user_response,
           r.metadata ->> 'aicy_response' AS aicy_response,
           memory_int(r.metadata, 'affection_gained') AS affection_gained,
           coalesce(r.metadata ->> 'status', 'completed') AS status, r.id AS record_id
    FROM records r JOIN namespaces n ON n.namespace = r.namespace
    WHERE r.kind = 'key_moment' AND r.state = 'active';

-- One row for each companion of a user: the state of the companion, and the latest profile.
CREATE OR REPLACE VIEW user_profiles WITH (security_invoker = true) AS
    SELECT n.username AS user_id, who.namespace, n.tenant, p.metadata ->> 'nickname' AS nickname,
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
    FROM (SELECT DISTINCT namespace, scope FROM records WHERE kind IN ('ledger/companion', 'profile')
    AND state = 'active') who
         JOIN namespaces n ON n.namespace = who.namespace
         JOIN scopes a ON a.namespace = who.namespace AND a.scope = who.scope
         LEFT JOIN LATERAL (
             SELECT * FROM records r
             WHERE r.namespace = who.namespace AND r.scope = who.scope AND r.kind = 'ledger/companion'
             AND r.state = 'active'
             ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1) b ON true
         LEFT JOIN LATERAL (
             SELECT * FROM records r
             WHERE r.namespace = who.namespace AND r.scope = who.scope AND r.kind = 'profile' AND r.state = 'active'
             ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1) p ON true;

CREATE OR REPLACE VIEW affection_logs WITH (security_invoker = true) AS
    SELECT r.id, r.namespace, n.tenant, n.username AS user_id, coalesce(memory_int(r.metadata, 'delta'), 0) AS delta,
           coalesce(r.metadata ->> 'reason', r.text) AS reason, memory_int(r.metadata, 'before_value') AS before_value,
           memory_int(r.metadata, 'after_value') AS after_value, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.namespace = r.namespace
    WHERE r.kind = 'ledger/affection' AND r.state = 'active';
