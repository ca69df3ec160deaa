-- The columns `app` and `edited_at` are NULL for metadata that are not JSON. Before, such a record could not be changed
-- or deleted: the triggers failed with "malformed JSON".
DROP TRIGGER record_groups_after_update;
DROP TRIGGER record_groups_after_delete;
DROP TRIGGER record_groups_after_insert;
ALTER TABLE records DROP COLUMN edited_at;
ALTER TABLE records DROP COLUMN app;

ALTER TABLE records ADD COLUMN app TEXT GENERATED ALWAYS AS (
    CASE WHEN instr(metadata, '"mem0.app"') > 0 AND json_valid(metadata) THEN
        CASE json_type(metadata, '$."mem0.app"') WHEN 'text' THEN nullif(metadata ->> '$."mem0.app"', '') END
    END
) VIRTUAL;
ALTER TABLE records ADD COLUMN edited_at INTEGER GENERATED ALWAYS AS (
    CASE WHEN instr(metadata, '"mem0.updated"') > 0 AND json_valid(metadata) THEN
        CASE json_type(metadata, '$."mem0.updated"') WHEN 'integer' THEN
            CASE WHEN metadata ->> '$."mem0.updated"' BETWEEN -999999999999999999 AND 999999999999999999
                THEN metadata ->> '$."mem0.updated"' END
        END
    END
) VIRTUAL;

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
