-- The number of records of each kind, state and application at each address, with their times, so that lists of users,
-- agents and sessions need not read the records. Triggers keep the rows; a row without records is removed.

CREATE TABLE record_groups (
    ns        uuid NOT NULL,
    address   uuid NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    state     text COLLATE "C" NOT NULL,
    app       text COLLATE "C",
    records   bigint NOT NULL,
    oldest    bigint NOT NULL,
    newest    bigint NOT NULL,
    edited_at bigint,
    FOREIGN KEY (ns, address) REFERENCES addresses
) /* by namespace */;
-- Not unique: writers of one namespace wait for each other, and `app` may be too long for an index.
CREATE INDEX record_groups_by_address ON record_groups (ns, address);

-- Two values of the metadata. The test of the text comes first, because most metadata have neither.
CREATE FUNCTION memory_record_app(metadata json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos(metadata::text, '"mem0.app"') > 0 THEN
        CASE json_typeof(metadata -> 'mem0.app') WHEN 'string' THEN nullif(metadata ->> 'mem0.app', '') END
    END
$$;
CREATE FUNCTION memory_record_edited_at(metadata json) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN strpos(metadata::text, '"mem0.updated"') > 0 THEN
        CASE WHEN json_typeof(metadata -> 'mem0.updated') = 'number'
                AND metadata ->> 'mem0.updated' ~ '^-?[0-9]{1,18}$'
            THEN (metadata ->> 'mem0.updated')::bigint END
    END
$$;

-- Subtracts the records in the transition table `removed`.
CREATE FUNCTION memory_subtract_from_groups() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE record_groups g SET
        records = g.records - o.records,
        oldest = CASE WHEN o.oldest > g.oldest THEN g.oldest ELSE coalesce((
            SELECT r.occurred_at FROM records r
            WHERE r.ns = g.ns AND r.address = g.address AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app
            ORDER BY r.occurred_at, r.place, r.id LIMIT 1), g.oldest) END,
        newest = CASE WHEN o.newest < g.newest THEN g.newest ELSE coalesce((
            SELECT r.occurred_at FROM records r
            WHERE r.ns = g.ns AND r.address = g.address AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app
            ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC LIMIT 1), g.newest) END,
        edited_at = CASE WHEN o.edited_at IS NULL OR o.edited_at < g.edited_at THEN g.edited_at ELSE (
            SELECT max(memory_record_edited_at(r.metadata)) FROM records r
            WHERE r.ns = g.ns AND r.address = g.address AND r.kind = g.kind AND r.state = g.state
                AND memory_record_app(r.metadata) IS NOT DISTINCT FROM g.app) END
    FROM (
        SELECT r.ns, r.address, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
               min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
               max(memory_record_edited_at(r.metadata)) AS edited_at
        FROM removed r GROUP BY 1, 2, 3, 4, 5
    ) o
    WHERE g.ns = o.ns AND g.address = o.address AND g.kind = o.kind AND g.state = o.state
        AND g.app IS NOT DISTINCT FROM o.app;
    DELETE FROM record_groups g USING (SELECT DISTINCT r.ns, r.address FROM removed r) o
    WHERE g.ns = o.ns AND g.address = o.address AND g.records < 1;
    RETURN NULL;
END $$;

-- Adds the records in the transition table `added`.
CREATE FUNCTION memory_add_to_groups() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    WITH n AS (
        SELECT r.ns, r.address, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
               min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
               max(memory_record_edited_at(r.metadata)) AS edited_at
        FROM added r GROUP BY 1, 2, 3, 4, 5
    ), grown AS (
        UPDATE record_groups g SET records = g.records + n.records, oldest = least(g.oldest, n.oldest),
            newest = greatest(g.newest, n.newest), edited_at = greatest(g.edited_at, n.edited_at)
        FROM n
        WHERE g.ns = n.ns AND g.address = n.address AND g.kind = n.kind AND g.state = n.state
            AND g.app IS NOT DISTINCT FROM n.app
        RETURNING g.ns, g.address, g.kind, g.state, g.app
    )
    INSERT INTO record_groups (ns, address, kind, state, app, records, oldest, newest, edited_at)
    SELECT n.ns, n.address, n.kind, n.state, n.app, n.records, n.oldest, n.newest, n.edited_at FROM n
    WHERE NOT EXISTS (
        SELECT FROM grown g
        WHERE g.ns = n.ns AND g.address = n.address AND g.kind = n.kind AND g.state = n.state
            AND g.app IS NOT DISTINCT FROM n.app
    );
    RETURN NULL;
END $$;

-- Triggers of one event run in the order of their names: an update subtracts first.
CREATE TRIGGER record_groups_1_delete AFTER DELETE ON records
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION memory_subtract_from_groups();
CREATE TRIGGER record_groups_1_update AFTER UPDATE ON records
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION memory_subtract_from_groups();
CREATE TRIGGER record_groups_2_insert AFTER INSERT ON records
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION memory_add_to_groups();
CREATE TRIGGER record_groups_2_update AFTER UPDATE ON records
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION memory_add_to_groups();
