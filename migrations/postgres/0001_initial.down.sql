-- Removes everything that 0001_initial.up.sql made, with all data. The extensions stay: others may use them.
DROP TABLE vectors;
DROP TABLE keyword_documents;
DROP TABLE origins;
DROP TABLE backlog;
DROP TABLE barred_contents;
DROP TABLE tombstones;
DROP TABLE records;
DROP TABLE addresses;
DROP TABLE namespaces;
