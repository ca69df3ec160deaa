-- The audit log. Each tenant has a chain of entries, in which each hash covers the one before it. No entry has text of a
-- record: only ids, the names of the scope, and the names of the key and the program.

-- The latest entry of a tenant, and the latest one that was pruned. An append locks the row.
CREATE TABLE audit_chains (
    tenant          text COLLATE "C" PRIMARY KEY,
    sequence        bigint NOT NULL,
    hash            bytea NOT NULL,
    pruned_sequence bigint NOT NULL,
    pruned_hash     bytea NOT NULL
);

CREATE TABLE audit_log (
    tenant        text COLLATE "C" NOT NULL,
    sequence      bigint NOT NULL,
    written_at    bigint NOT NULL, -- microseconds since 1970
    actor_key     text,
    actor_agent   text,
    action        text NOT NULL,
    operation     text NOT NULL,
    username      text COLLATE "C" NOT NULL, -- the scope; empty for a dimension that is not set
    agent         text NOT NULL,
    session       text NOT NULL,
    branch        text NOT NULL,
    records       uuid[] NOT NULL,
    record_count  bigint NOT NULL,
    failed_entry  bigint, -- the entry whose action failed, and the kind of the error
    error         text,
    previous_hash bytea NOT NULL,
    hash          bytea NOT NULL,
    PRIMARY KEY (tenant, sequence)
);
CREATE INDEX audit_log_by_user ON audit_log (tenant, username, sequence);
