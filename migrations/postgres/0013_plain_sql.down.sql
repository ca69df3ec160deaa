DROP INDEX IF EXISTS records_by_trigram;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE INDEX records_by_trigram ON records USING gin (coalesce(folded, text) gin_trgm_ops)
            WHERE state = 'active';
    END IF;
END $$;

ALTER TABLE synonym_map ALTER COLUMN ns DROP DEFAULT;
DROP FUNCTION memory_default_ns();
