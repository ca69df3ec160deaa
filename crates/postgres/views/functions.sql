-- The functions that every set of views has, for its views and for programs that read them.

-- Returns the namespace of a user; NULL if nothing was ever stored for that user.
CREATE OR REPLACE FUNCTION memory_namespace(of_user text, of_tenant text DEFAULT 'default') RETURNS uuid
    LANGUAGE sql STABLE SET search_path FROM CURRENT
    AS $$ SELECT n.namespace FROM namespaces n WHERE n.tenant = of_tenant AND n.username = coalesce(of_user, '') $$;

-- Converts microseconds since 1970. Times before 4700 BC and after 9800 AD become these years.
CREATE OR REPLACE FUNCTION memory_time(micros bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT timestamptz 'epoch'
        + interval '1 second' * (greatest(least(micros, 250000000000000000), -210000000000000000) / 1000000)
        + interval '1 microsecond' * (greatest(least(micros, 250000000000000000), -210000000000000000) % 1000000) $$;

-- Returns the whole number under a key of the metadata; NULL for anything else.
CREATE OR REPLACE FUNCTION memory_int(metadata json, key text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN metadata ->> key ~ '^-?[0-9]{1,9}$' THEN (metadata ->> key)::integer END $$;
