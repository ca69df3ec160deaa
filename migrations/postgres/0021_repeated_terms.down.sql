-- No data is lost.
DROP FUNCTION memory_insert_new_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[], text[],
    uuid[], text[], text[], text, text, uuid[], uuid[], uuid[], bytea[]);
DROP FUNCTION memory_insert_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[], text[]);
ALTER TABLE keyword_documents DROP COLUMN repeated_terms;

-- Inserts the parts of a batch. Parameters:
--  1-7    addresses: ns, address, agent, session, branch, number of documents, number of vectors
--  8      records, a JSON array
--  9-15   keyword documents: ns, id, address, length, terms, counts, lexemes
--  16-19  vectors: ns, id, address, embedding
--  20     their table: vectors or second_vectors
--  21     lease end of a job that nobody works on
--  22-26  jobs: ns, job, id, ticket, time
--  27     ticket of the job for the second table, if there is one
CREATE FUNCTION memory_insert_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO addresses (ns, address, agent, session, branch, documents, vectors, second_vectors)
    SELECT x.ns, x.address, x.agent, x.session, x.branch, x.documents,
           CASE WHEN $20 = 'vectors' THEN x.vectors ELSE 0 END, CASE WHEN $20 = 'vectors' THEN 0 ELSE x.vectors END
    FROM unnest($1, $2, $3, $4, $5, $6, $7) x (ns, address, agent, session, branch, documents, vectors)
    ON CONFLICT (ns, address) DO UPDATE SET documents = addresses.documents + excluded.documents,
        vectors = addresses.vectors + excluded.vectors,
        second_vectors = addresses.second_vectors + excluded.second_vectors
    WHERE excluded.documents + excluded.vectors + excluded.second_vectors > 0;

    INSERT INTO records (ns, id, address, revision, state, kind, trust, occurred_at, recorded_at, valid_from,
        valid_until, role, speaker, scene, topic, emotion, confidence, importance, message_id, sequence, round,
        entities, tags, derived_from, metadata, text, folded, content_hash, pinned, expires_at)
    SELECT x.* FROM json_to_recordset($8::json) AS x (ns uuid, id uuid, address uuid, revision bigint, state text,
        kind text, trust text, occurred_at bigint, recorded_at bigint, valid_from bigint, valid_until bigint,
        role text, speaker text, scene text, topic text, emotion text, confidence double precision,
        importance double precision, message_id text, sequence bigint, round bigint, entities text[], tags text[],
        derived_from uuid[], metadata json, text text, folded text, content_hash bytea, pinned boolean,
        expires_at bigint);

    IF cardinality($10) > 0 THEN
        INSERT INTO keyword_documents (ns, id, address, length, terms, counts, lexemes)
        SELECT x.ns, x.id, x.address, x.length, x.terms, x.counts, x.lexemes::tsvector
        FROM unnest($9, $10, $11, $12, $13, $14, $15) x (ns, id, address, length, terms, counts, lexemes);
    END IF;

    IF cardinality($17) > 0 THEN
        IF $20 = 'vectors' THEN
            INSERT INTO vectors (ns, id, address, embedding)
            SELECT x.* FROM unnest($16, $17, $18, $19) x (ns, id, address, embedding);
        ELSE
            INSERT INTO second_vectors (ns, id, address, embedding)
            SELECT x.* FROM unnest($16, $17, $18, $19) x (ns, id, address, embedding);
        END IF;
    END IF;

    IF cardinality($24) > 0 THEN
        INSERT INTO backlog (ns, job, id, ticket, leased_until, queued_at)
        SELECT x.ns, x.job, x.id, x.ticket, $21, x.queued_at
        FROM unnest($22, $23, $24, $25, $26) x (ns, job, id, ticket, queued_at)
        UNION ALL
        SELECT x.ns, o.part, x.id, x.ticket, $21, x.queued_at
        FROM unnest($22, $23, $24, $27, $26) x (ns, job, id, ticket, queued_at)
             JOIN origins o ON o.part = 'reembedding'
        WHERE x.job = 'embedding'
        ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
            queued_at = excluded.queued_at, attempts = 0, reason = NULL;
    END IF;
END $$;

-- Locks the namespaces 28-30 (ns, tenant, user; sorted), and inserts the batch 1-27 if these assumptions of the client
-- are true: the keyword index has the analyzer 31; 32 is the only embedding space, in the table 20; no record and no
-- tombstone has a key 33-34 (ns, id); no deleted content has a hash 35-36 (ns, hash). Otherwise it returns false and
-- inserts no records. It may have created namespaces then, if another writer created some at the same time.
--
-- The function is VOLATILE, so under READ COMMITTED each statement after the lock has a new snapshot, which includes
-- the commits of earlier holders of the lock.
CREATE FUNCTION memory_insert_new_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[],
    uuid[], text[], text[], text, text, uuid[], uuid[], uuid[], bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    known_namespaces bigint;
    new_namespaces bigint;
BEGIN
    LOOP
        PERFORM n.ns FROM namespaces n WHERE n.ns = ANY ($28) ORDER BY n.ns FOR NO KEY UPDATE;
        GET DIAGNOSTICS known_namespaces = ROW_COUNT;
        IF NOT (
            SELECT count(*) FILTER (WHERE o.part = 'reembedding') = 0
               AND count(*) FILTER (WHERE o.part = 'keywords' AND o.made_by = $31) = 1
               AND count(*) FILTER (WHERE o.part = 'embedding' AND o.made_by = $32) = 1
               AND coalesce(max(o.made_by) FILTER (WHERE o.part = 'serving table'), 'vectors') = $20
            FROM origins o
        )
        OR EXISTS (SELECT FROM unnest($33, $34) k (ns, id) JOIN records r ON r.ns = k.ns AND r.id = k.id)
        OR EXISTS (SELECT FROM unnest($33, $34) k (ns, id) JOIN tombstones b ON b.ns = k.ns AND b.id = k.id)
        OR EXISTS (SELECT FROM unnest($35, $36) k (ns, content_hash)
                   JOIN barred_contents b ON b.ns = k.ns AND b.content_hash = k.content_hash)
        THEN
            RETURN false;
        END IF;
        EXIT WHEN known_namespaces = cardinality($28);
        INSERT INTO namespaces (ns, tenant, username)
        SELECT x.ns, x.tenant, x.username FROM unnest($28, $29, $30) x (ns, tenant, username)
        ON CONFLICT (ns) DO NOTHING;
        GET DIAGNOSTICS new_namespaces = ROW_COUNT;
        EXIT WHEN known_namespaces + new_namespaces = cardinality($28);
        -- Another writer has created some of them meanwhile. The next round locks them. If that writer waits for a
        -- namespace that was created here, the server reports a deadlock, and the client repeats the batch in a
        -- transaction.
    END LOOP;
    PERFORM memory_insert_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, $22, $23, $24, $25, $26, $27);
    RETURN true;
END $$;
