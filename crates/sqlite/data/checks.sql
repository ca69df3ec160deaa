-- The checks of a SQLite database, in the order of their repairs. `sql/src/checks.rs` describes the format. The
-- functions `record_id`, `is_text`, `is_scope`, `is_strings`, `is_ids`, `is_object`, `is_terms`, `terms_length`,
-- `is_vector`, `is_tokens` and `is_pair` are defined in `health_check/functions.rs`.

-- check: namespace-orphan
SELECT 'user number ' || n.namespace AS example FROM namespaces n
WHERE NOT EXISTS (SELECT 1 FROM tenants t WHERE t.tenant = n.tenant);

-- check: scope-orphan
SELECT 'scope number ' || s.scope AS example FROM scopes s
WHERE NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.namespace = s.namespace);

-- check: scope-name-invalid
SELECT 'scope number ' || s.scope AS example
FROM scopes s JOIN namespaces n ON n.namespace = s.namespace JOIN tenants t ON t.tenant = n.tenant
WHERE NOT is_scope(t.name, n.user, s.agent, s.session, s.branch);

-- check: record-scope-missing
SELECT record_id(r.id) AS example FROM records r
WHERE NOT EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope)
   OR NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.namespace = r.namespace);

-- check: record-namespace-mismatch
SELECT record_id(r.id) AS example FROM records r JOIN scopes s ON s.scope = r.scope
WHERE s.namespace <> r.namespace AND EXISTS (SELECT 1 FROM namespaces n WHERE n.namespace = r.namespace);

-- check: record-state-unknown
SELECT record_id(r.id) AS example FROM records r WHERE r.state NOT IN ({states});

-- check: record-trust-unknown
SELECT record_id(r.id) AS example FROM records r WHERE r.trust NOT IN ({trusts});

-- check: record-kind-empty
SELECT record_id(r.id) AS example FROM records r WHERE trim(r.kind) = '';

-- check: record-text-empty
SELECT record_id(r.id) AS example FROM records r WHERE trim(r.text) = '';

-- check: record-text-unreadable
SELECT record_id(r.id) AS example FROM records r WHERE NOT is_text(r.text);

-- check: record-list-unreadable
SELECT record_id(r.id) AS example FROM records r
WHERE NOT is_strings(r.entities) OR NOT is_strings(r.tags) OR NOT is_ids(r.derived_from);

-- check: record-metadata-unreadable
SELECT record_id(r.id) AS example FROM records r WHERE NOT is_object(r.metadata);

-- check: record-share-invalid
SELECT record_id(r.id) AS example FROM records r
WHERE r.confidence NOT BETWEEN 0 AND 1 OR r.importance NOT BETWEEN 0 AND 1;
-- repair: record-share-invalid
UPDATE records SET confidence = min(max(confidence, 0.0), 1.0), importance = min(max(importance, 0.0), 1.0)
WHERE confidence NOT BETWEEN 0 AND 1 OR importance NOT BETWEEN 0 AND 1;

-- check: record-validity-reversed
SELECT record_id(r.id) AS example FROM records r WHERE r.valid_until < r.valid_from;

-- check: record-revision-invalid
SELECT record_id(r.id) AS example FROM records r WHERE r.revision < 1;
-- repair: record-revision-invalid
UPDATE records SET revision = 1 WHERE revision < 1;

-- check: record-round-invalid
SELECT record_id(r.id) AS example FROM records r WHERE r.round NOT BETWEEN 0 AND 4294967295;

-- check: record-deleted
SELECT record_id(r.id) AS example FROM records r JOIN tombstones b ON b.namespace = r.namespace AND b.id = r.id;

-- check: derivation-missing
SELECT record_id(r.id) AS example
FROM records r, json_each(CASE WHEN is_ids(r.derived_from) THEN r.derived_from ELSE '[]' END) j
WHERE NOT EXISTS (
    SELECT 1 FROM derivations d
    WHERE d.namespace = r.namespace AND d.source = unhex(replace(j.value, '-', '')) AND d.record = r.record
);
-- repair: derivation-missing
INSERT OR IGNORE INTO derivations (namespace, source, record)
SELECT r.namespace, unhex(replace(j.value, '-', '')), r.record
FROM records r, json_each(CASE WHEN is_ids(r.derived_from) THEN r.derived_from ELSE '[]' END) j;

-- check: derivation-orphan
SELECT 'record number ' || d.record AS example FROM derivations d
WHERE NOT EXISTS (
    SELECT 1 FROM records r
    WHERE r.record = d.record AND r.namespace = d.namespace
      AND (NOT is_ids(r.derived_from) OR instr(r.derived_from, '"' || record_id(d.source) || '"') > 0)
);
-- repair: derivation-orphan
DELETE FROM derivations AS d
WHERE NOT EXISTS (
    SELECT 1 FROM records r
    WHERE r.record = d.record AND r.namespace = d.namespace
      AND (NOT is_ids(r.derived_from) OR instr(r.derived_from, '"' || record_id(d.source) || '"') > 0)
);

-- check: tombstone-scope-missing
SELECT record_id(b.id) AS example FROM tombstones b
WHERE NOT EXISTS (SELECT 1 FROM scopes s WHERE s.scope = b.scope)
   OR NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.namespace = b.namespace);

-- check: tombstone-unblocked
SELECT record_id(b.id) AS example FROM tombstones b
WHERE NOT EXISTS (
    SELECT 1 FROM blocked_contents c WHERE c.namespace = b.namespace AND c.content_hash = b.content_hash
);
-- repair: tombstone-unblocked
INSERT OR IGNORE INTO blocked_contents (namespace, content_hash, cascade_deleted)
SELECT b.namespace, b.content_hash, min(b.cascade_deleted) FROM tombstones b GROUP BY b.namespace, b.content_hash;

-- check: tombstone-weak
SELECT record_id(b.id) AS example
FROM tombstones b JOIN blocked_contents c ON c.namespace = b.namespace AND c.content_hash = b.content_hash
WHERE c.cascade_deleted > b.cascade_deleted;
-- repair: tombstone-weak
UPDATE blocked_contents AS c SET cascade_deleted = 0
WHERE c.cascade_deleted <> 0 AND EXISTS (
    SELECT 1 FROM tombstones b
    WHERE b.namespace = c.namespace AND b.content_hash = c.content_hash AND b.cascade_deleted = 0
);

-- check: block-orphan
SELECT 'user number ' || c.namespace AS example FROM blocked_contents c
WHERE NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.namespace = c.namespace);

-- check: queue-orphan
SELECT 'record number ' || b.record AS example FROM jobs b
WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = b.record);
-- repair: queue-orphan
DELETE FROM jobs AS b WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = b.record);

-- check: queue-job-unknown
SELECT record_id(r.id) AS example FROM jobs b JOIN records r ON r.record = b.record WHERE b.job NOT IN ({jobs});
-- repair: queue-job-unknown
DELETE FROM jobs WHERE job NOT IN ({jobs});

-- check: queue-version-missing
SELECT record_id(r.id) AS example FROM jobs b JOIN records r ON r.record = b.record
WHERE b.job = 'reembedding' AND NOT EXISTS (SELECT 1 FROM index_metadata o WHERE o.part = 'reembedding');
-- repair: queue-version-missing
DELETE FROM jobs
WHERE job = 'reembedding' AND NOT EXISTS (SELECT 1 FROM index_metadata o WHERE o.part = 'reembedding');

-- check: queue-owner-unknown
SELECT record_id(r.id) AS example FROM jobs b JOIN records r ON r.record = b.record
WHERE b.leased_until NOT IN ({free}, {dead}) AND b.owner IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM lease_owners o WHERE o.owner = b.owner);
-- repair: queue-owner-unknown
UPDATE jobs AS b SET leased_until = {free}, owner = NULL
WHERE b.leased_until NOT IN ({free}, {dead}) AND b.owner IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM lease_owners o WHERE o.owner = b.owner);

-- check: queue-lease-too-long
SELECT record_id(r.id) AS example FROM jobs b JOIN records r ON r.record = b.record
WHERE b.leased_until NOT IN ({free}, {dead})
  AND CAST(b.leased_until AS REAL) - CAST(b.leased_at AS REAL) > {max_lease};
-- repair: queue-lease-too-long
UPDATE jobs SET leased_until = {free}, owner = NULL
WHERE leased_until NOT IN ({free}, {dead}) AND CAST(leased_until AS REAL) - CAST(leased_at AS REAL) > {max_lease};

-- check: queue-attempts-invalid
SELECT record_id(r.id) AS example FROM jobs b JOIN records r ON r.record = b.record
WHERE b.attempts NOT BETWEEN 0 AND 4294967295;
-- repair: queue-attempts-invalid
UPDATE jobs SET attempts = 0 WHERE attempts NOT BETWEEN 0 AND 4294967295;

-- check: queue-reason-missing
SELECT record_id(r.id) AS example FROM jobs b JOIN records r ON r.record = b.record
WHERE b.leased_until = {dead} AND b.reason IS NULL;
-- repair: queue-reason-missing
UPDATE jobs SET leased_until = {free}, attempts = 0, owner = NULL WHERE leased_until = {dead} AND reason IS NULL;

-- check: queue-ticket-invalid
SELECT record_id(r.id) AS example FROM jobs b JOIN records r ON r.record = b.record WHERE b.ticket < 0;
-- repair: queue-ticket-invalid
INSERT OR REPLACE INTO jobs (job, record, leased_until, attempts, reason, queued_at, leased_at)
SELECT b.job, b.record, CASE b.leased_until WHEN {dead} THEN {dead} ELSE {free} END, b.attempts, b.reason, b.queued_at,
       b.leased_at
FROM jobs b WHERE b.ticket < 0;
DELETE FROM jobs WHERE ticket < 0;

-- check: keyword-orphan
SELECT record_id(k.id) AS example FROM keyword_documents k
WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = k.record);
-- repair: keyword-orphan
DELETE FROM keyword_documents AS k WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = k.record);

-- check: keyword-inactive
SELECT record_id(r.id) AS example FROM keyword_documents k JOIN records r ON r.record = k.record WHERE NOT {indexed};
-- repair: keyword-inactive
DELETE FROM keyword_documents AS k WHERE EXISTS (SELECT 1 FROM records r WHERE r.record = k.record AND NOT {indexed});

-- check: keyword-terms-unreadable
SELECT record_id(r.id) AS example FROM keyword_documents k JOIN records r ON r.record = k.record
WHERE NOT is_terms(k.terms, k.counts);
-- repair: keyword-terms-unreadable
DELETE FROM keyword_documents WHERE NOT is_terms(terms, counts);

-- check: keyword-length-wrong
SELECT record_id(r.id) AS example FROM keyword_documents k JOIN records r ON r.record = k.record
WHERE k.length <> terms_length(k.terms, k.counts);
-- repair: keyword-length-wrong
DELETE FROM keyword_documents WHERE length <> terms_length(terms, counts);

-- check: keyword-id-mismatch
SELECT record_id(r.id) AS example FROM keyword_documents k JOIN records r ON r.record = k.record WHERE k.id <> r.id;
-- repair: keyword-id-mismatch
UPDATE keyword_documents AS k SET id = r.id FROM records r WHERE r.record = k.record AND k.id <> r.id;

-- check: keyword-scope-mismatch
SELECT record_id(r.id) AS example FROM keyword_documents k JOIN records r ON r.record = k.record
WHERE k.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);
-- repair: keyword-scope-mismatch
UPDATE keyword_documents AS k SET scope = r.scope FROM records r
WHERE r.record = k.record AND k.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);

-- check: keyword-missing
SELECT record_id(r.id) AS example FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT 1 FROM keyword_documents k WHERE k.record = r.record)
  AND NOT EXISTS (SELECT 1 FROM jobs b WHERE b.record = r.record AND b.job = 'keywords');
-- repair: keyword-missing
INSERT OR IGNORE INTO jobs (job, record, leased_until, queued_at)
SELECT 'keywords', r.record, {free}, {now} FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT 1 FROM keyword_documents k WHERE k.record = r.record);

-- check: vector-orphan
SELECT record_id(v.id) AS example FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = v.record)
UNION ALL
SELECT record_id(v.id) FROM secondary_vectors v WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = v.record);
-- repair: vector-orphan
DELETE FROM vectors AS v WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = v.record);
DELETE FROM secondary_vectors AS v WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = v.record);

-- check: vector-inactive
SELECT record_id(r.id) AS example FROM vectors v JOIN records r ON r.record = v.record WHERE NOT {indexed}
UNION ALL
SELECT record_id(r.id) FROM secondary_vectors v JOIN records r ON r.record = v.record WHERE NOT {indexed};
-- repair: vector-inactive
DELETE FROM vectors AS v WHERE EXISTS (SELECT 1 FROM records r WHERE r.record = v.record AND NOT {indexed});
DELETE FROM secondary_vectors AS v WHERE EXISTS (SELECT 1 FROM records r WHERE r.record = v.record AND NOT {indexed});

-- check: second-vectors-unused
SELECT record_id(v.id) AS example FROM {other} v
WHERE NOT EXISTS (SELECT 1 FROM index_metadata o WHERE o.part = 'reembedding');
-- repair: second-vectors-unused
DELETE FROM {other} WHERE NOT EXISTS (SELECT 1 FROM index_metadata o WHERE o.part = 'reembedding');

-- check: vector-dimensions-wrong
SELECT record_id(v.id) AS example FROM {serving} v WHERE length(v.vector) <> 4 * {serving_dimensions}
UNION ALL
SELECT record_id(v.id) FROM {other} v WHERE length(v.vector) <> 4 * {other_dimensions};
-- repair: vector-dimensions-wrong
DELETE FROM {serving} WHERE length(vector) <> 4 * {serving_dimensions};
INSERT OR IGNORE INTO jobs (job, record, leased_until, queued_at)
SELECT 'reembedding', v.record, {free}, {now} FROM {other} v WHERE length(v.vector) <> 4 * {other_dimensions};
DELETE FROM {other} WHERE length(vector) <> 4 * {other_dimensions};

-- check: vector-unreadable
SELECT record_id(v.id) AS example FROM {serving} v WHERE NOT is_vector(v.vector)
UNION ALL
SELECT record_id(v.id) FROM {other} v WHERE NOT is_vector(v.vector);
-- repair: vector-unreadable
DELETE FROM {serving} WHERE NOT is_vector(vector);
INSERT OR IGNORE INTO jobs (job, record, leased_until, queued_at)
SELECT 'reembedding', v.record, {free}, {now} FROM {other} v WHERE NOT is_vector(v.vector);
DELETE FROM {other} WHERE NOT is_vector(vector);

-- check: vector-id-mismatch
SELECT record_id(r.id) AS example FROM vectors v JOIN records r ON r.record = v.record WHERE v.id <> r.id
UNION ALL
SELECT record_id(r.id) FROM secondary_vectors v JOIN records r ON r.record = v.record WHERE v.id <> r.id;
-- repair: vector-id-mismatch
UPDATE vectors AS v SET id = r.id FROM records r WHERE r.record = v.record AND v.id <> r.id;
UPDATE secondary_vectors AS v SET id = r.id FROM records r WHERE r.record = v.record AND v.id <> r.id;

-- check: vector-scope-mismatch
SELECT record_id(r.id) AS example FROM vectors v JOIN records r ON r.record = v.record
WHERE v.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace)
UNION ALL
SELECT record_id(r.id) FROM secondary_vectors v JOIN records r ON r.record = v.record
WHERE v.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);
-- repair: vector-scope-mismatch
UPDATE vectors AS v SET scope = r.scope FROM records r
WHERE r.record = v.record AND v.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);
UPDATE secondary_vectors AS v SET scope = r.scope FROM records r
WHERE r.record = v.record AND v.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);

-- check: token-vectors-orphan
SELECT 'record number ' || t.record AS example FROM vector_tokens t
WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record = t.record)
UNION ALL
SELECT 'record number ' || t.record FROM secondary_vector_tokens t
WHERE NOT EXISTS (SELECT 1 FROM secondary_vectors v WHERE v.record = t.record);
-- repair: token-vectors-orphan
DELETE FROM vector_tokens AS t WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record = t.record);
DELETE FROM secondary_vector_tokens AS t WHERE NOT EXISTS (SELECT 1 FROM secondary_vectors v WHERE v.record = t.record);

-- check: token-vectors-unreadable
SELECT 'record number ' || t.record AS example FROM vector_tokens t
WHERE NOT is_tokens(t.tokens) AND EXISTS (SELECT 1 FROM vectors v WHERE v.record = t.record)
UNION ALL
SELECT 'record number ' || t.record FROM secondary_vector_tokens t
WHERE NOT is_tokens(t.tokens) AND EXISTS (SELECT 1 FROM secondary_vectors v WHERE v.record = t.record);
-- repair: token-vectors-unreadable
INSERT OR IGNORE INTO jobs (job, record, leased_until, queued_at)
SELECT CASE '{serving}' WHEN 'vectors' THEN 'embedding' ELSE 'reembedding' END, t.record, {free}, {now}
FROM vector_tokens t WHERE NOT is_tokens(t.tokens);
INSERT OR IGNORE INTO jobs (job, record, leased_until, queued_at)
SELECT CASE '{serving}' WHEN 'vectors' THEN 'reembedding' ELSE 'embedding' END, t.record, {free}, {now}
FROM secondary_vector_tokens t WHERE NOT is_tokens(t.tokens);
DELETE FROM vector_tokens WHERE NOT is_tokens(tokens);
DELETE FROM secondary_vector_tokens WHERE NOT is_tokens(tokens);

-- check: vector-missing
SELECT record_id(r.id) AS example FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT 1 FROM {serving} v WHERE v.record = r.record)
  AND NOT EXISTS (SELECT 1 FROM jobs b WHERE b.record = r.record AND b.job = 'embedding');
-- repair: vector-missing
INSERT OR IGNORE INTO jobs (job, record, leased_until, queued_at)
SELECT 'embedding', r.record, {free}, {now} FROM records r
WHERE {indexed} AND NOT EXISTS (SELECT 1 FROM {serving} v WHERE v.record = r.record);

-- check: graph-orphan
SELECT 'record number ' || g.record AS example
FROM (SELECT record FROM graph_entities UNION ALL SELECT record FROM graph_aliases
      UNION ALL SELECT record FROM graph_edges) g
WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = g.record);
-- repair: graph-orphan
DELETE FROM graph_entities AS g WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = g.record);
DELETE FROM graph_aliases AS g WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = g.record);
DELETE FROM graph_edges AS g WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = g.record);

-- check: graph-inactive
SELECT record_id(r.id) AS example
FROM (SELECT record FROM graph_entities UNION ALL SELECT record FROM graph_aliases
      UNION ALL SELECT record FROM graph_edges) g JOIN records r ON r.record = g.record
WHERE NOT {indexed};
-- repair: graph-inactive
DELETE FROM graph_entities AS g WHERE EXISTS (SELECT 1 FROM records r WHERE r.record = g.record AND NOT {indexed});
DELETE FROM graph_aliases AS g WHERE EXISTS (SELECT 1 FROM records r WHERE r.record = g.record AND NOT {indexed});
DELETE FROM graph_edges AS g WHERE EXISTS (SELECT 1 FROM records r WHERE r.record = g.record AND NOT {indexed});

-- check: graph-scope-mismatch
SELECT record_id(r.id) AS example
FROM (SELECT record, scope FROM graph_entities UNION ALL SELECT record, scope FROM graph_aliases
      UNION ALL SELECT record, scope FROM graph_edges) g JOIN records r ON r.record = g.record
WHERE g.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);
-- repair: graph-scope-mismatch
UPDATE graph_entities AS g SET scope = r.scope FROM records r
WHERE r.record = g.record AND g.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);
UPDATE graph_aliases AS g SET scope = r.scope FROM records r
WHERE r.record = g.record AND g.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);
UPDATE graph_edges AS g SET scope = r.scope FROM records r
WHERE r.record = g.record AND g.scope <> r.scope
  AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = r.scope AND s.namespace = r.namespace);

-- check: graph-alias-dangling
SELECT record_id(r.id) AS example FROM graph_aliases a JOIN records r ON r.record = a.record
WHERE NOT EXISTS (SELECT 1 FROM graph_entities e WHERE e.record = a.record AND e.entity = a.entity);
-- repair: graph-alias-dangling
DELETE FROM graph_aliases AS a
WHERE NOT EXISTS (SELECT 1 FROM graph_entities e WHERE e.record = a.record AND e.entity = a.entity);

-- check: graph-rule-invalid
SELECT record_id(r.id) AS example FROM graph_edges e JOIN records r ON r.record = e.record
WHERE e.rule = '' OR e.rule GLOB '*[^a-z0-9._-]*';
-- repair: graph-rule-invalid
UPDATE graph_edges SET rule = NULL WHERE rule = '' OR rule GLOB '*[^a-z0-9._-]*';

-- check: synonym-orphan
SELECT 'user number ' || g.namespace AS example
FROM (SELECT namespace FROM synonym_groups UNION ALL SELECT namespace FROM synonym_verdicts) g
WHERE NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.namespace = g.namespace);

-- check: synonym-unreadable
SELECT 'user number ' || g.namespace AS example FROM synonym_groups g
WHERE NOT is_strings(g.members) OR NOT is_text(g.term);

-- check: verdict-unreadable
SELECT 'user number ' || v.namespace AS example FROM synonym_verdicts v WHERE NOT is_pair(v.first, v.second);

-- check: index-unrecorded
SELECT p.part AS example
FROM (SELECT 'keywords' AS part, EXISTS (SELECT 1 FROM keyword_documents) AS is_used
      UNION ALL SELECT 'embedding', EXISTS (SELECT 1 FROM {serving})) p
WHERE p.is_used AND NOT EXISTS (SELECT 1 FROM index_metadata o WHERE o.part = p.part);

-- check: serving-table-unknown
SELECT o.part AS example FROM index_metadata o
WHERE o.part = 'serving table' AND o.made_by NOT IN ('vectors', 'secondary_vectors');
-- repair: serving-table-unknown
DELETE FROM index_metadata WHERE part = 'serving table' AND made_by NOT IN ('vectors', 'secondary_vectors');

-- check: store-id-missing
SELECT 'store id' AS example
WHERE NOT EXISTS (
    SELECT 1 FROM index_metadata o
    WHERE o.part = 'store id' AND length(o.made_by) BETWEEN 1 AND 16 AND NOT o.made_by GLOB '*[^0-9a-f]*'
);
-- repair: store-id-missing
INSERT OR REPLACE INTO index_metadata (part, made_by) VALUES ('store id', lower(hex(randomblob(8))));

-- check: cache-epoch-unreadable
SELECT o.part AS example FROM index_metadata o
WHERE o.part = 'cache epoch'
  AND (length(o.made_by) NOT BETWEEN 1 AND 16 OR o.made_by GLOB '*[^0-9a-f]*');
-- repair: cache-epoch-unreadable
DELETE FROM index_metadata WHERE part = 'cache epoch';

-- check: change-log-empty
SELECT 'changes' AS example
WHERE NOT EXISTS (SELECT 1 FROM changes)
  AND (EXISTS (SELECT 1 FROM keyword_documents) OR EXISTS (SELECT 1 FROM {serving}));
-- repair: change-log-empty
INSERT INTO changes (record, nonce) SELECT 0, random() WHERE NOT EXISTS (SELECT 1 FROM changes);

-- check: record-groups-wrong
-- A transaction that changes records reads the times of groups with `stale` > 0 again.
SELECT 'scope number ' || d.scope AS example FROM (
    SELECT c.scope, c.kind, c.state, c.app
    FROM (SELECT scope, kind, state, app, count(*) AS records, min(occurred_at) AS oldest, max(occurred_at) AS newest,
              max(edited_at) AS edited_at
          FROM records GROUP BY scope, kind, state, app) c
    WHERE NOT EXISTS (
        SELECT 1 FROM record_groups g
        WHERE g.scope = c.scope AND g.kind = c.kind AND g.state = c.state AND g.app IS c.app AND g.records = c.records
          AND (g.stale > 0 OR (g.oldest, g.newest, g.edited_at) IS (c.oldest, c.newest, c.edited_at))
    )
    UNION
    SELECT g.scope, g.kind, g.state, g.app FROM record_groups g
    WHERE NOT EXISTS (
        SELECT 1 FROM records r WHERE r.scope = g.scope AND r.kind = g.kind AND r.state = g.state AND r.app IS g.app
    )
    UNION
    SELECT scope, kind, state, app FROM record_groups GROUP BY scope, kind, state, app HAVING count(*) > 1
) d;
-- repair: record-groups-wrong
DELETE FROM record_groups;
INSERT INTO record_groups (scope, kind, state, app, records, oldest, newest, edited_at)
SELECT scope, kind, state, app, count(*), min(occurred_at), max(occurred_at), max(edited_at)
FROM records GROUP BY scope, kind, state, app;
