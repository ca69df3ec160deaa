-- The objects of the current schema: type, name, and the columns or the definition. The definition of an index is
-- without its settings and its condition, which versions of the server write differently.
SELECT 'table' AS type, c.relname::text AS name, string_agg(a.attname::text, ',' ORDER BY a.attnum) AS definition
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p')
  AND NOT c.relispartition
GROUP BY c.relname
UNION ALL
SELECT 'constraint', c.relname || '.' || k.conname, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND NOT c.relispartition
  AND k.contype IN ('p', 'u', 'f', 'c') AND k.conparentid = 0
UNION ALL
SELECT 'index', c.relname::text,
       split_part(split_part(split_part(pg_get_indexdef(c.oid), ' USING ', 2), ' WITH ', 1), ' WHERE ', 1)
FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND NOT c.relispartition
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid AND k.contype IN ('p', 'u'))
UNION ALL
SELECT 'view', c.relname::text, ''
FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind = 'v'
UNION ALL
SELECT 'function', p.proname::text, ''
FROM pg_proc p WHERE p.pronamespace = to_regnamespace(quote_ident(current_schema()))
ORDER BY 1, 2
