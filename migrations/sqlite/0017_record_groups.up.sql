-- The number of records of each kind, state and application at each address, with their times, so that lists of users,
-- agents and sessions need not read the records. Triggers keep the rows; a row without records is removed.

-- Two values of the metadata. The test of the text comes first, because most metadata have neither.
ALTER TABLE records ADD COLUMN app TEXT GENERATED ALWAYS AS (
    CASE WHEN instr(metadata, '"mem0.app"') > 0 THEN
        CASE json_type(metadata, '$."mem0.app"') WHEN 'text' THEN nullif(metadata ->> '$."mem0.app"', '') END
    END
) VIRTUAL;
ALTER TABLE records ADD COLUMN edited_at INTEGER GENERATED ALWAYS AS (
    CASE WHEN instr(metadata, '"mem0.updated"') > 0 THEN
        CASE json_type(metadata, '$."mem0.updated"') WHEN 'integer' THEN
            CASE WHEN metadata ->> '$."mem0.updated"' BETWEEN -999999999999999999 AND 999999999999999999
                THEN metadata ->> '$."mem0.updated"' END
        END
    END
) VIRTUAL;

-- `app` is text of the records and therefore in no index: deleted index entries may leave bytes in the file.
CREATE TABLE record_groups (
    record_group INTEGER PRIMARY KEY,
    scope        INTEGER NOT NULL REFERENCES scopes,
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,
    app          TEXT,
    records      INTEGER NOT NULL,
    oldest       INTEGER NOT NULL,
    newest       INTEGER NOT NULL,
    edited_at    INTEGER,
    -- 1 if the oldest or newest record was removed, 2 if the one with the latest edit was. The store reads the times
    -- again at the end of its transaction, since a trigger would do so for each of many removed records.
    stale        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX record_groups_by_scope ON record_groups (scope);
CREATE INDEX record_groups_stale ON record_groups (record_group) WHERE stale > 0;

INSERT INTO record_groups (scope, kind, state, app, records, oldest, newest, edited_at)
    SELECT scope, kind, state, app, count(*), min(occurred_at), max(occurred_at), max(edited_at)
    FROM records GROUP BY scope, kind, state, app;

CREATE TRIGGER record_groups_after_insert AFTER INSERT ON records BEGIN
    INSERT INTO record_groups (scope, kind, state, app, records, oldest, newest)
        SELECT new.scope, new.kind, new.state, new.app, 0, new.occurred_at, new.occurred_at
        WHERE NOT EXISTS (
            SELECT 1 FROM record_groups
            WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app
        );
    UPDATE record_groups SET records = records + 1, oldest = min(oldest, new.occurred_at),
            newest = max(newest, new.occurred_at),
            edited_at = max(coalesce(edited_at, new.edited_at), coalesce(new.edited_at, edited_at))
        WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app;
END;

CREATE TRIGGER record_groups_after_delete AFTER DELETE ON records BEGIN
    UPDATE record_groups SET records = records - 1,
            stale = max(stale, CASE WHEN old.edited_at >= edited_at THEN 2
                                    WHEN old.occurred_at <= oldest OR old.occurred_at >= newest THEN 1 ELSE 0 END)
        WHERE scope = old.scope AND kind = old.kind AND state = old.state AND app IS old.app;
    DELETE FROM record_groups WHERE scope = old.scope AND records < 1;
END;

CREATE TRIGGER record_groups_after_update AFTER UPDATE ON records
    WHEN (old.scope, old.kind, old.state, old.app, old.occurred_at, old.edited_at)
        IS NOT (new.scope, new.kind, new.state, new.app, new.occurred_at, new.edited_at)
BEGIN
    INSERT INTO record_groups (scope, kind, state, app, records, oldest, newest)
        SELECT new.scope, new.kind, new.state, new.app, 0, new.occurred_at, new.occurred_at
        WHERE NOT EXISTS (
            SELECT 1 FROM record_groups
            WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app
        );
    UPDATE record_groups SET records = records + 1, oldest = min(oldest, new.occurred_at),
            newest = max(newest, new.occurred_at),
            edited_at = max(coalesce(edited_at, new.edited_at), coalesce(new.edited_at, edited_at))
        WHERE scope = new.scope AND kind = new.kind AND state = new.state AND app IS new.app;
    UPDATE record_groups SET records = records - 1,
            stale = max(stale, CASE WHEN old.edited_at >= edited_at THEN 2
                                    WHEN old.occurred_at <= oldest OR old.occurred_at >= newest THEN 1 ELSE 0 END)
        WHERE scope = old.scope AND kind = old.kind AND state = old.state AND app IS old.app;
    DELETE FROM record_groups WHERE scope = old.scope AND records < 1;
END;
