-- Which records' terms or vectors have changed, for processes that keep them in memory. The latest row is never removed.
ALTER TABLE vector_changes RENAME TO changes;
