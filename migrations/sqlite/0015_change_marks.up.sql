-- A random number for each change, drawn when the change is written. An index cache stores the mark of its newest
-- change. After a backup is restored, the same change numbers get other marks, so that newer caches are not used.
ALTER TABLE changes ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
-- A random number that identifies this database. Caches of another database, or of an earlier schema, are not used.
INSERT OR REPLACE INTO origins (part, made_by) VALUES ('store id', lower(hex(randomblob(8))));
DELETE FROM origins WHERE part = 'side files';
