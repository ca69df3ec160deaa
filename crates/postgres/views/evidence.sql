-- The events that the two functions below search: every active record, with its tags as assets. `news_event_id` is the
-- number of the event in the table that it was copied from.
CREATE OR REPLACE VIEW memory_events WITH (security_invoker = true) AS
    SELECT r.namespace, n.tenant, n.username AS user_id, r.id AS record_id,
           CASE WHEN r.message_id ~ '^[0-9]{1,18}$' THEN r.message_id::bigint ELSE r.sequence END AS news_event_id,
           r.kind, r.occurred_at, memory_time(r.occurred_at) AS created_at, r.text AS content_text,
           r.metadata ->> 'translated_text' AS translated_text, r.tags AS assets, r.confidence,
           CASE WHEN EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table'
           AND o.made_by = 'secondary_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding
    FROM records r JOIN namespaces n ON n.namespace = r.namespace
    LEFT JOIN vectors v ON v.namespace = r.namespace AND v.id = r.id
         LEFT JOIN secondary_vectors w ON w.namespace = r.namespace AND w.id = r.id
    WHERE r.state = 'active' AND r.kind NOT LIKE 'ledger/%';

-- Returns the events whose vectors have at least the similarity `match_threshold`, nearest first: those of all users of
-- the tenant, or of one user.
CREATE OR REPLACE FUNCTION search_memory_events(
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

-- Returns the events that contain any of the keywords, ordered by the share of the keywords that they contain. The
-- translation of a text is searched instead of the text, if there is one. The case of letters is ignored.
CREATE OR REPLACE FUNCTION search_memory_events_keywords(
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
