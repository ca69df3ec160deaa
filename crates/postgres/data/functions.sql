-- The functions that the program calls. They are no part of a migration, because they contain the columns of records.
-- The program drops them before it migrates a database, and creates them afterwards. A database that already has the
-- current schema keeps its functions. So a change here needs a migration, if only an empty one.

-- Inserts the parts of a batch in one call, because each further statement would be another round trip to the client
-- while other writers of the same users wait. The lists whose names begin with the same word have the same length.
-- `records_json` is a JSON array; `vector_table` is vectors or secondary_vectors; `lease_free` is the lease end of a
-- job that can be claimed; `job_second_tickets` are the tickets of the jobs that fill the second table, if there is
-- one. Returns true, so that it can follow memory_lock_if_new in one expression.
CREATE FUNCTION memory_insert_batch(
    scope_namespaces uuid[], scope_ids uuid[], scope_agents text[], scope_sessions text[], scope_branches text[],
    scope_documents bigint[], scope_vectors bigint[],
    records_json text,
    document_namespaces uuid[], document_ids uuid[], document_scopes uuid[], document_lengths bigint[],
    document_terms bytea[], document_counts bytea[], document_lexemes text[], document_repeated_terms text[],
    vector_namespaces uuid[], vector_ids uuid[], vector_scopes uuid[], vector_embeddings vector[], vector_table text,
    job_namespaces uuid[], job_kinds text[], job_ids uuid[], job_tickets uuid[], job_times bigint[],
    job_second_tickets uuid[], lease_free bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO scopes (namespace, scope, agent, session, branch, documents, vectors, secondary_vectors)
    SELECT x.namespace, x.scope, x.agent, x.session, x.branch, x.documents,
           CASE WHEN vector_table = 'vectors' THEN x.vectors ELSE 0 END,
           CASE WHEN vector_table = 'vectors' THEN 0 ELSE x.vectors END
    FROM unnest(scope_namespaces, scope_ids, scope_agents, scope_sessions, scope_branches, scope_documents,
                scope_vectors) x (namespace, scope, agent, session, branch, documents, vectors)
    ON CONFLICT (namespace, scope) DO UPDATE SET documents = scopes.documents + excluded.documents,
        vectors = scopes.vectors + excluded.vectors,
        secondary_vectors = scopes.secondary_vectors + excluded.secondary_vectors
    WHERE excluded.documents + excluded.vectors + excluded.secondary_vectors > 0;

    {insert_records};

    IF cardinality(document_ids) > 0 THEN
        INSERT INTO keyword_documents (namespace, id, scope, length, terms, counts, lexemes, repeated_terms)
        SELECT x.namespace, x.id, x.scope, x.length, x.terms, x.counts, x.lexemes::tsvector, x.repeated_terms::jsonb
        FROM unnest(document_namespaces, document_ids, document_scopes, document_lengths, document_terms,
                    document_counts, document_lexemes, document_repeated_terms)
             x (namespace, id, scope, length, terms, counts, lexemes, repeated_terms);
    END IF;

    IF cardinality(vector_ids) > 0 THEN
        IF vector_table = 'vectors' THEN
            INSERT INTO vectors (namespace, id, scope, embedding)
            SELECT x.* FROM unnest(vector_namespaces, vector_ids, vector_scopes, vector_embeddings)
                x (namespace, id, scope, embedding);
        ELSE
            INSERT INTO secondary_vectors (namespace, id, scope, embedding)
            SELECT x.* FROM unnest(vector_namespaces, vector_ids, vector_scopes, vector_embeddings)
                x (namespace, id, scope, embedding);
        END IF;
    END IF;

    IF cardinality(job_ids) > 0 THEN
        INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at)
        SELECT x.namespace, x.job, x.id, x.ticket, lease_free, x.queued_at
        FROM unnest(job_namespaces, job_kinds, job_ids, job_tickets, job_times) x (namespace, job, id, ticket,
        queued_at)
        UNION ALL
        SELECT x.namespace, o.part, x.id, x.ticket, lease_free, x.queued_at
        FROM unnest(job_namespaces, job_kinds, job_ids, job_second_tickets, job_times)
                 x (namespace, job, id, ticket, queued_at)
             JOIN index_metadata o ON o.part = 'reembedding'
        WHERE x.job = 'embedding'
        ON CONFLICT (namespace, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
            queued_at = excluded.queued_at, attempts = 0, reason = NULL;
    END IF;
    RETURN true;
END $$;

-- Locks the namespaces (sorted), and returns true if these assumptions of the client about them are true: the keyword
-- index has this analyzer; `assumed_space` is the only embedding space, in the table `vector_table`; no record and no
-- tombstone has a new key; no deleted content has a new hash. Otherwise it returns false; it may have created
-- namespaces then, if another writer created some at the same time.
--
-- The function is VOLATILE, so under READ COMMITTED each statement after the lock has a new snapshot, which includes
-- the commits of earlier holders of the lock.
CREATE FUNCTION memory_lock_if_new(
    locked_namespaces uuid[], locked_tenants text[], locked_users text[], assumed_analyzer text, assumed_space text,
    vector_table text, new_namespaces uuid[], new_ids uuid[], hash_namespaces uuid[], new_hashes bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    number_known bigint;
    number_created bigint;
BEGIN
    LOOP
        PERFORM n.namespace FROM namespaces n WHERE n.namespace = ANY (locked_namespaces) ORDER BY n.namespace
        FOR NO KEY UPDATE;
        GET DIAGNOSTICS number_known = ROW_COUNT;
        IF NOT (
            SELECT count(*) FILTER (WHERE o.part = 'reembedding') = 0
               AND count(*) FILTER (WHERE o.part = 'keywords' AND o.made_by = assumed_analyzer) = 1
               AND count(*) FILTER (WHERE o.part = 'embedding' AND o.made_by = assumed_space) = 1
               AND coalesce(max(o.made_by) FILTER (WHERE o.part = 'serving table'), 'vectors') = vector_table
            FROM index_metadata o
        )
        OR EXISTS (SELECT FROM unnest(new_namespaces, new_ids) k (namespace, id)
                   JOIN records r ON r.namespace = k.namespace AND r.id = k.id)
        OR EXISTS (SELECT FROM unnest(new_namespaces, new_ids) k (namespace, id)
                   JOIN tombstones b ON b.namespace = k.namespace AND b.id = k.id)
        OR EXISTS (SELECT FROM unnest(hash_namespaces, new_hashes) k (namespace, content_hash)
                   JOIN blocked_contents b ON b.namespace = k.namespace AND b.content_hash = k.content_hash)
        THEN
            RETURN false;
        END IF;
        EXIT WHEN number_known = cardinality(locked_namespaces);
        INSERT INTO namespaces (namespace, tenant, username)
        SELECT x.namespace, x.tenant, x.username
        FROM unnest(locked_namespaces, locked_tenants, locked_users) x (namespace, tenant, username)
        ON CONFLICT (namespace) DO NOTHING;
        GET DIAGNOSTICS number_created = ROW_COUNT;
        EXIT WHEN number_known + number_created = cardinality(locked_namespaces);
        -- Another writer has created some of them meanwhile. The next round locks them. If that writer waits for a
        -- namespace that was created here, the server reports a deadlock, and the client repeats the batch in a
        -- transaction.
    END LOOP;
    RETURN true;
END $$;
