-- Earlier versions read a count for each term: the terms of records without are made anew, in the background.
INSERT OR IGNORE INTO backlog (job, record, leased_until, queued_at)
    SELECT 'keywords', d.record, 0, r.recorded_at FROM keyword_documents d JOIN records r ON r.record = d.record
    WHERE d.terms <> '' AND (d.counts = x'' OR substr(d.counts, 1, 1) = x'00');
DELETE FROM keyword_documents WHERE terms <> '' AND (counts = x'' OR substr(counts, 1, 1) = x'00');
INSERT INTO changes (change, record) SELECT coalesce(max(change), 0) + 2, 0 FROM changes;
DELETE FROM changes WHERE change < (SELECT max(change) FROM changes);
