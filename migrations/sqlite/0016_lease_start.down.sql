ALTER TABLE backlog DROP COLUMN leased_at;
