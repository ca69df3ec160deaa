-- Back to a log that only vectors are read by.
ALTER TABLE changes RENAME TO vector_changes;
