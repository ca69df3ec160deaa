DROP TABLE lease_owners;
ALTER TABLE backlog DROP COLUMN owner;
