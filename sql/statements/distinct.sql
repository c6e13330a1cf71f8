-- DISTINCT rows are ordered by their columns, by the names of the select list or of the tables.

CREATE TABLE t (id INT, a INT, b STRING, s STRUCT<x: INT>) USING delta;

INSERT INTO t VALUES (1, 10, 'x', struct(1)), (2, 10, 'x', struct(2)), (3, 20, NULL, struct(NULL)), (4, NULL, 'y', NULL);

SELECT DISTINCT o.a FROM t AS o ORDER BY o.a DESC;
--| a int
--| 20
--| 10
--| NULL

SELECT DISTINCT b, a FROM t ORDER BY upper(t.b), -t.a;
--| b string, a int
--| NULL, 20
--| 'x', 10
--| 'y', NULL

SELECT DISTINCT o.* FROM t AS o JOIN t AS p ON o.a = p.a ORDER BY o.id;
--| id int, a int, b string, s struct<x:int>
--| 1, 10, 'x', {x: 1}
--| 2, 10, 'x', {x: 2}
--| 3, 20, NULL, {x: NULL}

SELECT DISTINCT a, count(*) AS n FROM t GROUP BY a ORDER BY t.a;
--| a int, n bigint
--| NULL, 1
--| 10, 2
--| 20, 1

SELECT DISTINCT a AS k FROM t ORDER BY k;
--| k int
--| NULL
--| 10
--| 20

SELECT DISTINCT a AS k FROM t ORDER BY t.a;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION

SELECT DISTINCT o.a FROM t AS o JOIN t AS p ON o.a = p.a ORDER BY p.a;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION

SELECT DISTINCT a FROM t ORDER BY count(*);
--! UNSUPPORTED_EXPR_FOR_OPERATOR
