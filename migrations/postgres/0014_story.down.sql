-- Removes the views of 0014_story.up.sql. No data is lost.
DROP VIEW memory_edges;
DROP VIEW memory_entities;
DROP VIEW memory_embeddings;
DROP VIEW memory_items;
