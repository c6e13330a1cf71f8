-- Casts after two colons, to texts with a length, and parts of values that were just made. Literals have Spark's names.

SELECT '1'::INT, 1::STRING, 1.5::INT + 1, 2 - 1::INT, (1 + 1)::STRING, array(1)::ARRAY<STRING> AS texts, NULL::INT, '2020-01-01'::DATE;
--| CAST(1 AS INT) int, CAST(1 AS STRING) string, (CAST(1.5 AS INT) + 1) int, (2 - CAST(1 AS INT)) int, CAST((1 + 1) AS STRING) string, texts array<string>, CAST(NULL AS INT) int, CAST(2020-01-01 AS DATE) date
--| 1, '1', 2, 1, '2', ['1'], NULL, 2020-01-01

SELECT CAST(1 AS VARCHAR(5)), CAST('abcdefgh' AS VARCHAR(3)), CAST('abc' AS CHAR(5)), 'abc'::VARCHAR(2), TRY_CAST('abc' AS VARCHAR(2));
--| CAST(1 AS STRING) string, CAST(abcdefgh AS STRING) string, CAST(abc AS STRING) string, CAST(abc AS STRING) string, TRY_CAST(abc AS STRING) string
--| '1', 'abcdefgh', 'abc', 'abc', 'abc'

SELECT array(1, 2)[1], array(3)[0] + 1, map('a', 1)['a'], struct(1, 2).col1, split('a,b', ',')[1], transform(array(1), x -> x + 1)[0];
--| array(1, 2)[1] int, (array(3)[0] + 1) int, map(a, 1)[a] int, struct(1, 2).col1 int, split(a,b, ,, -1)[1] string, transform(array(1), lambdafunction((namedlambdavariable() + 1), namedlambdavariable()))[0] int
--| 2, 4, 1, 1, 'b', 2

SELECT array(1)[3];
--! INVALID_ARRAY_INDEX

SELECT substring('Spark' FROM 2 FOR 3), substring('Spark' FROM 2);
--| substring(Spark, 2, 3) string, substring(Spark, 2, 2147483647) string
--| 'par', 'park'

SELECT X'1A2b', x'f', TIMESTAMP '2020-01-05', TIMESTAMP '2020-01-05T10:11', TIMESTAMP '2020-01-05 10:11:12.120+02:00', TIMESTAMP_NTZ '2020-01-05', DATE '2020-1-5';
--| X'1A2B' binary, X'0F' binary, TIMESTAMP '2020-01-05 00:00:00' timestamp, TIMESTAMP '2020-01-05 10:11:00' timestamp, TIMESTAMP '2020-01-05 08:11:12.12' timestamp, TIMESTAMP_NTZ '2020-01-05 00:00:00' timestamp_ntz, DATE '2020-01-05' date
--| X'1A2B', X'0F', 2020-01-05 00:00:00, 2020-01-05 10:11:00, 2020-01-05 08:11:12.120000, 2020-01-05 00:00:00, 2020-01-05

SELECT CAST('2020-02-30' AS DATE);
--! CAST_INVALID_INPUT

SELECT try_cast('2020-02-30' AS DATE), try_cast('2020-01-05 25:00:00' AS TIMESTAMP), try_cast('2020-01-05T10:11:12Z' AS TIMESTAMP);
--| TRY_CAST(2020-02-30 AS DATE) date, TRY_CAST(2020-01-05 25:00:00 AS TIMESTAMP) timestamp, TRY_CAST(2020-01-05T10:11:12Z AS TIMESTAMP) timestamp
--| NULL, NULL, 2020-01-05 10:11:12

VALUES (1, 'a'), (2, 'b') AS q(x, y);
--| x int, y string
--| 1, 'a'
--| 2, 'b'

WITH w AS (SELECT 1 AS x) TABLE w;
--| x int
--| 1

WITH w AS (SELECT 1 AS x) FROM w SELECT x + 1;
--| (x + 1) int
--| 2

CREATE TABLE t (id INT, tags ARRAY<STRING>) USING delta;

INSERT INTO t VALUES (1, array('p', 'q')), (2, array()), (3, NULL);

SELECT t.id, e FROM t LEFT JOIN LATERAL explode(tags) AS x(e) ON true ORDER BY 1, 2;
--| id int, e string
--| 1, 'p'
--| 1, 'q'
--| 2, NULL
--| 3, NULL

SELECT t.id, e FROM t LEFT JOIN LATERAL explode(tags) AS x(e) ON e = 'p' ORDER BY 1, 2;
--| id int, e string
--| 1, 'p'
--| 2, NULL
--| 3, NULL
