-- Removes the views that 0006_companion.up.sql made. No data is lost.
DROP VIEW affection_logs;
DROP VIEW user_profiles;
DROP VIEW key_moments;
DROP VIEW conversations;
