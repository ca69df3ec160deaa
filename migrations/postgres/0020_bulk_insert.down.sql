-- No data is lost.
DROP FUNCTION memory_insert_new_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[],
    uuid[], text[], text[], text, text, uuid[], uuid[], uuid[], bytea[]);
DROP FUNCTION memory_insert_batch(
    uuid[], uuid[], text[], text[], text[], bigint[], bigint[], text,
    uuid[], uuid[], uuid[], bigint[], bytea[], bytea[], text[],
    uuid[], uuid[], uuid[], vector[], text,
    bigint, uuid[], text[], uuid[], uuid[], bigint[], uuid[]);
