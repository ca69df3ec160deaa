-- The summaries and synonyms under the names of the gateway's document.

CREATE OR REPLACE VIEW summaries WITH (security_invoker = true) AS
    SELECT r.id, r.namespace, n.tenant, n.username AS user_id, a.session AS session_id, r.text AS summary,
    r.text AS content,
           coalesce(r.scene, 'daily') AS scene_type, r.topic, r.entities, r.emotion,
           CASE WHEN EXISTS (SELECT FROM index_metadata o WHERE o.part = 'serving table'
           AND o.made_by = 'secondary_vectors')
                THEN w.embedding ELSE v.embedding END AS embedding,
           r.derived_from, memory_time(r.occurred_at) AS created_at
    FROM records r JOIN namespaces n ON n.namespace = r.namespace
    JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope
         LEFT JOIN vectors v ON v.namespace = r.namespace AND v.id = r.id
         LEFT JOIN secondary_vectors w ON w.namespace = r.namespace AND w.id = r.id
    WHERE r.kind = 'summary' AND r.state = 'active';

-- Returns the namespace of all users of the default tenant, and creates it. It is the hash of the names ('default', no
-- user), which the engine computes as well. Default of synonyms, for programs that write them by SQL.
CREATE OR REPLACE FUNCTION memory_default_namespace() RETURNS uuid LANGUAGE sql VOLATILE SET search_path FROM CURRENT
    AS $$
        INSERT INTO namespaces (namespace, tenant, username)
        VALUES ('408566ef-5be8-8484-8b30-134a3e7d56f0', 'default', '')
        ON CONFLICT (namespace) DO NOTHING;
        SELECT uuid '408566ef-5be8-8484-8b30-134a3e7d56f0'
    $$;

-- The synonym groups. A row that is inserted without `namespace` is for all users of the default tenant.
CREATE OR REPLACE VIEW synonym_map WITH (security_invoker = true) AS
    SELECT g.namespace, md5(g.namespace || ' ' || g.term)::uuid AS id, g.term, g.members AS synonyms, g.category,
    g.created_at
    FROM synonym_groups g;
ALTER VIEW synonym_map ALTER COLUMN namespace SET DEFAULT memory_default_namespace();
