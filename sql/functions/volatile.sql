-- Random values, whose types and some properties are certain, and row numbers.

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

SELECT rand(42), rand(42) AS again, random(0), randn(42), id FROM range(0, 3, 1, 1);
--| rand(42) double, again double, rand(0) double, randn(42) double, id bigint
--| 0.619189370225301, 0.619189370225301, 0.7604953758285915, 2.384479054241165, 0
--| 0.5096018842446481, 0.5096018842446481, 0.5234194256885571, 0.1920934041293524, 1
--| 0.8325259388871524, 0.8325259388871524, 0.0953472826424725, 0.7337336533286575, 2

SELECT rand(NULL), rand(-1), rand(4294967297), randn(-3), rand(9223372036854775807);
--| rand(NULL) double, rand(-1) double, rand(4294967297) double, randn(-3) double, rand(9223372036854775807) double
--| 0.7604953758285915, 0.3030262136082562, 0.12037183417121089, 1.5348754337490433, 0.17715881442674208

SELECT id, r FROM (SELECT id, rand(42) AS r FROM range(0, 10, 1, 1) WHERE id > 2) WHERE r < 0.55;
--| id bigint, r double
--| 4, 0.5096018842446481
--| 6, 0.26322809041172357
--| 8, 0.5173283545794627

SELECT rand(id) FROM range(3);
--! SEED_EXPRESSION_IS_UNFOLDABLE

SELECT rand(5.0);
--! DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE
