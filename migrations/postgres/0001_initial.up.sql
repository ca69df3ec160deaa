-- Every table of memory-engine.
--
-- `ns` is a namespace: tenant and user, as a UUID that is computed from their names. It leads every key, so that one user
-- lies on one partition or one server, and no statement ever has to look at two. Ids are made by the client; nothing
-- counts up. Where the store is asked for partitions, each mark "by namespace" below becomes PARTITION BY HASH (ns).
--
-- Texts compare byte by byte (COLLATE "C"), times are microseconds since 1970.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'pg_trgm is not to be had here: fuzzy search stays off';
END $$;

-- Tenant and user: ids and tombstones are unique within it. '' is the user that is not set. Whoever writes for a user
-- locks this row first, so that the writes of one user come one after the other.
CREATE TABLE namespaces (
    ns       uuid NOT NULL PRIMARY KEY,
    tenant   text COLLATE "C" NOT NULL,
    username text COLLATE "C" NOT NULL
) /* by namespace */;
CREATE INDEX namespaces_by_tenant ON namespaces (tenant, username);

-- A full address, '' for what is not set, with the statistics of the records at it.
CREATE TABLE addresses (
    ns        uuid NOT NULL REFERENCES namespaces,
    address   uuid NOT NULL,
    agent     text COLLATE "C" NOT NULL,
    session   text COLLATE "C" NOT NULL,
    branch    text COLLATE "C" NOT NULL,
    documents bigint NOT NULL DEFAULT 0,
    terms     bigint NOT NULL DEFAULT 0,
    vectors   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (ns, address)
) /* by namespace */;

-- The truth.
CREATE TABLE records (
    ns           uuid NOT NULL,
    id           uuid NOT NULL,
    address      uuid NOT NULL,
    revision     bigint NOT NULL,
    state        text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    trust        text COLLATE "C" NOT NULL,
    occurred_at  bigint NOT NULL,
    recorded_at  bigint NOT NULL,
    valid_from   bigint,
    valid_until  bigint,
    role         text COLLATE "C",
    speaker      text COLLATE "C",
    scene        text COLLATE "C",
    topic        text COLLATE "C",
    emotion      text COLLATE "C",
    confidence   double precision NOT NULL,
    importance   double precision NOT NULL,
    message_id   text COLLATE "C",
    sequence     bigint,
    round        bigint,
    entities     text[] COLLATE "C" NOT NULL,
    tags         text[] COLLATE "C" NOT NULL,
    derived_from uuid[] NOT NULL,
    -- Not jsonb: numbers and the order of keys come back as they were written.
    metadata     json NOT NULL,
    text         text COLLATE "C" NOT NULL,
    -- The text as it is compared (width, case, traditional characters folded), unless that is the text itself.
    folded       text COLLATE "C",
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    -- The second part of a record's position; the first is occurred_at, the third the id.
    place        bigint NOT NULL GENERATED ALWAYS AS (coalesce(sequence, 0)) STORED,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, address) REFERENCES addresses
) /* by namespace */;
CREATE INDEX records_by_time ON records (ns, occurred_at, place, id);
CREATE INDEX records_by_address ON records (ns, address, occurred_at, place, id);

-- Finds misspelled words. Under a locale that knows ASCII letters only it would find no Chinese: then it is never asked.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE INDEX records_by_trigram ON records USING gin (coalesce(folded, text) gin_trgm_ops)
            WHERE state = 'active';
    END IF;
END $$;

CREATE TABLE tombstones (
    ns           uuid NOT NULL,
    id           uuid NOT NULL,
    address      uuid NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    deleted_at   bigint NOT NULL,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, address) REFERENCES addresses
) /* by namespace */;

-- The content that tombstones bar. A tombstone that is replaced does not lift what it barred.
CREATE TABLE barred_contents (
    ns           uuid NOT NULL REFERENCES namespaces,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    PRIMARY KEY (ns, content_hash)
) /* by namespace */;

-- What is still to be done for which record, the oldest ticket (a UUID of version 7) first.
CREATE TABLE backlog (
    ns           uuid NOT NULL,
    job          text COLLATE "C" NOT NULL,
    id           uuid NOT NULL,
    ticket       uuid NOT NULL,
    leased_until bigint NOT NULL,
    PRIMARY KEY (ns, job, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX backlog_by_ticket ON backlog (job, ticket, ns, id);

-- What the derived tables below were made with: the analyzer's fingerprint and the embedding space.
CREATE TABLE origins (
    part    text COLLATE "C" PRIMARY KEY,
    made_by text NOT NULL
);

-- The terms of each active record: sorted, with one blank between them, and how often each occurs (LEB128). `lexemes` finds
-- the candidates among them: each is a term and the mark of its owner, so that a search walks one user's postings only.
CREATE TABLE keyword_documents (
    ns      uuid NOT NULL,
    id      uuid NOT NULL,
    address uuid NOT NULL,
    length  bigint NOT NULL,
    terms   bytea NOT NULL,
    counts  bytea NOT NULL,
    lexemes tsvector NOT NULL,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
-- No list of what is still to be sorted in: every search would have to walk through what all users have just written.
CREATE INDEX keyword_documents_by_lexeme ON keyword_documents USING gin (lexemes) WITH (fastupdate = off);

-- The vector of each active record. The index for near ones is made when the store is opened: it needs the dimensions.
CREATE TABLE vectors (
    ns        uuid NOT NULL,
    id        uuid NOT NULL,
    address   uuid NOT NULL,
    embedding vector NOT NULL,
    PRIMARY KEY (ns, id),
    FOREIGN KEY (ns, id) REFERENCES records ON DELETE CASCADE
) /* by namespace */;
CREATE INDEX vectors_by_address ON vectors (ns, address);
