-- Lets the server rank the records of a keyword search: lexemes select the records with a term, and the new column has
-- the number of occurrences. Before, the client ranked all records with a query term.

-- The terms that a record contains more than once, with the number of occurrences; NULL if there are none.
ALTER TABLE keyword_documents ADD COLUMN repeated_terms jsonb;

-- Returns the repeated terms of the columns `terms` and `counts`. The counts are LEB128 numbers: one for each term, or a
-- 0 and then, for each term with more than one occurrence, the number of preceding terms with one occurrence, and the
-- number of occurrences. Returns NULL for terms with a NUL character, which JSON cannot contain, and for damaged columns.
CREATE FUNCTION memory_repeated_terms(terms bytea, counts bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    words text[];
    is_short boolean := length(counts) = 0 OR get_byte(counts, 0) = 0;
    is_count boolean := NOT is_short;
    repeated jsonb := '{}';
    number bigint := 0;
    bits int := 0;
    word bigint := 1;
    byte int;
BEGIN
    words := string_to_array(convert_from(terms, 'UTF8'), ' ');
    FOR i IN CASE WHEN is_short THEN 1 ELSE 0 END .. length(counts) - 1 LOOP
        byte := get_byte(counts, i);
        number := number | ((byte & 127)::bigint << bits);
        bits := bits + 7;
        CONTINUE WHEN byte > 127;
        IF NOT is_count THEN
            word := word + number;
        ELSE
            IF number > 1 AND word <= cardinality(words) THEN
                repeated := repeated || jsonb_build_object(words[word], number);
            END IF;
            word := word + 1;
        END IF;
        is_count := NOT (is_short AND is_count);
        number := 0;
        bits := 0;
    END LOOP;
    RETURN nullif(repeated, '{}');
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- Returns true if the server can count these terms in a search of the owner with this suffix.
CREATE FUNCTION memory_is_countable(terms bytea, suffix text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF position('\x00'::bytea IN terms) > 0 THEN
        RETURN false;
    END IF;
    RETURN position(left(suffix, 4) IN
        replace(convert_from(terms, 'UTF8'), ' ', left(suffix, 3) || ' ') || left(suffix, 3)) = 0;
EXCEPTION WHEN OTHERS THEN
    RETURN true;
END $$;

-- A record with a term that the server cannot count gets the lexeme that every search includes: a blank, and the suffix
-- of the owner with twelve characters. Such a term has a NUL character; or, with the first three characters of the suffix
-- appended, it contains the first four, so that a search of the whole tenant may take it for a shorter term. The same rule
-- is in `LexemeOwner::vector`. Both types change in one statement, so that the table and its indexes are written once.
ALTER TABLE keyword_documents
    ALTER COLUMN repeated_terms TYPE jsonb USING memory_repeated_terms(terms, counts),
    ALTER COLUMN lexemes TYPE tsvector USING CASE
        WHEN lexemes = '' OR memory_is_countable(terms, right((tsvector_to_array(lexemes))[1], 12)) THEN lexemes
        ELSE lexemes || array_to_tsvector(ARRAY[' ' || right((tsvector_to_array(lexemes))[1], 12)])
    END;
DROP FUNCTION memory_repeated_terms(bytea, bytea);
DROP FUNCTION memory_is_countable(bytea, text);

-- The functions of the migration before, with one more parameter.
DROP FUNCTION memory_insert_new_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[],
    uuid[], text[], text[], text, text, uuid[], uuid[], uuid[], bytea[]);
DROP FUNCTION memory_insert_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[]);

-- Inserts the parts of a batch. Parameters:
--  1-7    addresses: ns, address, agent, session, branch, number of documents, number of vectors
--  8      records, a JSON array
--  9-15   keyword documents: ns, id, address, length, terms, counts, lexemes
--  16-19  vectors: ns, id, address, embedding
--  20     their table: vectors or second_vectors
--  21     lease end of a job that nobody works on
--  22-26  jobs: ns, job, id, ticket, time
--  27     ticket of the job for the second table, if there is one
--  28     repeated terms of the keyword documents
CREATE FUNCTION memory_insert_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[], text[]
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
        INSERT INTO keyword_documents (ns, id, address, length, terms, counts, lexemes, repeated_terms)
        SELECT x.ns, x.id, x.address, x.length, x.terms, x.counts, x.lexemes::tsvector, x.repeated_terms::jsonb
        FROM unnest($9, $10, $11, $12, $13, $14, $15, $28)
             x (ns, id, address, length, terms, counts, lexemes, repeated_terms);
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

-- Locks the namespaces 29-31 (ns, tenant, user; sorted), and inserts the batch 1-28 if these assumptions of the client
-- are true: the keyword index has the analyzer 32; 33 is the only embedding space, in the table 20; no record and no
-- tombstone has a key 34-35 (ns, id); no deleted content has a hash 36-37 (ns, hash). Otherwise it returns false and
-- inserts no records. It may have created namespaces then, if another writer created some at the same time.
--
-- The function is VOLATILE, so under READ COMMITTED each statement after the lock has a new snapshot, which includes
-- the commits of earlier holders of the lock.
CREATE FUNCTION memory_insert_new_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[], text[],
    uuid[], text[], text[], text, text, uuid[], uuid[], uuid[], bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    known_namespaces bigint;
    new_namespaces bigint;
BEGIN
    LOOP
        PERFORM n.ns FROM namespaces n WHERE n.ns = ANY ($29) ORDER BY n.ns FOR NO KEY UPDATE;
        GET DIAGNOSTICS known_namespaces = ROW_COUNT;
        IF NOT (
            SELECT count(*) FILTER (WHERE o.part = 'reembedding') = 0
               AND count(*) FILTER (WHERE o.part = 'keywords' AND o.made_by = $32) = 1
               AND count(*) FILTER (WHERE o.part = 'embedding' AND o.made_by = $33) = 1
               AND coalesce(max(o.made_by) FILTER (WHERE o.part = 'serving table'), 'vectors') = $20
            FROM origins o
        )
        OR EXISTS (SELECT FROM unnest($34, $35) k (ns, id) JOIN records r ON r.ns = k.ns AND r.id = k.id)
        OR EXISTS (SELECT FROM unnest($34, $35) k (ns, id) JOIN tombstones b ON b.ns = k.ns AND b.id = k.id)
        OR EXISTS (SELECT FROM unnest($36, $37) k (ns, content_hash)
                   JOIN barred_contents b ON b.ns = k.ns AND b.content_hash = k.content_hash)
        THEN
            RETURN false;
        END IF;
        EXIT WHEN known_namespaces = cardinality($29);
        INSERT INTO namespaces (ns, tenant, username)
        SELECT x.ns, x.tenant, x.username FROM unnest($29, $30, $31) x (ns, tenant, username)
        ON CONFLICT (ns) DO NOTHING;
        GET DIAGNOSTICS new_namespaces = ROW_COUNT;
        EXIT WHEN known_namespaces + new_namespaces = cardinality($29);
        -- Another writer has created some of them meanwhile. The next round locks them. If that writer waits for a
        -- namespace that was created here, the server reports a deadlock, and the client repeats the batch in a
        -- transaction.
    END LOOP;
    PERFORM memory_insert_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, $22, $23, $24, $25, $26, $27, $28);
    RETURN true;
END $$;
