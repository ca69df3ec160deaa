-- The id of the rule that made a relation, `model` for a language model; nothing for one that a caller stated.
ALTER TABLE graph_edges ADD COLUMN rule TEXT;
