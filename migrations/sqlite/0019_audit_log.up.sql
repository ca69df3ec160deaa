-- The audit log. Each tenant has a chain of entries, in which each hash covers the one before it. No entry has text of a
-- record: only ids, the names of the scope, and the names of the key and the program.

-- The latest entry of a tenant, and the latest one that was pruned.
CREATE TABLE audit_chains (
    tenant          TEXT PRIMARY KEY,
    sequence        INTEGER NOT NULL,
    hash            BLOB NOT NULL,
    pruned_sequence INTEGER NOT NULL,
    pruned_hash     BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_log (
    tenant        TEXT NOT NULL,
    sequence      INTEGER NOT NULL,
    written_at    INTEGER NOT NULL, -- microseconds since 1970
    actor_key     TEXT,
    actor_agent   TEXT,
    action        TEXT NOT NULL,
    operation     TEXT NOT NULL,
    user          TEXT NOT NULL, -- the scope; empty for a dimension that is not set
    agent         TEXT NOT NULL,
    session       TEXT NOT NULL,
    branch        TEXT NOT NULL,
    records       BLOB NOT NULL, -- ids of 16 bytes
    record_count  INTEGER NOT NULL,
    failed_entry  INTEGER, -- the entry whose action failed, and the kind of the error
    error         TEXT,
    previous_hash BLOB NOT NULL,
    hash          BLOB NOT NULL,
    PRIMARY KEY (tenant, sequence)
) STRICT;
CREATE INDEX audit_log_by_user ON audit_log (tenant, user, sequence);
