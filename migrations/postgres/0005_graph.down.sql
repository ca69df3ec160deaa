-- Removes everything that 0005_graph.up.sql made, with all data.
DROP TABLE graph_edges;
DROP TABLE graph_aliases;
DROP TABLE graph_entities;
