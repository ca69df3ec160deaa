-- Removes everything that 0002_synonyms.up.sql made, with all data.
DROP TABLE synonym_verdicts;
DROP TABLE synonym_groups;
