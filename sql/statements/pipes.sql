-- Queries in the pipe syntax: each operator takes the rows of those before it.

CREATE TABLE t (id INT, a INT, b STRING) USING delta;

INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (8, 30, NULL), (9, NULL, 'y');

CREATE TABLE u (id INT, name STRING) USING delta;

INSERT INTO u VALUES (1, 'Ada'), (2, 'Bob'), (2, 'Cy');

FROM t |> WHERE a > 5 AND t.id < 9 |> WHERE b IS NULL OR id = 1 |> SELECT id, a * 2 AS d |> ORDER BY d DESC |> LIMIT 1;
--| id int, d int
--| 8, 60

FROM t |> AGGREGATE count(*) AS n, sum(a) AS s GROUP BY b |> ORDER BY b;
--| b string, n bigint, s bigint
--| NULL, 1, 30
--| 'x', 1, 10
--| 'y', 2, 20

FROM t |> AGGREGATE max(a) GROUP BY id % 2 AS k, b |> WHERE k = 0 |> ORDER BY b;
--| k int, b string, max(a) int
--| 0, NULL, 30
--| 0, 'y', 20

FROM t |> AGGREGATE count(*), sum(a);
--| count(1) bigint, sum(a) bigint
--| 4, 60

FROM t |> EXTEND a + 1 AS c, upper(b) AS d |> DROP b |> ORDER BY id;
--| id int, a int, c int, d string
--| 1, 10, 11, 'X'
--| 2, 20, 21, 'Y'
--| 8, 30, 31, NULL
--| 9, NULL, NULL, 'Y'

FROM t |> EXTEND rank() OVER (ORDER BY a DESC) AS r |> WHERE r <= 2 |> SELECT id, r |> ORDER BY r, id;
--| id int, r int
--| 8, 1
--| 2, 2

FROM t |> AS x |> LEFT JOIN u AS y ON x.id = y.id |> WHERE x.a > 5 |> SELECT x.id, y.name |> ORDER BY id, name;
--| id int, name string
--| 1, 'Ada'
--| 2, 'Bob'
--| 2, 'Cy'
--| 8, NULL

FROM t |> JOIN u USING (id) |> AGGREGATE count(*) GROUP BY id |> ORDER BY id;
--| id int, count(1) bigint
--| 1, 1
--| 2, 2

FROM t |> SELECT id, b |> UNION ALL SELECT 5, 'z' |> ORDER BY id DESC |> OFFSET 1;
--| id int, b string
--| 8, NULL
--| 5, 'z'
--| 2, 'y'
--| 1, 'x'

FROM t |> SELECT DISTINCT b |> ORDER BY b;
--| b string
--| NULL
--| 'x'
--| 'y'

FROM t |> PIVOT (sum(a) FOR b IN ('x', 'y')) |> ORDER BY id;
--| id int, x bigint, y bigint
--| 1, 10, NULL
--| 2, NULL, 20
--| 8, NULL, NULL
--| 9, NULL, NULL

FROM t |> UNPIVOT (v FOR k IN (id, a)) |> ORDER BY v, k;
--| b string, k string, v int
--| 'x', 'id', 1
--| 'y', 'id', 2
--| NULL, 'id', 8
--| 'y', 'id', 9
--| 'x', 'a', 10
--| 'y', 'a', 20
--| NULL, 'a', 30

FROM t |> TABLESAMPLE (100 PERCENT) |> AGGREGATE count(*);
--| count(1) bigint
--| 4

TABLE t |> WHERE id IN (FROM u |> SELECT id) |> SELECT id |> ORDER BY id;
--| id int
--| 1
--| 2

VALUES (1, 2) AS q(x, y) |> EXTEND x + y AS z;
--| x int, y int, z int
--| 1, 2, 3

WITH w AS (FROM t |> WHERE id = 1) FROM w |> SELECT id;
--| id int
--| 1

SELECT * FROM (FROM t |> WHERE id = 1) AS s;
--| id int, a int, b string
--| 1, 10, 'x'

FROM t |> SELECT nothing;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION

FROM t |> DROP nothing;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
