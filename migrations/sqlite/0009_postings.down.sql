-- Earlier versions find nothing without their own index: the terms are made anew, in the background.
ALTER TABLE scopes ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
CREATE VIRTUAL TABLE keyword_tokens USING fts5 (
    tokens, content = '', detail = none, columnsize = 0, tokenize = 'ascii'
);
INSERT INTO keyword_tokens (keyword_tokens, rank) VALUES ('secure-delete', 1);
INSERT OR IGNORE INTO backlog (job, record, leased_until, queued_at)
    SELECT 'keywords', d.record, 0, r.recorded_at FROM keyword_documents d JOIN records r ON r.record = d.record;
DELETE FROM keyword_documents;
INSERT INTO changes (change, record) SELECT coalesce(max(change), 0) + 2, 0 FROM changes;
DELETE FROM changes WHERE change < (SELECT max(change) FROM changes);
