-- Earlier versions do not know this job, and would not be able to read its failures.
DELETE FROM backlog WHERE job = 'profile';
ALTER TABLE backlog DROP COLUMN queued_at;
