-- Rows and values that a statement cannot have.

CREATE TABLE t (id INT NOT NULL, n INT) USING delta;

--? one node: a row with too many values is told from a change of the schema
INSERT INTO t VALUES (1, 2, 3);
--! DELTA_METADATA_MISMATCH

--? one node: DuckDB computes VALUES row by row, and raises without Spark's class
INSERT INTO t VALUES (1, 1 / 0);
--! INVALID_INLINE_TABLE.FAILED_SQL_EXPRESSION_EVALUATION

--? one node: DuckDB computes VALUES row by row, and raises without Spark's class
INSERT INTO t VALUES (CAST('x' AS INT), 1);
--! INVALID_INLINE_TABLE.FAILED_SQL_EXPRESSION_EVALUATION

SELECT CAST(3000000000 AS INT);
--! CAST_OVERFLOW

SELECT 2147483647 + 1;
--! ARITHMETIC_OVERFLOW

SELEC 1;
--! PARSE_SYNTAX_ERROR
