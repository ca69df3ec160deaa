-- Keeps the generation of vectors that serves, in the table `vectors`, and removes the other one.
DELETE FROM vectors WHERE EXISTS (SELECT 1 FROM origins WHERE part = 'serving table' AND made_by = 'second_vectors');
INSERT INTO vectors (record, id, scope, vector)
    SELECT record, id, scope, vector FROM second_vectors
    WHERE EXISTS (SELECT 1 FROM origins WHERE part = 'serving table' AND made_by = 'second_vectors');
DROP TABLE second_vectors;
DELETE FROM backlog WHERE job = 'reembedding';
DELETE FROM origins WHERE part IN ('reembedding', 'serving table');
