-- Values at random, of which the types and some properties are certain, and the numbers of rows.

SELECT typeof(rand()) AS a, typeof(random()) AS b, typeof(randn()) AS c, typeof(uuid()) AS d, typeof(shuffle(array(1, 2))) AS e;
--| a string, b string, c string, d string, e string
--| 'double', 'double', 'double', 'string', 'array<int>'

SELECT count(DISTINCT r) AS numbers, min(r) >= 0 AND max(r) < 1 AS within, min(length(u)) AS length FROM (SELECT rand() AS r, uuid() AS u FROM range(1000));
--| numbers bigint, within boolean, length int
--| 1000, true, 36

SELECT sort_array(shuffle(array(3, 1, 2))) AS parts;
--| parts array<int>
--| [1, 2, 3]

SELECT sum(s * s) AS n FROM (SELECT sign(rand() - 0.5) AS s FROM range(100));
--| n double
--| 100.0

SELECT count(*) BETWEEN 300 AND 700 AS half FROM range(1000) WHERE rand() < 0.5 AND 1 / (id + 1) > 0;
--| half boolean
--| true

SELECT count(*) BETWEEN 300 AND 700 AS half FROM range(1000) WHERE id < rand() * 1000;
--| half boolean
--| true

SELECT max(b - a) >= 0 AS ordered FROM (SELECT a, lead(a) OVER (ORDER BY n) AS b FROM (SELECT a, monotonically_increasing_id() AS n FROM (SELECT rand() AS a FROM range(0, 10, 1, 1) ORDER BY a)));
--| ordered boolean
--| true

SELECT monotonically_increasing_id() AS n, id FROM range(0, 3, 1, 1);
--| n bigint, id bigint
--| 0, 0
--| 1, 1
--| 2, 2

SELECT n, count(*) AS rows FROM (SELECT monotonically_increasing_id() AS n FROM range(0, 4, 1, 1) WHERE id > 1) GROUP BY n;
--| n bigint, rows bigint
--| 0, 1
--| 1, 1

SELECT random() IS NULL, rand() > 2;
--| (rand() IS NULL) boolean, (rand() > 2) boolean
--| false, false
