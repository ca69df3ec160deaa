-- The checks of a Postgres database, in the order of their repairs. `sql/src/checks.rs` describes the format.
-- `checkup/contents.rs` has further checks, of values that SQL cannot read.

-- check: scope-orphan
SELECT a.scope::text AS example FROM scopes a
WHERE NOT EXISTS (SELECT FROM namespaces n WHERE n.namespace = a.namespace);

-- check: record-scope-missing
SELECT r.id::text AS example FROM records r
WHERE NOT EXISTS (SELECT FROM scopes a WHERE a.namespace = r.namespace AND a.scope = r.scope);

-- check: record-state-unknown
SELECT r.id::text AS example FROM records r WHERE r.state NOT IN ({states});

-- check: record-trust-unknown
SELECT r.id::text AS example FROM records r WHERE r.trust NOT IN ({trusts});

-- check: record-kind-empty
SELECT r.id::text AS example FROM records r WHERE btrim(r.kind) = '';

-- check: record-text-empty
SELECT r.id::text AS example FROM records r WHERE btrim(r.text) = '';

-- check: record-list-unreadable
SELECT r.id::text AS example FROM records r
WHERE array_position(r.entities, NULL) IS NOT NULL OR array_position(r.tags, NULL) IS NOT NULL
   OR array_position(r.derived_from, NULL) IS NOT NULL;

-- check: record-metadata-unreadable
SELECT r.id::text AS example FROM records r WHERE json_typeof(r.metadata) <> 'object';

-- check: record-share-invalid
SELECT r.id::text AS example FROM records r
WHERE r.confidence NOT BETWEEN 0 AND 1 OR r.importance NOT BETWEEN 0 AND 1;
-- repair: record-share-invalid
UPDATE records SET confidence = least(greatest(confidence, 0), 1), importance = least(greatest(importance, 0), 1)
WHERE confidence NOT BETWEEN 0 AND 1 OR importance NOT BETWEEN 0 AND 1;

-- check: record-validity-reversed
SELECT r.id::text AS example FROM records r WHERE r.valid_until < r.valid_from;

-- check: record-revision-invalid
SELECT r.id::text AS example FROM records r WHERE r.revision < 1;
-- repair: record-revision-invalid
UPDATE records SET revision = 1 WHERE revision < 1;

-- check: record-round-invalid
SELECT r.id::text AS example FROM records r WHERE r.round NOT BETWEEN 0 AND 4294967295;

-- check: record-deleted
SELECT r.id::text AS example FROM records r JOIN tombstones b ON b.namespace = r.namespace AND b.id = r.id;

-- check: tombstone-scope-missing
SELECT b.id::text AS example FROM tombstones b
WHERE NOT EXISTS (SELECT FROM scopes a WHERE a.namespace = b.namespace AND a.scope = b.scope);

-- check: tombstone-unblocked
SELECT b.id::text AS example FROM tombstones b
WHERE NOT EXISTS (SELECT FROM blocked_contents c WHERE c.namespace = b.namespace AND c.content_hash = b.content_hash);
-- repair: tombstone-unblocked
INSERT INTO blocked_contents (namespace, content_hash, cascade_deleted)
SELECT b.namespace, b.content_hash, bool_and(b.cascade_deleted) FROM tombstones b GROUP BY b.namespace, b.content_hash
ON CONFLICT (namespace, content_hash) DO NOTHING;

-- check: tombstone-weak
SELECT b.id::text AS example
FROM tombstones b JOIN blocked_contents c ON c.namespace = b.namespace AND c.content_hash = b.content_hash
WHERE c.cascade_deleted AND NOT b.cascade_deleted;
-- repair: tombstone-weak
UPDATE blocked_contents c SET cascade_deleted = false FROM tombstones b
WHERE b.namespace = c.namespace AND b.content_hash = c.content_hash AND c.cascade_deleted AND NOT b.cascade_deleted;

-- check: block-orphan
SELECT c.namespace::text AS example FROM blocked_contents c
WHERE NOT EXISTS (SELECT FROM namespaces n WHERE n.namespace = c.namespace);

-- check: queue-orphan
SELECT b.id::text AS example FROM jobs b
WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = b.namespace AND r.id = b.id);
-- repair: queue-orphan
DELETE FROM jobs b WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = b.namespace AND r.id = b.id);

-- check: queue-job-unknown
SELECT b.id::text AS example FROM jobs b WHERE b.job NOT IN ({jobs});
-- repair: queue-job-unknown
DELETE FROM jobs WHERE job NOT IN ({jobs});

-- check: queue-version-missing
SELECT b.id::text AS example FROM jobs b
WHERE b.job = 'reembedding' AND NOT EXISTS (SELECT FROM index_metadata o WHERE o.part = 'reembedding');
-- repair: queue-version-missing
DELETE FROM jobs WHERE job = 'reembedding' AND NOT EXISTS (SELECT FROM index_metadata o WHERE o.part = 'reembedding');

-- check: queue-owner-unknown
SELECT b.id::text AS example FROM jobs b
WHERE b.leased_until NOT IN ({free}, {dead}) AND b.owner IS NOT NULL
  AND NOT EXISTS (SELECT FROM lease_owners o WHERE o.owner = b.owner);
-- repair: queue-owner-unknown
UPDATE jobs b SET leased_until = {free}, owner = NULL
WHERE b.leased_until NOT IN ({free}, {dead}) AND b.owner IS NOT NULL
  AND NOT EXISTS (SELECT FROM lease_owners o WHERE o.owner = b.owner);

-- check: queue-lease-too-long
SELECT b.id::text AS example FROM jobs b
WHERE b.leased_until NOT IN ({free}, {dead}) AND b.leased_until::numeric - b.leased_at::numeric > {max_lease};
-- repair: queue-lease-too-long
UPDATE jobs SET leased_until = {free}, owner = NULL
WHERE leased_until NOT IN ({free}, {dead}) AND leased_until::numeric - leased_at::numeric > {max_lease};

-- check: queue-attempts-invalid
SELECT b.id::text AS example FROM jobs b WHERE b.attempts NOT BETWEEN 0 AND 4294967295;
-- repair: queue-attempts-invalid
UPDATE jobs SET attempts = 0 WHERE attempts NOT BETWEEN 0 AND 4294967295;

-- check: queue-reason-missing
SELECT b.id::text AS example FROM jobs b WHERE b.leased_until = {dead} AND b.reason IS NULL;
-- repair: queue-reason-missing
UPDATE jobs SET leased_until = {free}, attempts = 0, owner = NULL WHERE leased_until = {dead} AND reason IS NULL;

-- check: keyword-orphan
SELECT k.id::text AS example FROM keyword_documents k
WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = k.namespace AND r.id = k.id);
-- repair: keyword-orphan
DELETE FROM keyword_documents k WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = k.namespace
AND r.id = k.id);

-- check: keyword-inactive
SELECT r.id::text AS example FROM keyword_documents k JOIN records r ON r.namespace = k.namespace AND r.id = k.id
WHERE NOT {indexed};
-- repair: keyword-inactive
DELETE FROM keyword_documents k USING records r WHERE r.namespace = k.namespace AND r.id = k.id AND NOT {indexed};

-- check: keyword-scope-mismatch
SELECT r.id::text AS example FROM keyword_documents k JOIN records r ON r.namespace = k.namespace AND r.id = k.id
WHERE k.scope <> r.scope;
-- repair: keyword-scope-mismatch
UPDATE keyword_documents k SET scope = r.scope FROM records r
WHERE r.namespace = k.namespace AND r.id = k.id AND k.scope <> r.scope;

-- check: keyword-missing
SELECT r.id::text AS example FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT FROM keyword_documents k WHERE k.namespace = r.namespace AND k.id = r.id)
  AND NOT EXISTS (SELECT FROM jobs b WHERE b.namespace = r.namespace AND b.id = r.id AND b.job = 'keywords');
-- repair: keyword-missing
INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
SELECT r.namespace, 'keywords', r.id, '{ticket}'::uuid, {free}, {now} FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT FROM keyword_documents k WHERE k.namespace = r.namespace AND k.id = r.id)
ON CONFLICT (namespace, job, id) DO NOTHING;

-- check: vector-orphan
SELECT v.id::text AS example
FROM (SELECT namespace, id FROM vectors UNION ALL SELECT namespace, id FROM secondary_vectors) v
WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = v.namespace AND r.id = v.id);
-- repair: vector-orphan
DELETE FROM vectors v WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = v.namespace AND r.id = v.id);
DELETE FROM secondary_vectors v WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = v.namespace
AND r.id = v.id);

-- check: vector-inactive
SELECT r.id::text AS example
FROM (SELECT namespace, id FROM vectors UNION ALL SELECT namespace, id FROM secondary_vectors) v
     JOIN records r ON r.namespace = v.namespace AND r.id = v.id
WHERE NOT {indexed};
-- repair: vector-inactive
DELETE FROM vectors v USING records r WHERE r.namespace = v.namespace AND r.id = v.id AND NOT {indexed};
DELETE FROM secondary_vectors v USING records r WHERE r.namespace = v.namespace AND r.id = v.id AND NOT {indexed};

-- check: second-vectors-unused
SELECT v.id::text AS example FROM {other} v
WHERE NOT EXISTS (SELECT FROM index_metadata o WHERE o.part = 'reembedding');
-- repair: second-vectors-unused
DELETE FROM {other} WHERE NOT EXISTS (SELECT FROM index_metadata o WHERE o.part = 'reembedding');

-- check: vector-dimensions-wrong
SELECT v.id::text AS example FROM {serving} v WHERE vector_dims(v.embedding) <> {serving_dimensions}
UNION ALL
SELECT v.id::text FROM {other} v WHERE vector_dims(v.embedding) <> {other_dimensions};
-- repair: vector-dimensions-wrong
DELETE FROM {serving} WHERE vector_dims(embedding) <> {serving_dimensions};
INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
SELECT v.namespace, 'reembedding', v.id, '{ticket}'::uuid, {free}, {now} FROM {other} v
WHERE vector_dims(v.embedding) <> {other_dimensions}
ON CONFLICT (namespace, job, id) DO NOTHING;
DELETE FROM {other} WHERE vector_dims(embedding) <> {other_dimensions};

-- check: vector-unreadable
SELECT v.id::text AS example FROM {serving} v WHERE vector_norm(v.embedding) = 0
UNION ALL
SELECT v.id::text FROM {other} v WHERE vector_norm(v.embedding) = 0;
-- repair: vector-unreadable
DELETE FROM {serving} WHERE vector_norm(embedding) = 0;
INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
SELECT v.namespace, 'reembedding', v.id, '{ticket}'::uuid, {free}, {now} FROM {other} v
WHERE vector_norm(v.embedding) = 0
ON CONFLICT (namespace, job, id) DO NOTHING;
DELETE FROM {other} WHERE vector_norm(embedding) = 0;

-- check: vector-scope-mismatch
SELECT r.id::text AS example
FROM (SELECT namespace, id, scope FROM vectors UNION ALL SELECT namespace, id, scope FROM secondary_vectors) v
     JOIN records r ON r.namespace = v.namespace AND r.id = v.id
WHERE v.scope <> r.scope;
-- repair: vector-scope-mismatch
UPDATE vectors v SET scope = r.scope FROM records r
WHERE r.namespace = v.namespace AND r.id = v.id AND v.scope <> r.scope;
UPDATE secondary_vectors v SET scope = r.scope FROM records r
WHERE r.namespace = v.namespace AND r.id = v.id AND v.scope <> r.scope;

-- check: vector-missing
SELECT r.id::text AS example FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT FROM {serving} v WHERE v.namespace = r.namespace AND v.id = r.id)
  AND NOT EXISTS (SELECT FROM jobs b WHERE b.namespace = r.namespace AND b.id = r.id AND b.job = 'embedding');
-- repair: vector-missing
INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
SELECT r.namespace, 'embedding', r.id, '{ticket}'::uuid, {free}, {now} FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT FROM {serving} v WHERE v.namespace = r.namespace AND v.id = r.id)
ON CONFLICT (namespace, job, id) DO NOTHING;

-- check: keyword-count-wrong
SELECT a.scope::text AS example
FROM scopes a LEFT JOIN (SELECT namespace, scope, count(*) AS entries FROM keyword_documents
GROUP BY namespace, scope) k
     ON k.namespace = a.namespace AND k.scope = a.scope
WHERE a.documents <> coalesce(k.entries, 0);
-- repair: keyword-count-wrong
UPDATE scopes a SET documents = c.entries
FROM (
    SELECT b.namespace, b.scope, count(k.id) AS entries
    FROM scopes b LEFT JOIN keyword_documents k ON k.namespace = b.namespace AND k.scope = b.scope
    GROUP BY b.namespace, b.scope
) c
WHERE c.namespace = a.namespace AND c.scope = a.scope AND a.documents <> c.entries;

-- check: vector-count-wrong
SELECT a.scope::text AS example
FROM scopes a
     LEFT JOIN (SELECT namespace, scope, count(*) AS entries FROM vectors GROUP BY namespace, scope) v
     ON v.namespace = a.namespace AND v.scope = a.scope
     LEFT JOIN (SELECT namespace, scope, count(*) AS entries FROM secondary_vectors GROUP BY namespace, scope) w
     ON w.namespace = a.namespace AND w.scope = a.scope
WHERE a.vectors <> coalesce(v.entries, 0) OR a.secondary_vectors <> coalesce(w.entries, 0);
-- repair: vector-count-wrong
UPDATE scopes a SET vectors = c.entries
FROM (
    SELECT b.namespace, b.scope, count(v.id) AS entries
    FROM scopes b LEFT JOIN vectors v ON v.namespace = b.namespace AND v.scope = b.scope GROUP BY b.namespace, b.scope
) c
WHERE c.namespace = a.namespace AND c.scope = a.scope AND a.vectors <> c.entries;
UPDATE scopes a SET secondary_vectors = c.entries
FROM (
    SELECT b.namespace, b.scope, count(v.id) AS entries
    FROM scopes b LEFT JOIN secondary_vectors v ON v.namespace = b.namespace AND v.scope = b.scope
    GROUP BY b.namespace, b.scope
) c
WHERE c.namespace = a.namespace AND c.scope = a.scope AND a.secondary_vectors <> c.entries;

-- check: graph-orphan
SELECT g.id::text AS example
FROM (SELECT namespace, id FROM graph_entities UNION ALL SELECT namespace, id FROM graph_aliases
      UNION ALL SELECT namespace, id FROM graph_edges) g
WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = g.namespace AND r.id = g.id);
-- repair: graph-orphan
DELETE FROM graph_entities g WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = g.namespace AND r.id = g.id);
DELETE FROM graph_aliases g WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = g.namespace AND r.id = g.id);
DELETE FROM graph_edges g WHERE NOT EXISTS (SELECT FROM records r WHERE r.namespace = g.namespace AND r.id = g.id);

-- check: graph-inactive
SELECT r.id::text AS example
FROM (SELECT namespace, id FROM graph_entities UNION ALL SELECT namespace, id FROM graph_aliases
      UNION ALL SELECT namespace, id FROM graph_edges) g JOIN records r ON r.namespace = g.namespace AND r.id = g.id
WHERE NOT {indexed};
-- repair: graph-inactive
DELETE FROM graph_entities g USING records r WHERE r.namespace = g.namespace AND r.id = g.id AND NOT {indexed};
DELETE FROM graph_aliases g USING records r WHERE r.namespace = g.namespace AND r.id = g.id AND NOT {indexed};
DELETE FROM graph_edges g USING records r WHERE r.namespace = g.namespace AND r.id = g.id AND NOT {indexed};

-- check: graph-scope-mismatch
SELECT r.id::text AS example
FROM (SELECT namespace, id, scope FROM graph_entities UNION ALL SELECT namespace, id, scope FROM graph_aliases
      UNION ALL SELECT namespace, id, scope FROM graph_edges) g
      JOIN records r ON r.namespace = g.namespace AND r.id = g.id
WHERE g.scope <> r.scope;
-- repair: graph-scope-mismatch
UPDATE graph_entities g SET scope = r.scope FROM records r
WHERE r.namespace = g.namespace AND r.id = g.id AND g.scope <> r.scope;
UPDATE graph_aliases g SET scope = r.scope FROM records r
WHERE r.namespace = g.namespace AND r.id = g.id AND g.scope <> r.scope;
UPDATE graph_edges g SET scope = r.scope FROM records r
WHERE r.namespace = g.namespace AND r.id = g.id AND g.scope <> r.scope;

-- check: graph-alias-dangling
SELECT r.id::text AS example FROM graph_aliases a JOIN records r ON r.namespace = a.namespace AND r.id = a.id
WHERE NOT EXISTS (SELECT FROM graph_entities e WHERE e.namespace = a.namespace AND e.id = a.id AND e.entity = a.entity);
-- repair: graph-alias-dangling
DELETE FROM graph_aliases a
WHERE NOT EXISTS (SELECT FROM graph_entities e WHERE e.namespace = a.namespace AND e.id = a.id AND e.entity = a.entity);

-- check: graph-rule-invalid
SELECT e.id::text AS example FROM graph_edges e WHERE e.rule !~ '^[a-z0-9._-]+$';
-- repair: graph-rule-invalid
UPDATE graph_edges SET rule = NULL WHERE rule !~ '^[a-z0-9._-]+$';

-- check: synonym-orphan
SELECT g.namespace::text AS example
FROM (SELECT namespace FROM synonym_groups UNION ALL SELECT namespace FROM synonym_verdicts) g
WHERE NOT EXISTS (SELECT FROM namespaces n WHERE n.namespace = g.namespace);

-- check: index-unrecorded
SELECT p.part AS example
FROM (SELECT 'keywords' AS part, EXISTS (SELECT FROM keyword_documents) AS is_used
      UNION ALL SELECT 'embedding', EXISTS (SELECT FROM {serving})) p
WHERE p.is_used AND NOT EXISTS (SELECT FROM index_metadata o WHERE o.part = p.part);

-- check: serving-table-unknown
SELECT o.part AS example FROM index_metadata o
WHERE o.part = 'serving table' AND o.made_by NOT IN ('vectors', 'secondary_vectors');
-- repair: serving-table-unknown
DELETE FROM index_metadata WHERE part = 'serving table' AND made_by NOT IN ('vectors', 'secondary_vectors');

-- check: record-groups-wrong
WITH counted AS (
    SELECT r.namespace, r.scope, r.kind, r.state, memory_record_app(r.metadata) AS app, count(*) AS records,
        min(r.occurred_at) AS oldest, max(r.occurred_at) AS newest,
        max(memory_record_edited_at(r.metadata)) AS edited_at
    FROM records r GROUP BY 1, 2, 3, 4, 5
), stored AS (
    SELECT namespace, scope, kind, state, app, records, oldest, newest, edited_at FROM record_groups
), differences AS (
    (SELECT * FROM counted EXCEPT ALL SELECT * FROM stored)
    UNION ALL (SELECT * FROM stored EXCEPT ALL SELECT * FROM counted)
)
SELECT d.scope::text AS example FROM (SELECT DISTINCT namespace, scope, kind, state, app FROM differences) d;
-- repair: record-groups-wrong
LOCK TABLE records IN SHARE ROW EXCLUSIVE MODE;
DELETE FROM record_groups;
INSERT INTO record_groups (namespace, scope, kind, state, app, records, oldest, newest, edited_at)
SELECT r.namespace, r.scope, r.kind, r.state, memory_record_app(r.metadata), count(*), min(r.occurred_at),
    max(r.occurred_at), max(memory_record_edited_at(r.metadata))
FROM records r GROUP BY 1, 2, 3, 4, 5;
