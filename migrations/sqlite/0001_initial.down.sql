-- Removes everything, with all data. A table comes before the tables that it refers to. The program has removed the
-- sets of views before.
DROP TABLE record_groups;
DROP TABLE audit_log;
DROP TABLE audit_chains;
DROP TABLE synonym_verdicts;
DROP TABLE synonym_groups;
DROP TABLE graph_edges;
DROP TABLE graph_aliases;
DROP TABLE graph_entities;
DROP TABLE changes;
DROP TABLE secondary_vector_tokens;
DROP TABLE vector_tokens;
DROP TABLE secondary_vectors;
DROP TABLE vectors;
DROP TABLE keyword_documents;
DROP TABLE index_metadata;
DROP TABLE lease_owners;
DROP TABLE jobs;
DROP TABLE blocked_contents;
DROP TABLE tombstones;
DROP TABLE derivations;
DROP TABLE records;
DROP TABLE scopes;
DROP TABLE namespaces;
DROP TABLE tenants;
