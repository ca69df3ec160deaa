-- Views of the records of a companion, for programs that read them by SQL. `tenant`, `user_id` and `agent` identify
-- the owner. Times are texts in UTC. Columns that records do not have are read from metadata of the same name.

CREATE VIEW conversations AS
    SELECT lower(printf('%s-%s-%s-%s-%s', substr(hex(r.id), 1, 8), substr(hex(r.id), 9, 4), substr(hex(r.id), 13, 4),
                        substr(hex(r.id), 17, 4), substr(hex(r.id), 21))) AS id,
           t.name AS tenant, n.user AS user_id, s.agent, s.session AS session_id,
           coalesce(r.role, 'user') AS role, r.text AS content,
           coalesce(CASE json_type(r.metadata, '$.affection_delta') WHEN 'integer' THEN r.metadata ->> '$.affection_delta' END,
                    0) AS affection_delta,
           r.metadata ->> '$.key_moment_id' IS NOT NULL AS is_key_moment,
           r.metadata ->> '$.key_moment_id' AS key_moment_id, r.sequence,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS created_at
    FROM records r JOIN scopes s ON s.scope = r.scope JOIN namespaces n ON n.namespace = r.namespace
         JOIN tenants t ON t.tenant = n.tenant
    WHERE r.kind = 'turn' AND r.state = 'active';

CREATE VIEW key_moments AS
    SELECT coalesce(r.message_id, lower(hex(r.id))) AS id, t.name AS tenant, n.user AS user_id, s.agent,
           coalesce(CASE json_type(r.metadata, '$.chapter') WHEN 'integer' THEN r.metadata ->> '$.chapter' END, 1) AS chapter,
           coalesce(r.metadata ->> '$.moment_name', r.topic) AS moment_name,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS triggered_at,
           coalesce(r.metadata ->> '$.user_response', r.text) AS user_response,
           r.metadata ->> '$.aicy_response' AS aicy_response,
           CASE json_type(r.metadata, '$.affection_gained') WHEN 'integer' THEN r.metadata ->> '$.affection_gained' END
               AS affection_gained,
           coalesce(r.metadata ->> '$.status', 'completed') AS status
    FROM records r JOIN scopes s ON s.scope = r.scope JOIN namespaces n ON n.namespace = r.namespace
         JOIN tenants t ON t.tenant = n.tenant
    WHERE r.kind = 'key_moment' AND r.state = 'active';

-- One row for each companion of a user: the state of the companion, and the latest profile.
CREATE VIEW user_profiles AS
    SELECT n.user AS user_id, t.name AS tenant, s.agent, p.metadata ->> '$.nickname' AS nickname,
           coalesce(b.metadata ->> '$.affection', p.metadata ->> '$.affection', 0) AS affection,
           coalesce(b.metadata ->> '$.current_chapter', p.metadata ->> '$.current_chapter', 1) AS current_chapter,
           coalesce(p.metadata ->> '$.personality_summary', p.text) AS personality_summary,
           p.metadata ->> '$.preferences_summary' AS preferences_summary,
           p.metadata ->> '$.relationship_summary' AS relationship_summary,
           p.metadata ->> '$.recent_topics' AS recent_topics,
           coalesce(b.metadata ->> '$.total_messages', p.metadata ->> '$.total_messages', 0) AS total_messages,
           coalesce(b.metadata ->> '$.consecutive_days', p.metadata ->> '$.consecutive_days', 0) AS consecutive_days,
           strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(b.metadata ->> '$.last_active_micros', p.occurred_at) / 1000000.0,
                    'unixepoch') AS last_active_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', min(coalesce(b.recorded_at, p.recorded_at), coalesce(p.recorded_at, b.recorded_at))
                    / 1000000.0, 'unixepoch') AS created_at
    FROM (SELECT DISTINCT scope FROM records WHERE kind IN ('ledger/companion', 'profile') AND state = 'active') who
         JOIN scopes s ON s.scope = who.scope JOIN namespaces n ON n.namespace = s.namespace
         JOIN tenants t ON t.tenant = n.tenant
         LEFT JOIN records b ON b.record = (
             SELECT record FROM records WHERE scope = who.scope AND kind = 'ledger/companion' AND state = 'active'
             ORDER BY occurred_at DESC, place DESC, id DESC LIMIT 1)
         LEFT JOIN records p ON p.record = (
             SELECT record FROM records WHERE scope = who.scope AND kind = 'profile' AND state = 'active'
             ORDER BY occurred_at DESC, place DESC, id DESC LIMIT 1);

CREATE VIEW affection_logs AS
    SELECT lower(printf('%s-%s-%s-%s-%s', substr(hex(r.id), 1, 8), substr(hex(r.id), 9, 4), substr(hex(r.id), 13, 4),
                        substr(hex(r.id), 17, 4), substr(hex(r.id), 21))) AS id, t.name AS tenant, n.user AS user_id, s.agent,
           coalesce(CASE json_type(r.metadata, '$.delta') WHEN 'integer' THEN r.metadata ->> '$.delta' END, 0) AS delta,
           coalesce(r.metadata ->> '$.reason', r.text) AS reason,
           CASE json_type(r.metadata, '$.before_value') WHEN 'integer' THEN r.metadata ->> '$.before_value' END AS before_value,
           CASE json_type(r.metadata, '$.after_value') WHEN 'integer' THEN r.metadata ->> '$.after_value' END AS after_value,
           strftime('%Y-%m-%dT%H:%M:%fZ', r.occurred_at / 1000000.0, 'unixepoch') AS created_at
    FROM records r JOIN scopes s ON s.scope = r.scope JOIN namespaces n ON n.namespace = r.namespace
         JOIN tenants t ON t.tenant = n.tenant
    WHERE r.kind = 'ledger/affection' AND r.state = 'active';
