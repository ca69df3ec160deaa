-- Removes everything that 0003_synonyms.up.sql made.
DROP TABLE synonym_verdicts;
