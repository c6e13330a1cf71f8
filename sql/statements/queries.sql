-- Queries have Spark's meaning: where NULL sorts, how integers divide, which names columns get.

CREATE TABLE t (id INT, name STRING, price DOUBLE, day DATE) USING delta;

INSERT INTO t VALUES (1, 'a', 1.5, DATE'2026-01-01'), (2, NULL, double('NaN'), DATE'2026-01-02'), (3, 'b', -0.0, NULL), (4, 'a', NULL, DATE'2026-01-01');

SELECT id, price FROM t ORDER BY price, id;
--| id int, price double
--| 4, NULL
--| 3, 0.0
--| 1, 1.5
--| 2, NaN

SELECT id, name FROM t ORDER BY name DESC, id;
--| id int, name string
--| 3, 'b'
--| 1, 'a'
--| 4, 'a'
--| 2, NULL

SELECT name, count(*), sum(price), min(price) AS least FROM t WHERE id <> 2 GROUP BY name ORDER BY name;
--| name string, count(1) bigint, sum(price) double, least double
--| 'a', 2, 1.5, 1.5
--| 'b', 1, 0.0, 0.0

SELECT 7 / 2, 7 DIV 2, -7 % 3, 1.10 * 2.05, 10 / 4.0;
--| (7 / 2) double, (7 div 2) bigint, (-7 % 3) int, (1.10 * 2.05) decimal(7,4), (10 / 4.0) decimal(9,6)
--| 3.5, 3, -1, 2.2550, 2.500000

SELECT id, row_number() OVER (PARTITION BY name ORDER BY id DESC) AS place FROM t ORDER BY id;
--| id int, place int
--| 1, 2
--| 2, 1
--| 3, 1
--| 4, 1

SELECT day, max(id) AS id FROM t GROUP BY ALL ORDER BY day;
--| day date, id int
--| NULL, 3
--| 2026-01-01, 4
--| 2026-01-02, 2

SELECT * EXCEPT (price) FROM t QUALIFY row_number() OVER (ORDER BY id DESC) <= 2 ORDER BY id;
--| id int, name string, day date
--| 3, 'b', NULL
--| 4, 'a', 2026-01-01

WITH named AS (SELECT * FROM t WHERE name IS NOT NULL) SELECT a.id, b.id AS other FROM named a JOIN named b ON a.name = b.name AND a.id < b.id;
--| id int, other int
--| 1, 4

SELECT id, part FROM t LATERAL VIEW explode(array(name, 'x')) AS part ORDER BY id, part;
--| id int, part string
--| 1, 'a'
--| 1, 'x'
--| 2, NULL
--| 2, 'x'
--| 3, 'b'
--| 3, 'x'
--| 4, 'a'
--| 4, 'x'

SELECT id FROM t WHERE id IN (SELECT max(id) FROM t GROUP BY name) ORDER BY id;
--| id int
--| 2
--| 3
--| 4

SELECT * FROM (SELECT name, id FROM t) PIVOT (count(id) FOR name IN ('a', 'b'));
--| a bigint, b bigint
--| 2, 1

SELECT id FROM t EXCEPT SELECT 1 UNION ALL SELECT 9;
--| id int
--| 2
--| 3
--| 4
--| 9

SELECT s, struct(n, s) < struct(6, 'z') AS is_less, rank() OVER (ORDER BY struct(n, s) DESC) AS place FROM VALUES ('a', 10), ('b', NULL), ('c', 5) AS t(s, n) ORDER BY array(n, 1), s;
--| s string, is_less boolean, place int
--| 'b', true, 3
--| 'c', true, 2
--| 'a', false, 1

SELECT struct(1 AS a, 'x' AS b) AS s UNION SELECT struct(2 AS c, 'y' AS d) UNION SELECT named_struct('b', 1, 'a', 'x');
--| s struct<a:int,b:string>
--| {a: 1, b: 'x'}
--| {a: 2, b: 'y'}
