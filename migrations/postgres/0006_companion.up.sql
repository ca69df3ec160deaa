-- A companion keeps its state and its log of affection in ledgers: the views read them there. Ledgers are no events.

DROP VIEW user_profiles;

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
    FROM (SELECT DISTINCT ns, address FROM records WHERE kind IN ('ledger/companion', 'profile') AND state = 'active') who
         JOIN namespaces n ON n.ns = who.ns JOIN addresses a ON a.ns = who.ns AND a.address = who.address
         LEFT JOIN LATERAL (
             SELECT * FROM records r
             WHERE r.ns = who.ns AND r.address = who.address AND r.kind = 'ledger/companion' AND r.state = 'active'
             ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1) b ON true
         LEFT JOIN LATERAL (
             SELECT * FROM records r
             WHERE r.ns = who.ns AND r.address = who.address AND r.kind = 'profile' AND r.state = 'active'
             ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1) p ON true;

CREATE OR REPLACE VIEW affection_logs WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, coalesce(memory_int(r.metadata, 'delta'), 0) AS delta,
           coalesce(r.metadata ->> 'reason', r.text) AS reason, memory_int(r.metadata, 'before_value') AS before_value,
           memory_int(r.metadata, 'after_value') AS after_value, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns
    WHERE r.kind = 'ledger/affection' AND r.state = 'active';

CREATE OR REPLACE VIEW memory_events WITH (security_invoker = true) AS
    SELECT r.ns, n.tenant, n.username AS user_id, r.id AS record_id,
           CASE WHEN r.message_id ~ '^[0-9]{1,18}$' THEN r.message_id::bigint ELSE r.sequence END AS news_event_id,
           r.kind, r.occurred_at, memory_time(r.occurred_at) AS created_at, r.text AS content_text,
           r.metadata ->> 'translated_text' AS translated_text, r.tags AS assets, r.confidence, v.embedding
    FROM records r JOIN namespaces n ON n.ns = r.ns LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';
