-- What memory-engine keeps, under the names that other programs look for: views over `records`, one table for synonyms, and
-- two functions that search. The views see with the rights of whoever reads them. `tenant` and `user_id` say whose a row
-- is; those who ask for one user's rows by `ns = memory_ns('name')` are served from one place.

-- The namespace of a user, where anything was ever written for one; NULL otherwise.
CREATE FUNCTION memory_ns(of_user text, of_tenant text DEFAULT 'default') RETURNS uuid
    LANGUAGE sql STABLE SET search_path FROM CURRENT
    AS $$ SELECT n.ns FROM namespaces n WHERE n.tenant = of_tenant AND n.username = coalesce(of_user, '') $$;

-- Microseconds since 1970 as a point in time; the years beyond 4700 BC and 9800 AD as those.
CREATE FUNCTION memory_time(micros bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT timestamptz 'epoch'
        + interval '1 second' * (greatest(least(micros, 250000000000000000), -210000000000000000) / 1000000)
        + interval '1 microsecond' * (greatest(least(micros, 250000000000000000), -210000000000000000) % 1000000) $$;

-- A whole number under a key of the metadata; NULL for anything else.
CREATE FUNCTION memory_int(metadata json, key text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN metadata ->> key ~ '^-?[0-9]{1,9}$' THEN (metadata ->> key)::integer END $$;

-- Words that mean the same: a term with the other words for it. Rows may be written by hand, too.
CREATE TABLE synonym_map (
    ns         uuid NOT NULL REFERENCES namespaces,
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    term       text NOT NULL,
    synonyms   text[] NOT NULL,
    category   text DEFAULT 'general',
    created_at timestamptz DEFAULT now(),
    PRIMARY KEY (ns, id),
    UNIQUE (ns, term)
) /* by namespace */;

-- One row for each turn. A user's words are both `content` and `user_msg`, a model's both `content` and `assistant_msg`.
CREATE VIEW conversations WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.round AS round_number,
           coalesce(r.role, 'user') AS role, r.text AS content,
           CASE WHEN coalesce(r.role, 'user') = 'user' THEN r.text END AS user_msg,
           CASE WHEN r.role = 'assistant' THEN r.text END AS assistant_msg,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion, v.embedding,
           coalesce(memory_int(r.metadata, 'affection_delta'), 0) AS affection_delta,
           r.metadata ->> 'key_moment_id' IS NOT NULL AS is_key_moment, r.metadata ->> 'key_moment_id' AS key_moment_id,
           memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN addresses a ON a.ns = r.ns AND a.address = r.address
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.kind = 'turn' AND r.state = 'active';

CREATE VIEW summaries WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, a.session AS session_id, r.text AS summary, r.text AS content,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion, v.embedding,
           r.derived_from, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns JOIN addresses a ON a.ns = r.ns AND a.address = r.address
         LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.kind = 'summary' AND r.state = 'active';

-- What goes beyond a record's own fields is in its metadata, under the names of the columns.
CREATE VIEW key_moments WITH (security_invoker = true) AS
    SELECT coalesce(r.message_id, r.id::text) AS id, r.ns, n.tenant, n.username AS user_id,
           coalesce(memory_int(r.metadata, 'chapter'), 1) AS chapter,
           coalesce(r.metadata ->> 'moment_name', r.topic) AS moment_name, memory_time(r.occurred_at) AS triggered_at,
           coalesce(r.metadata ->> 'user_response', r.text) AS user_response,
           r.metadata ->> 'aicy_response' AS aicy_response,
           memory_int(r.metadata, 'affection_gained') AS affection_gained,
           coalesce(r.metadata ->> 'status', 'completed') AS status, r.id AS record_id
    FROM records r JOIN namespaces n ON n.ns = r.ns
    WHERE r.kind = 'key_moment' AND r.state = 'active';

-- The latest profile of each user.
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

-- Records of the kind `affection`.
CREATE VIEW affection_logs WITH (security_invoker = true) AS
    SELECT r.id, r.ns, n.tenant, n.username AS user_id, coalesce(memory_int(r.metadata, 'delta'), 0) AS delta,
           coalesce(r.metadata ->> 'reason', r.text) AS reason, memory_int(r.metadata, 'before_value') AS before_value,
           memory_int(r.metadata, 'after_value') AS after_value, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.ns = r.ns
    WHERE r.kind = 'affection' AND r.state = 'active';

-- What the two functions below search: every active record, with its tags as the assets it is about. `news_event_id` is the
-- number that the record has where it came from, if that is a number.
CREATE VIEW memory_events WITH (security_invoker = true) AS
    SELECT r.ns, n.tenant, n.username AS user_id, r.id AS record_id,
           CASE WHEN r.message_id ~ '^[0-9]{1,18}$' THEN r.message_id::bigint ELSE r.sequence END AS news_event_id,
           r.kind, r.occurred_at, memory_time(r.occurred_at) AS created_at, r.text AS content_text,
           r.metadata ->> 'translated_text' AS translated_text, r.tags AS assets, r.confidence, v.embedding
    FROM records r JOIN namespaces n ON n.ns = r.ns LEFT JOIN vectors v ON v.ns = r.ns AND v.id = r.id
    WHERE r.state = 'active';

-- By nearness: the nearest first, from `match_threshold` on. Whoever keeps several users' memories in one database says whose
-- are meant.
CREATE FUNCTION search_memory_events(
    query_embedding vector,
    match_threshold double precision DEFAULT 0.85,
    match_count integer DEFAULT 5,
    asset_filter text[] DEFAULT NULL,
    min_confidence double precision DEFAULT 0.6,
    time_window_hours integer DEFAULT 72,
    of_user text DEFAULT NULL,
    of_tenant text DEFAULT 'default'
) RETURNS TABLE (
    news_event_id bigint,
    created_at timestamptz,
    content_text text,
    translated_text text,
    similarity double precision,
    record_id uuid
) LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT s.news_event_id, s.created_at, s.content_text, s.translated_text, s.similarity, s.record_id
    FROM (
        SELECT e.*, CASE WHEN vector_dims(e.embedding) = vector_dims(query_embedding)
                         THEN 1 - (e.embedding <=> query_embedding) END AS similarity
        FROM memory_events e
        WHERE e.tenant = of_tenant AND (of_user IS NULL OR e.user_id = of_user)
          AND e.occurred_at >= (extract(epoch FROM now()) * 1000000)::bigint - time_window_hours * 3600000000
          AND e.confidence >= min_confidence
          AND (asset_filter IS NULL OR e.assets && asset_filter)
    ) s
    WHERE s.similarity >= match_threshold
    ORDER BY s.similarity DESC, s.created_at DESC, s.record_id
    LIMIT match_count
$$;

-- By words: the share of the keywords that stand in the text (in its translation, if it has one), in any case of letters.
CREATE FUNCTION search_memory_events_keywords(
    query_keywords text[],
    time_window_hours integer DEFAULT 72,
    match_count integer DEFAULT 10,
    min_confidence double precision DEFAULT 0.0,
    asset_filter text[] DEFAULT NULL,
    of_user text DEFAULT NULL,
    of_tenant text DEFAULT 'default'
) RETURNS TABLE (
    news_event_id bigint,
    created_at timestamptz,
    content_text text,
    translated_text text,
    match_score double precision,
    record_id uuid
) LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT s.news_event_id, s.created_at, s.content_text, s.translated_text, s.match_score, s.record_id
    FROM (
        SELECT e.*, (
            SELECT count(*)::double precision FROM unnest(query_keywords) word
            WHERE strpos(lower(coalesce(e.translated_text, e.content_text, '')), lower(word)) > 0
        ) / greatest(cardinality(query_keywords), 1) AS match_score
        FROM memory_events e
        WHERE e.tenant = of_tenant AND (of_user IS NULL OR e.user_id = of_user)
          AND e.occurred_at >= (extract(epoch FROM now()) * 1000000)::bigint - time_window_hours * 3600000000
          AND e.confidence >= min_confidence
          AND (asset_filter IS NULL OR e.assets && asset_filter)
    ) s
    WHERE s.match_score > 0
    ORDER BY s.match_score DESC, s.created_at DESC, s.record_id
    LIMIT match_count
$$;
