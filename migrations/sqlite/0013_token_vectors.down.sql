DROP TABLE second_vector_tokens;
DROP TABLE vector_tokens;
