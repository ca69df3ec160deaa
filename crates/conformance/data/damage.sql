-- Damages of a database, for the tests of the health check and the repair. Each has a name, the kinds of problems that
-- the health check reports, and its statements. `src/damage.rs` fills the database that they are applied to. It has all
-- sets of views.

-- backend: sqlite
-- Foreign keys and CHECK constraints are switched off.

-- damage: an index is missing
-- expect: index-missing
DROP INDEX records_by_scope;

-- damage: an index has other columns
-- expect: index-missing
DROP INDEX jobs_by_job;
CREATE INDEX jobs_by_job ON jobs (ticket);

-- damage: a view of the story is missing
-- expect: view-missing
DROP VIEW memory_items;

-- damage: the views of the companion are missing
-- expect: view-missing
DROP VIEW conversations;
DROP VIEW user_profiles;
DROP VIEW affection_logs;

-- damage: a table is missing
-- expect: table-missing
DROP TABLE graph_edges;

-- damage: a column is missing
-- expect: column-missing
ALTER TABLE jobs DROP COLUMN reason;

-- damage: a value violates a CHECK constraint
-- expect: row-invalid
UPDATE synonym_verdicts SET accepted = 7;

-- damage: the space of the vectors cannot be read
-- expect: space-unreadable
UPDATE index_metadata SET made_by = 'words' WHERE part = 'embedding';

-- damage: the analyzer is not recorded
-- expect: index-unrecorded
DELETE FROM index_metadata WHERE part = 'keywords';

-- damage: the serving table does not exist
-- expect: serving-table-unknown
INSERT INTO index_metadata (part, made_by) VALUES ('serving table', 'third_vectors');

-- damage: the id of the database is missing
-- expect: store-id-missing
DELETE FROM index_metadata WHERE part = 'store id';

-- damage: the id of the database cannot be read
-- expect: store-id-missing
UPDATE index_metadata SET made_by = 'not a number' WHERE part = 'store id';

-- damage: the epoch of the caches cannot be read
-- expect: cache-epoch-unreadable
INSERT OR REPLACE INTO index_metadata (part, made_by) VALUES ('cache epoch', 'zzz');

-- damage: the change log is empty
-- expect: change-log-empty
DELETE FROM changes;

-- damage: a user has no tenant
-- expect: namespace-orphan
INSERT INTO namespaces (tenant, user) VALUES (999, 'nobody');

-- damage: a scope has no user
-- expect: scope-orphan
INSERT INTO scopes (namespace, agent, session, branch) VALUES (999, '', '', '');

-- damage: a session has a name with white space at its end
-- expect: scope-name-invalid
INSERT INTO scopes (namespace, agent, session, branch) SELECT min(namespace), '', 'sunday ', '' FROM namespaces;

-- damage: a record has no scope
-- expect: record-scope-missing
UPDATE records SET scope = 999 WHERE kind = 'ledger/companion';

-- damage: a record belongs to another user than its scope
-- expect: record-namespace-mismatch
UPDATE records SET namespace = (SELECT namespace FROM namespaces WHERE user = '林 小明')
WHERE kind = 'ledger/companion';

-- damage: a record has an unknown state
-- expect: record-state-unknown
UPDATE records SET state = 'broken' WHERE text = 'old phone number';

-- damage: a record has an unknown trust
-- expect: record-trust-unknown
UPDATE records SET trust = 'nobody' WHERE text = 'old phone number';

-- damage: a record has no kind
-- expect: record-kind-empty
UPDATE records SET kind = '' WHERE text = 'old phone number';

-- damage: a record has no text
-- expect: record-text-empty
UPDATE records SET text = ' ' WHERE text = 'old phone number';

-- damage: a text is cut within a character
-- expect: record-text-unreadable
UPDATE records SET text = CAST(x'e6b5b7e9b2' AS TEXT) WHERE text = 'old phone number';

-- damage: tags are numbers
-- expect: record-list-unreadable
UPDATE records SET tags = '[1]' WHERE text = 'old phone number';

-- damage: entities are no JSON
-- expect: record-list-unreadable
UPDATE records SET entities = 'oops' WHERE text = 'old phone number';

-- damage: sources are no ids
-- expect: record-list-unreadable
UPDATE records SET derived_from = '["lin"]' WHERE text = 'lin likes gin';

-- damage: metadata are a list
-- expect: record-metadata-unreadable
UPDATE records SET metadata = '[]' WHERE text = 'old phone number';

-- damage: metadata are cut
-- expect: record-metadata-unreadable
UPDATE records SET metadata = substr(metadata, 1, 8) WHERE text = 'gin and tonic';

-- damage: a confidence is above 1
-- expect: record-share-invalid
UPDATE records SET confidence = 7 WHERE text = 'gin and tonic';

-- damage: an importance is below 0
-- expect: record-share-invalid
UPDATE records SET importance = -0.5 WHERE text LIKE 'docker runs%';

-- damage: a validity ends before it begins
-- expect: record-validity-reversed
UPDATE records SET valid_from = 5, valid_until = 4 WHERE text = 'old phone number';

-- damage: a revision is 0
-- expect: record-revision-invalid
UPDATE records SET revision = 0 WHERE text = 'gin and tonic';

-- damage: a round is negative
-- expect: record-round-invalid
UPDATE records SET round = -1 WHERE text = 'old phone number';

-- damage: a deleted record is back
-- expect: record-deleted
INSERT INTO tombstones (namespace, id, scope, content_hash, deleted_at, cascade_deleted)
SELECT r.namespace, r.id, r.scope, c.content_hash, 0, 1
FROM records r JOIN blocked_contents c ON c.namespace = r.namespace
WHERE r.text = 'old phone number' LIMIT 1;

-- damage: a derivation is missing
-- expect: derivation-missing
DELETE FROM derivations WHERE record = (SELECT record FROM records WHERE text = 'lin likes gin');

-- damage: a derivation has no record
-- expect: derivation-orphan
INSERT INTO derivations (namespace, source, record) VALUES (1, x'000000000000000000000000000000aa', 999);

-- damage: a derivation is not a source of its record
-- expect: derivation-orphan
INSERT INTO derivations (namespace, source, record)
SELECT namespace, x'000000000000000000000000000000aa', record FROM records WHERE text = 'lin likes gin';

-- damage: a deletion was interrupted
-- expect: deletion-unfinished
UPDATE records SET kind = 'ledger/forgetting' WHERE kind = 'ledger/companion';

-- damage: a tombstone has no scope
-- expect: tombstone-scope-missing
UPDATE tombstones SET scope = 999;

-- damage: deleted content is not blocked
-- expect: tombstone-unblocked
DELETE FROM blocked_contents;

-- damage: deleted content is blocked as derived content
-- expect: tombstone-weak
UPDATE blocked_contents SET cascade_deleted = 1;

-- damage: blocked content has no user
-- expect: block-orphan
INSERT INTO blocked_contents (namespace, content_hash, cascade_deleted) VALUES (999, zeroblob(32), 0);

-- damage: a queued job has no record
-- expect: queue-orphan
INSERT INTO jobs (job, record, leased_until) VALUES ('keywords', 999, -9223372036854775808);

-- damage: a queued job has an unknown name
-- expect: queue-job-unknown
UPDATE jobs SET job = 'dance' WHERE job = 'metadata';

-- damage: a job is queued for a second version
-- expect: queue-version-missing
UPDATE jobs SET job = 'reembedding' WHERE job = 'metadata';

-- damage: a job is leased to an unknown owner
-- expect: queue-owner-unknown
UPDATE jobs SET owner = 42, leased_at = 1000, leased_until = 60001000 WHERE job = 'embedding';

-- damage: a lease ends in a hundred thousand years
-- expect: queue-lease-too-long
UPDATE jobs SET leased_at = 1000, leased_until = 9223372036854775806 WHERE job = 'keywords';

-- damage: a number of attempts is negative
-- expect: queue-attempts-invalid
UPDATE jobs SET attempts = -3 WHERE job = 'embedding';

-- damage: a failed job has no reason
-- expect: queue-reason-missing
UPDATE jobs SET reason = NULL WHERE job = 'graph';

-- damage: a ticket is negative
-- expect: queue-ticket-invalid
UPDATE jobs SET ticket = -5 WHERE job = 'keywords';

-- damage: terms belong to no record
-- expect: keyword-orphan
INSERT INTO keyword_documents (record, id, scope, length, terms, counts)
VALUES (999, x'000000000000000000000000000000aa', 1, 1, 'docker', x'');

-- damage: a superseded record has terms
-- expect: keyword-inactive
INSERT INTO keyword_documents (record, id, scope, length, terms, counts)
SELECT record, id, scope, 1, 'docker', x'' FROM records WHERE text = 'old phone number';

-- damage: terms have another id
-- expect: keyword-id-mismatch
UPDATE keyword_documents SET id = x'000000000000000000000000000000aa'
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: terms have the scope of another user
-- expect: keyword-scope-mismatch
UPDATE keyword_documents
SET scope = (SELECT s.scope FROM scopes s JOIN namespaces n USING (namespace) WHERE n.user = '林 小明')
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: counts of terms are cut
-- expect: keyword-terms-unreadable
UPDATE keyword_documents SET counts = x'01'
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: terms are not UTF-8
-- expect: keyword-terms-unreadable
UPDATE keyword_documents SET terms = CAST(x'ff' AS TEXT)
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: a length is not the number of terms
-- expect: keyword-length-wrong
UPDATE keyword_documents SET length = 77
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: the terms of a record are missing
-- expect: keyword-missing
DELETE FROM keyword_documents WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: all terms are missing
-- expect: keyword-missing
DELETE FROM keyword_documents;

-- damage: a vector belongs to no record
-- expect: vector-orphan
INSERT INTO vectors (record, id, scope, vector)
SELECT 999, x'000000000000000000000000000000aa', scope, vector FROM vectors LIMIT 1;

-- damage: a superseded record has a vector
-- expect: vector-inactive
INSERT INTO vectors (record, id, scope, vector)
SELECT r.record, r.id, r.scope, v.vector FROM records r, vectors v WHERE r.text = 'old phone number' LIMIT 1;

-- damage: a vector has another id
-- expect: vector-id-mismatch
UPDATE vectors SET id = x'000000000000000000000000000000aa'
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: a vector has the scope of another user
-- expect: vector-scope-mismatch
UPDATE vectors
SET scope = (SELECT s.scope FROM scopes s JOIN namespaces n USING (namespace) WHERE n.user = '林 小明')
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: a vector is cut
-- expect: vector-dimensions-wrong
UPDATE vectors SET vector = substr(vector, 1, 30)
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: a vector is not a number
-- expect: vector-unreadable
UPDATE vectors SET vector = CAST(x'0000c07f' || substr(vector, 5) AS BLOB)
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: a vector is zero
-- expect: vector-unreadable
UPDATE vectors SET vector = zeroblob(32)
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: token vectors have no vector
-- expect: token-vectors-orphan
INSERT INTO vector_tokens (record, tokens) SELECT 999, tokens FROM vector_tokens LIMIT 1;

-- damage: token vectors are cut
-- expect: token-vectors-unreadable
UPDATE vector_tokens SET tokens = substr(tokens, 1, 5)
WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: vectors of a second version are left over
-- expect: second-vectors-unused
INSERT INTO secondary_vectors (record, id, scope, vector) SELECT record, id, scope, vector FROM vectors LIMIT 2;

-- damage: the vector of a record is missing
-- expect: vector-missing
DELETE FROM vector_tokens WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');
DELETE FROM vectors WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');

-- damage: an entity belongs to no record
-- expect: graph-orphan
INSERT INTO graph_entities (record, entity, scope, name, kind)
SELECT 999, entity, scope, name, kind FROM graph_entities LIMIT 1;

-- damage: a relation belongs to no record
-- expect: graph-orphan
INSERT INTO graph_edges (record, source, relation, target, scope)
SELECT 999, source, relation, target, scope FROM graph_edges LIMIT 1;

-- damage: a superseded record has an entity
-- expect: graph-inactive
INSERT INTO graph_entities (record, entity, scope, name, kind)
SELECT r.record, g.entity, r.scope, g.name, g.kind FROM records r, graph_entities g
WHERE r.text = 'old phone number' LIMIT 1;

-- damage: an entity has the scope of another user
-- expect: graph-scope-mismatch
UPDATE graph_entities
SET scope = (SELECT s.scope FROM scopes s JOIN namespaces n USING (namespace) WHERE n.user = '林 小明')
WHERE record = (SELECT record FROM records WHERE text LIKE 'docker runs%');

-- damage: an alias has no entity
-- expect: graph-alias-dangling
INSERT INTO graph_aliases (record, entity, alias, scope, name)
SELECT record, zeroblob(16), alias, scope, name FROM graph_aliases LIMIT 1;

-- damage: the rule of a relation cannot be read
-- expect: graph-rule-invalid
UPDATE graph_edges SET rule = 'No Rule';

-- damage: a synonym group has no user
-- expect: synonym-orphan
INSERT INTO synonym_groups (namespace, term, members) VALUES (999, 'docker', '["whale"]');

-- damage: a verdict has no user
-- expect: synonym-orphan
INSERT INTO synonym_verdicts (namespace, first, second, accepted) VALUES (999, 'docker', 'whale', 1);

-- damage: a synonym is a number
-- expect: synonym-unreadable
UPDATE synonym_groups SET members = '[1]';

-- damage: a verdict is about one word
-- expect: verdict-unreadable
INSERT INTO synonym_verdicts (namespace, first, second, accepted) SELECT namespace, 'Docker', 'docker', 1
FROM synonym_verdicts LIMIT 1;

-- damage: the contents of several tables disagree
-- expect: keyword-missing vector-orphan graph-rule-invalid queue-orphan tombstone-unblocked
DELETE FROM keyword_documents WHERE record = (SELECT record FROM records WHERE text = 'gin and tonic');
INSERT INTO vectors (record, id, scope, vector)
SELECT 999, x'000000000000000000000000000000aa', scope, vector FROM vectors LIMIT 1;
UPDATE graph_edges SET rule = '';
INSERT INTO jobs (job, record, leased_until) VALUES ('keywords', 999, -9223372036854775808);
DELETE FROM blocked_contents;

-- damage: a group of records has a wrong count
-- expect: record-groups-wrong
UPDATE record_groups SET records = records + 1 WHERE kind = 'turn';

-- damage: groups of records are missing
-- expect: record-groups-wrong
DELETE FROM record_groups;

-- damage: a group of records has a wrong time
-- expect: record-groups-wrong
UPDATE record_groups SET newest = newest + 1;

-- backend: postgres
-- Foreign keys are not enforced.

-- damage: an index is missing
-- expect: index-missing
DROP INDEX records_by_time;

-- damage: the index of the terms is missing
-- expect: index-missing
DROP INDEX keyword_documents_by_lexeme;

-- damage: an index has other columns
-- expect: index-missing
DROP INDEX jobs_by_ticket;
CREATE INDEX jobs_by_ticket ON jobs (namespace);

-- damage: an index is not valid
-- expect: index-invalid
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'graph_edges_by_source'::regclass;

-- damage: the vector index is recorded and missing
-- expect: vector-index-missing
INSERT INTO index_metadata (part, made_by) VALUES ('vector index', '((embedding::vector(8)) vector_cosine_ops)');

-- damage: views of installed sets are missing
-- expect: view-missing
DROP VIEW memory_items;
DROP VIEW conversations;

-- damage: a view and what reads it are missing
-- expect: view-missing function-missing
DROP FUNCTION search_memory_events;
DROP VIEW memory_events;

-- damage: a function is missing
-- expect: function-missing
DROP FUNCTION memory_namespace;

-- damage: a foreign key is missing
-- expect: constraint-missing
ALTER TABLE vectors DROP CONSTRAINT vectors_namespace_id_fkey;

-- damage: a primary key is missing
-- expect: constraint-missing
ALTER TABLE graph_aliases DROP CONSTRAINT graph_aliases_pkey;

-- damage: a foreign key is missing and rows violate it
-- expect: constraint-missing keyword-orphan keyword-count-wrong
ALTER TABLE keyword_documents DROP CONSTRAINT keyword_documents_namespace_id_fkey;
INSERT INTO keyword_documents (namespace, id, scope, length, terms, counts, lexemes, repeated_terms)
SELECT namespace, '00000000-0000-0000-0000-0000000000aa', scope, length, terms, counts, lexemes, repeated_terms
FROM keyword_documents LIMIT 1;

-- damage: triggers of a table are switched off
-- expect: trigger-disabled
ALTER TABLE records DISABLE TRIGGER ALL;

-- damage: a table is missing
-- expect: table-missing
DROP TABLE synonym_verdicts;

-- damage: a column is missing
-- expect: column-missing
ALTER TABLE jobs DROP COLUMN reason;

-- damage: the space of the vectors cannot be read
-- expect: space-unreadable
UPDATE index_metadata SET made_by = 'words' WHERE part = 'embedding';

-- damage: the analyzer is not recorded
-- expect: index-unrecorded
DELETE FROM index_metadata WHERE part = 'keywords';

-- damage: the serving table does not exist
-- expect: serving-table-unknown
INSERT INTO index_metadata (part, made_by) VALUES ('serving table', 'third_vectors');

-- damage: a scope has no user
-- expect: scope-orphan
INSERT INTO scopes (namespace, scope, agent, session, branch) SELECT gen_random_uuid(), scope, agent, session, branch
FROM scopes LIMIT 1;

-- damage: a session has a name with white space at its end
-- expect: scope-name-invalid
INSERT INTO scopes (namespace, scope, agent, session, branch) SELECT namespace, gen_random_uuid(), '', 'sunday ', ''
FROM namespaces LIMIT 1;

-- damage: a session has another name
-- expect: scope-id-wrong
INSERT INTO scopes (namespace, scope, agent, session, branch) SELECT namespace, gen_random_uuid(), '', 'sunday', ''
FROM namespaces LIMIT 1;

-- damage: a user has the id of another name
-- expect: scope-id-wrong
INSERT INTO namespaces (namespace, tenant, username) VALUES (gen_random_uuid(), 'default', 'nobody');

-- damage: a record has no scope
-- expect: record-scope-missing
UPDATE records SET scope = gen_random_uuid() WHERE kind = 'ledger/companion';

-- damage: a record has an unknown state
-- expect: record-state-unknown
UPDATE records SET state = 'broken' WHERE text = 'old phone number';

-- damage: a record has an unknown trust
-- expect: record-trust-unknown
UPDATE records SET trust = 'nobody' WHERE text = 'old phone number';

-- damage: a record has no kind
-- expect: record-kind-empty
UPDATE records SET kind = '' WHERE text = 'old phone number';

-- damage: a record has no text
-- expect: record-text-empty record-hash-wrong
UPDATE records SET text = ' ' WHERE text = 'old phone number';

-- damage: a tag is missing
-- expect: record-list-unreadable
UPDATE records SET tags = ARRAY['a', NULL] WHERE text = 'old phone number';

-- damage: a source is missing
-- expect: record-list-unreadable
UPDATE records SET derived_from = derived_from || NULL::uuid WHERE text = 'lin likes gin';

-- damage: metadata are a list
-- expect: record-metadata-unreadable
UPDATE records SET metadata = '[]' WHERE text = 'old phone number';

-- damage: a confidence is above 1
-- expect: record-share-invalid
UPDATE records SET confidence = 7 WHERE text = 'gin and tonic';

-- damage: a confidence is not a number
-- expect: record-share-invalid
UPDATE records SET confidence = 'NaN' WHERE text = 'gin and tonic';

-- damage: an importance is below 0
-- expect: record-share-invalid
UPDATE records SET importance = -0.5 WHERE text LIKE 'docker runs%';

-- damage: a validity ends before it begins
-- expect: record-validity-reversed
UPDATE records SET valid_from = 5, valid_until = 4 WHERE text = 'old phone number';

-- damage: a revision is negative
-- expect: record-revision-invalid
UPDATE records SET revision = -1 WHERE text = 'gin and tonic';

-- damage: a round is negative
-- expect: record-round-invalid
UPDATE records SET round = -1 WHERE text = 'old phone number';

-- damage: a deleted record is back
-- expect: record-deleted
INSERT INTO tombstones (namespace, id, scope, content_hash, deleted_at, cascade_deleted)
SELECT r.namespace, r.id, r.scope, c.content_hash, 0, true
FROM records r JOIN blocked_contents c ON c.namespace = r.namespace
WHERE r.text = 'old phone number' LIMIT 1;

-- damage: a content hash is wrong
-- expect: record-hash-wrong
UPDATE records SET content_hash = decode(repeat('00', 32), 'hex') WHERE text = 'gin and tonic';

-- damage: all folded texts are wrong
-- expect: record-hash-wrong
UPDATE records SET folded = 'other';

-- damage: a deletion was interrupted
-- expect: deletion-unfinished
UPDATE records SET kind = 'ledger/forgetting' WHERE kind = 'ledger/companion';

-- damage: a tombstone has no scope
-- expect: tombstone-scope-missing
UPDATE tombstones SET scope = gen_random_uuid();

-- damage: deleted content is not blocked
-- expect: tombstone-unblocked
DELETE FROM blocked_contents;

-- damage: deleted content is blocked as derived content
-- expect: tombstone-weak
UPDATE blocked_contents SET cascade_deleted = true;

-- damage: blocked content has no user
-- expect: block-orphan
INSERT INTO blocked_contents (namespace, content_hash, cascade_deleted)
VALUES (gen_random_uuid(), decode(repeat('00', 32), 'hex'), false);

-- damage: a queued job has no record
-- expect: queue-orphan
INSERT INTO jobs (namespace, job, id, ticket, leased_until)
SELECT namespace, 'keywords', '00000000-0000-0000-0000-0000000000aa', gen_random_uuid(), -9223372036854775808
FROM records LIMIT 1;

-- damage: a queued job has an unknown name
-- expect: queue-job-unknown
UPDATE jobs SET job = 'dance' WHERE job = 'metadata';

-- damage: a job is queued for a second version
-- expect: queue-version-missing
UPDATE jobs SET job = 'reembedding' WHERE job = 'metadata';

-- damage: a job is leased to an unknown owner
-- expect: queue-owner-unknown
UPDATE jobs SET owner = 42, leased_at = 1000, leased_until = 60001000 WHERE job = 'embedding';

-- damage: a lease ends in a hundred thousand years
-- expect: queue-lease-too-long
UPDATE jobs SET leased_at = 1000, leased_until = 9223372036854775806 WHERE job = 'keywords';

-- damage: a number of attempts is negative
-- expect: queue-attempts-invalid
UPDATE jobs SET attempts = -3 WHERE job = 'embedding';

-- damage: a failed job has no reason
-- expect: queue-reason-missing
UPDATE jobs SET reason = NULL WHERE job = 'graph';

-- damage: terms belong to no record
-- expect: keyword-orphan keyword-count-wrong
INSERT INTO keyword_documents (namespace, id, scope, length, terms, counts, lexemes, repeated_terms)
SELECT namespace, '00000000-0000-0000-0000-0000000000aa', scope, length, terms, counts, lexemes, repeated_terms
FROM keyword_documents LIMIT 1;

-- damage: a superseded record has terms
-- expect: keyword-inactive keyword-count-wrong
INSERT INTO keyword_documents (namespace, id, scope, length, terms, counts, lexemes, repeated_terms)
SELECT r.namespace, r.id, r.scope, k.length, k.terms, k.counts, k.lexemes, k.repeated_terms
FROM records r JOIN keyword_documents k ON k.namespace = r.namespace WHERE r.text = 'old phone number' LIMIT 1;

-- damage: terms have the scope of another session
-- expect: keyword-scope-mismatch keyword-count-wrong
UPDATE keyword_documents k SET scope = o.scope FROM records r, records o
WHERE r.text = 'gin and tonic' AND o.text LIKE 'docker runs%' AND k.namespace = r.namespace AND k.id = r.id;

-- damage: counts of terms are cut
-- expect: keyword-terms-unreadable
UPDATE keyword_documents SET counts = '\x01' WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: terms are not UTF-8
-- expect: keyword-terms-unreadable
UPDATE keyword_documents SET terms = '\xff' WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: a length is not the number of terms
-- expect: keyword-length-wrong
UPDATE keyword_documents SET length = 77 WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: lexemes are missing
-- expect: keyword-lexemes-wrong
UPDATE keyword_documents SET lexemes = '' WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: repeated terms are wrong
-- expect: keyword-lexemes-wrong
UPDATE keyword_documents SET repeated_terms = '{"gin": 2}'
WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: lexemes are those of another user
-- expect: keyword-lexemes-wrong
UPDATE keyword_documents k SET lexemes = o.lexemes FROM keyword_documents o
WHERE k.id = (SELECT id FROM records WHERE text = 'gin and tonic')
  AND o.id = (SELECT id FROM records WHERE text = 'docker elsewhere');

-- damage: the terms of a record are missing
-- expect: keyword-missing keyword-count-wrong
DELETE FROM keyword_documents WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: all terms are missing
-- expect: keyword-missing keyword-count-wrong
DELETE FROM keyword_documents;

-- damage: a count of terms is wrong
-- expect: keyword-count-wrong
UPDATE scopes SET documents = documents + 3 WHERE session = 'monday';

-- damage: a vector belongs to no record
-- expect: vector-orphan vector-count-wrong
INSERT INTO vectors (namespace, id, scope, embedding)
SELECT namespace, '00000000-0000-0000-0000-0000000000aa', scope, embedding FROM vectors LIMIT 1;

-- damage: a superseded record has a vector
-- expect: vector-inactive vector-count-wrong
INSERT INTO vectors (namespace, id, scope, embedding)
SELECT r.namespace, r.id, r.scope, v.embedding FROM records r, vectors v WHERE r.text = 'old phone number' LIMIT 1;

-- damage: a vector has the scope of another session
-- expect: vector-scope-mismatch vector-count-wrong
UPDATE vectors v SET scope = o.scope FROM records r, records o
WHERE r.text = 'gin and tonic' AND o.text LIKE 'docker runs%' AND v.namespace = r.namespace AND v.id = r.id;

-- damage: a vector is cut
-- expect: vector-dimensions-wrong
UPDATE vectors SET embedding = subvector(embedding, 1, 4)
WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: a vector is zero
-- expect: vector-unreadable
UPDATE vectors SET embedding = '[0,0,0,0,0,0,0,0]' WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: token vectors are cut
-- expect: token-vectors-unreadable
UPDATE vectors SET tokens = substring(tokens FROM 1 FOR 5)
WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: vectors of a second version are left over
-- expect: second-vectors-unused vector-count-wrong
INSERT INTO secondary_vectors (namespace, id, scope, embedding) SELECT namespace, id, scope, embedding FROM vectors LIMIT 2;

-- damage: the vector of a record is missing
-- expect: vector-missing vector-count-wrong
DELETE FROM vectors WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');

-- damage: a count of vectors is wrong
-- expect: vector-count-wrong
UPDATE scopes SET vectors = 0, secondary_vectors = 9;

-- damage: an entity belongs to no record
-- expect: graph-orphan
INSERT INTO graph_entities (namespace, id, entity, scope, name, kind)
SELECT namespace, '00000000-0000-0000-0000-0000000000aa', entity, scope, name, kind FROM graph_entities LIMIT 1;

-- damage: a relation belongs to no record
-- expect: graph-orphan
INSERT INTO graph_edges (namespace, id, number, source, relation, target, scope)
SELECT namespace, '00000000-0000-0000-0000-0000000000aa', number, source, relation, target, scope
FROM graph_edges LIMIT 1;

-- damage: a superseded record has an entity
-- expect: graph-inactive
INSERT INTO graph_entities (namespace, id, entity, scope, name, kind)
SELECT r.namespace, r.id, g.entity, r.scope, g.name, g.kind FROM records r, graph_entities g
WHERE r.text = 'old phone number' LIMIT 1;

-- damage: an entity has the scope of another session
-- expect: graph-scope-mismatch
UPDATE graph_entities g SET scope = o.scope FROM records r, records o
WHERE r.text LIKE 'docker runs%' AND o.text = 'gin and tonic' AND g.namespace = r.namespace AND g.id = r.id;

-- damage: an alias has no entity
-- expect: graph-alias-dangling
INSERT INTO graph_aliases (namespace, id, entity, alias, scope, name)
SELECT namespace, id, gen_random_uuid(), alias, scope, name FROM graph_aliases LIMIT 1;

-- damage: the rule of a relation cannot be read
-- expect: graph-rule-invalid
UPDATE graph_edges SET rule = 'No Rule';

-- damage: a synonym group has no user
-- expect: synonym-orphan
INSERT INTO synonym_groups (namespace, term, members) VALUES (gen_random_uuid(), 'docker', ARRAY['whale']);

-- damage: a verdict has no user
-- expect: synonym-orphan
INSERT INTO synonym_verdicts (namespace, first, second, accepted) VALUES (gen_random_uuid(), 'docker', 'whale', true);

-- damage: a verdict is about one word
-- expect: verdict-unreadable
INSERT INTO synonym_verdicts (namespace, first, second, accepted) SELECT namespace, 'Docker', 'docker', true
FROM synonym_verdicts LIMIT 1;

-- damage: the contents of several tables disagree
-- expect: keyword-missing keyword-count-wrong vector-orphan vector-count-wrong graph-rule-invalid queue-orphan
DELETE FROM keyword_documents WHERE id = (SELECT id FROM records WHERE text = 'gin and tonic');
INSERT INTO vectors (namespace, id, scope, embedding)
SELECT namespace, '00000000-0000-0000-0000-0000000000aa', scope, embedding FROM vectors LIMIT 1;
UPDATE graph_edges SET rule = '';
INSERT INTO jobs (namespace, job, id, ticket, leased_until)
SELECT namespace, 'keywords', '00000000-0000-0000-0000-0000000000aa', gen_random_uuid(), -9223372036854775808
FROM records LIMIT 1;

-- damage: a group of records has a wrong count
-- expect: record-groups-wrong
UPDATE record_groups SET records = records + 1 WHERE kind = 'turn';

-- damage: groups of records are missing
-- expect: record-groups-wrong
DELETE FROM record_groups;

-- damage: a group of records has a wrong time
-- expect: record-groups-wrong
UPDATE record_groups SET newest = newest + 1;
