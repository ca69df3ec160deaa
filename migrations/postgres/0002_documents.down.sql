-- Removes everything that 0002_documents.up.sql made. Of data only the synonyms are lost.
DROP FUNCTION search_memory_events_keywords;
DROP FUNCTION search_memory_events;
DROP VIEW memory_events;
DROP VIEW affection_logs;
DROP VIEW user_profiles;
DROP VIEW key_moments;
DROP VIEW summaries;
DROP VIEW conversations;
DROP TABLE synonym_map;
DROP FUNCTION memory_int;
DROP FUNCTION memory_time;
DROP FUNCTION memory_ns;
