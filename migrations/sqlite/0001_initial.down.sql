-- Removes everything that 0001_initial.up.sql made, with all data.
DROP TABLE vector_changes;
DROP TABLE vectors;
DROP TABLE keyword_tokens;
DROP TABLE keyword_documents;
DROP TABLE origins;
DROP TABLE backlog;
DROP TABLE barred_contents;
DROP TABLE tombstones;
DROP TABLE records;
DROP TABLE scopes;
DROP TABLE namespaces;
DROP TABLE tenants;
