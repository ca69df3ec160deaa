-- For programs that write synonyms by SQL: a row of `synonym_map` without `ns` applies to all users of the default tenant.
-- The namespace is the hash of the names ('default', no user) that the engine computes as well.
CREATE FUNCTION memory_default_ns() RETURNS uuid LANGUAGE sql VOLATILE SET search_path FROM CURRENT
    AS $$
        INSERT INTO namespaces (ns, tenant, username) VALUES ('408566ef-5be8-8484-8b30-134a3e7d56f0', 'default', '')
        ON CONFLICT (ns) DO NOTHING;
        SELECT uuid '408566ef-5be8-8484-8b30-134a3e7d56f0'
    $$;

ALTER TABLE synonym_map ALTER COLUMN ns SET DEFAULT memory_default_ns();

-- The index of trigrams serves searches in the views, which show the text as it was written.
DROP INDEX IF EXISTS records_by_trigram;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE INDEX records_by_trigram ON records USING gin (text gin_trgm_ops)
            WHERE state = 'active';
    END IF;
END $$;
