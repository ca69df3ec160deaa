-- Removes everything, with all data, except the extensions, which others may use. A table comes before the tables that
-- it refers to. The program has removed the sets of views and its functions before.
DROP TABLE record_groups;
DROP TABLE audit_log;
DROP TABLE audit_chains;
DROP TABLE synonym_verdicts;
DROP TABLE synonym_groups;
DROP TABLE graph_edges;
DROP TABLE graph_aliases;
DROP TABLE graph_entities;
DROP TABLE secondary_vectors;
DROP TABLE vectors;
DROP TABLE keyword_documents;
DROP TABLE index_metadata;
DROP TABLE lease_owners;
DROP TABLE jobs;
DROP TABLE blocked_contents;
DROP TABLE tombstones;
DROP TABLE records;
DROP FUNCTION memory_add_to_groups;
DROP FUNCTION memory_subtract_from_groups;
DROP FUNCTION memory_record_edited_at;
DROP FUNCTION memory_record_app;
DROP TABLE scopes;
DROP TABLE namespaces;
