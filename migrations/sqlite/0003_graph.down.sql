-- Removes everything that 0003_graph.up.sql made, with all data.
DROP TABLE graph_edges;
DROP TABLE graph_aliases;
DROP TABLE graph_entities;
