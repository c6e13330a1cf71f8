-- Functions that choose between values compute only what they choose.

SELECT IF(true, 1, 2), IF(CAST(NULL AS BOOLEAN), 1, 2), IF(false, 'a', 'b');
--| (IF(true, 1, 2)) int, (IF(CAST(NULL AS BOOLEAN), 1, 2)) int, (IF(false, a, b)) string
--| 1, 2, 'b'

SELECT CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'b' ELSE 'c' END, CASE 3 WHEN 1 THEN 'a' ELSE 'z' END;
--| CASE WHEN (1 > 2) THEN a WHEN (2 > 1) THEN b ELSE c END string, CASE WHEN (3 = 1) THEN a ELSE z END string
--| 'b', 'z'

SELECT coalesce(NULL, 2, 3), nvl(NULL, 'a'), ifnull(1, 2), nvl2(NULL, 1, 2), nullif(1, 1), nullif(1, 2);
--| coalesce(NULL, 2, 3) int, nvl(NULL, a) string, ifnull(1, 2) int, nvl2(NULL, 1, 2) int, nullif(1, 1) int, nullif(1, 2) int
--| 2, 'a', 1, 2, NULL, 1

SELECT IF(1 > 2, 1 DIV 0, 5), coalesce(1, 1 DIV 0), CASE WHEN true THEN 1 ELSE 1 DIV 0 END;
--| (IF((1 > 2), (1 div 0), 5)) bigint, coalesce(1, (1 div 0)) bigint, CASE WHEN true THEN 1 ELSE (1 div 0) END bigint
--| 5, 1, 1

SELECT isnull(NULL), isnotnull(1), NULL <=> NULL, 1 <=> NULL, NULL = NULL;
--| (NULL IS NULL) boolean, (1 IS NOT NULL) boolean, (NULL <=> NULL) boolean, (1 <=> NULL) boolean, (NULL = NULL) boolean
--| true, true, true, false, NULL

SELECT 1 IN (1, 2), 3 IN (1, NULL), 2 BETWEEN 1 AND 3, NOT true;
--| (1 IN (1, 2)) boolean, (3 IN (1, NULL)) boolean, between(2, 1, 3) boolean, (NOT true) boolean
--| true, NULL, true, false

SELECT true AND NULL, false AND NULL, true OR NULL, false OR NULL;
--| (true AND NULL) boolean, (false AND NULL) boolean, (true OR NULL) boolean, (false OR NULL) boolean
--| NULL, false, true, NULL

SELECT 1 IS DISTINCT FROM NULL, true IS TRUE, NULL IS NOT FALSE;
--| (NOT (1 <=> NULL)) boolean, (true <=> true) boolean, (NOT (NULL <=> false)) boolean
--| true, true, true

SELECT coalesce(assert_true(2 > 1), 7) AS asserted, typeof(IF(true, 1, 2.5));
--| asserted int, typeof((IF(true, 1, 2.5))) string
--| 7, 'decimal(11,1)'

SELECT coalesce(1, 2.5), IF(false, 1, CAST(2 AS BIGINT));
--| coalesce(1, 2.5) decimal(11,1), (IF(false, 1, CAST(2 AS BIGINT))) bigint
--| 1.0, 2

SELECT assert_true(1 > 2, 'it is not');
--! USER_RAISED_EXCEPTION

SELECT raise_error('stop');
--! USER_RAISED_EXCEPTION

SELECT IF(true, raise_error('chosen'), 1);
--! USER_RAISED_EXCEPTION

SELECT decode(2, 1, 'a', 2, 'b', 'c'), decode(5, 1, 'a'), decode(NULL, NULL, 'n', 'c'), decode(X'61', 'UTF-8');
--| decode(2, 1, a, 2, b, c) string, decode(5, 1, a) string, decode(NULL, NULL, n, c) string, decode(X'61', UTF-8) string
--| 'b', NULL, 'n', 'a'

SELECT m.a, m.b, m['a'], s.m.k FROM (SELECT map('a', 1) AS m, named_struct('m', map('k', 2)) AS s) AS t WHERE m.a = 1;
--| a int, b int, m[a] int, k int
--| 1, NULL, 1, 2

SELECT v.a FROM VALUES 1, 2 AS v(a) ORDER BY a DESC;
--| a int
--| 2
--| 1
