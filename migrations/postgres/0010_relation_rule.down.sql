ALTER TABLE graph_edges DROP COLUMN rule;
