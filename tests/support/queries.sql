-- names and expressions
SELECT * FROM t
SELECT T.ID, t.*, A AS z FROM t
SELECT x.a, x.b + 1, -x.a, x.a - -1 FROM t AS x WHERE id < 5
SELECT a=b, a<>b, o AND o, NOT o, a IS NULL, a IS NOT NULL, o IS TRUE, a IN (1,2), a NOT IN (1), a BETWEEN 1 AND 2, s LIKE 'x%', s NOT LIKE 'x', a IS NOT DISTINCT FROM b FROM t
SELECT 1, 1L, 1.50, 1e3, 1e10, 1e-5, 'abc', null, true, DATE'2020-01-01', TIMESTAMP'2020-01-01 10:00:00', 1Y, 2S, 2.0D, 1.5BD, X'61'
SELECT 'it''s', "dq", 'a\nb', 'tab\there', r'raw\n', '\u00e9', 'a' 'b', '%\%', '\\'
SELECT CAST(a AS STRING), CAST(a AS STRING) || 'x', CAST(b + 1 AS BIGINT), b::string, upper(CAST(a AS STRING)), bigint(a) FROM t WHERE id < 4
SELECT CASE WHEN a > 1 THEN b ELSE 0 END, CASE a WHEN 1 THEN 'x' END, if(a = 1, 2, 3), coalesce(a, b, 0), nullif(a, 1), nvl(s, 'none') FROM t
SELECT a div 2, b % 7, a / 2, m * 2, m / 3, m + 1, b / 4.0, 7 div 2, -7 % 3, -7 div 2 FROM t WHERE id < 6
SELECT m + m, m * m, m - 1.5, m / m FROM t WHERE m > 0
SELECT id, b / a FROM t WHERE a <> 0 AND b / a > 0.5
SELECT id FROM t WHERE b <> 0 AND (a = 1 OR 10 div b > 0)
SELECT 2 * b AS dbl, dbl + 1 AS more, more * dbl FROM t WHERE id < 4
SELECT id AS k, k + 1 AS id2, id2 + id FROM t
SELECT a AS id, id FROM t
SELECT count(*), count(1), count(a), count(a, b), count(DISTINCT a), count(DISTINCT a, b) FROM t
SELECT year(dt), dt + 1, date_add(dt, 1), datediff(dt, DATE'2020-01-01'), to_date('2020-02-03') FROM t WHERE id IN (1, 2, 6)
SELECT ts, CAST(ts AS DATE), CAST(ts AS STRING), hour(ts), date_trunc('DAY', ts) FROM t
SELECT max(ts), min(ts), max(dt), min(dt), max(s), min(s), max(d), max(f), min(f) FROM t
SELECT * EXCEPT (a, d, f) FROM t
SELECT t.* EXCEPT (a, b), s FROM t
SELECT * EXCEPT (t.id, u.id) FROM t JOIN u ON t.id = u.id
SELECT ((a)), (a), (1), `a`, a AS `x y`, a `q``r` FROM t WHERE id = 1
SELECT id FROM t WHERE s = 'X' OR s > 'x' OR s = ''
SELECT id FROM t WHERE d > 1
SELECT id FROM t WHERE d = 'NaN'
SELECT id FROM t WHERE d = 0 AND f = 0
SELECT id FROM t WHERE d <=> NULL OR f = double('nan')
SELECT id FROM t WHERE ts >= '2020-01-01' AND ts < TIMESTAMP'2021-01-01 00:00:00'
SELECT id FROM t WHERE dt = '2020-01-01' OR dt > DATE'5000-01-01'
SELECT id FROM t WHERE dt < ts
SELECT id FROM t WHERE m IN (1.5, 2.55) OR m < -1
SELECT id FROM t WHERE a > 1.5 OR a = 1.0
SELECT id FROM t WHERE h = 127 OR h < -1 OR h = 300
SELECT id FROM t WHERE NOT (a = 1)
SELECT id FROM t WHERE o
SELECT try_cast(s AS INT), a << 1, log(2.0D, 8.0D), ts + INTERVAL 1 DAY, substr(s, 2), round(d), array_agg(a) OVER (ORDER BY id) FROM t WHERE id < 3
SELECT transform(ar, x -> x + 1), filter(ar, x -> x > 1), exists(ar, x -> x = 1), aggregate(ar, 0, (acc, x) -> acc + x) FROM n
SELECT 1 WHERE false
-- ordering and limits
SELECT id, a FROM t ORDER BY a, id
SELECT id, a FROM t ORDER BY a DESC, id DESC
SELECT id, d FROM t ORDER BY d, id
SELECT id, d FROM t ORDER BY d DESC NULLS FIRST, id
SELECT id, f FROM t ORDER BY f DESC, id
SELECT id, s FROM t ORDER BY s NULLS LAST, id
SELECT id, o, ts FROM t ORDER BY o DESC, ts DESC, id
SELECT id FROM t ORDER BY -id
SELECT id AS a, a AS id FROM t ORDER BY id NULLS LAST, a
SELECT id k FROM t ORDER BY a, k DESC
SELECT id k FROM t ORDER BY t.a, t.id
SELECT a + 1 AS a, id FROM t WHERE id <> 7 ORDER BY a, id
SELECT id, b FROM t ORDER BY 2 DESC, 1
SELECT o, h, id FROM t ORDER BY ALL
SELECT id FROM t ORDER BY id LIMIT 3
SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 3
SELECT id FROM t ORDER BY id OFFSET 5
SELECT id FROM t ORDER BY id LIMIT ALL
SELECT id FROM t LIMIT 0
SELECT id FROM t SORT BY id
SELECT id FROM t DISTRIBUTE BY a
SELECT id FROM t CLUSTER BY a
SELECT * FROM (SELECT id, a FROM t ORDER BY id DESC LIMIT 3) ORDER BY id
SELECT max(x) FROM (SELECT id x FROM t ORDER BY x LIMIT 2)
-- groups
SELECT a, count(*) FROM t GROUP BY a
SELECT a, count(*) c FROM t GROUP BY a HAVING c > 1
SELECT a, sum(b) AS b FROM t WHERE id <> 7 GROUP BY a HAVING b > 10
SELECT a, sum(b) AS b FROM t GROUP BY a ORDER BY sum(t.b), a
SELECT a, sum(b) AS c FROM t GROUP BY a ORDER BY c DESC, a
SELECT a AS k, max(s) FROM t GROUP BY k ORDER BY k
SELECT a + 1, count(*) FROM t WHERE id < 7 GROUP BY a + 1
SELECT (a + 1) * 2, count(*) FROM t WHERE id < 7 GROUP BY a + 1
SELECT 2, a, count(*) FROM t GROUP BY 2, 1
SELECT d, count(*) FROM t GROUP BY d
SELECT nullif(d, double('NaN')), count(*) FROM t GROUP BY nullif(d, double('NaN'))
SELECT array_remove(array(1.0D), double('NaN')) AS k, o, count(*) FROM t GROUP BY CUBE(k, o)
SELECT f, count(*) FROM t GROUP BY f
SELECT -f, count(*) FROM t GROUP BY f
SELECT o, s, sum(b), count(*) FROM t GROUP BY ALL
SELECT sum(b) FROM t GROUP BY ALL
SELECT a + b, sum(id) FROM t WHERE id < 7 GROUP BY ALL
SELECT sum(b), sum(h), sum(d), sum(f), sum(m), avg(b), avg(m), avg(d) FROM t WHERE id IN (1, 4, 5)
SELECT sum(m), avg(m) FROM t
SELECT sum(b), max(s), count(*) FROM e, t WHERE false
SELECT sum(id), max(v), count(*), count(v) FROM e
SELECT id, count(*) FROM e GROUP BY id
SELECT count(*) FROM t HAVING count(*) > 100
SELECT 1 FROM t HAVING true
SELECT 'k', count(*) FROM t GROUP BY 'k'
SELECT a, b, count(*) FROM t GROUP BY a, b WITH ROLLUP
SELECT a, o, count(*), sum(b), grouping(a), grouping(o), grouping_id() FROM t GROUP BY ROLLUP(a, o)
SELECT a, o, sum(b), grouping_id(a, o) FROM t GROUP BY CUBE(a, o)
SELECT a, o, sum(a) FROM t WHERE id < 7 GROUP BY GROUPING SETS ((a, o), a, (), ())
SELECT a, o, sum(b) FROM t GROUP BY a, o GROUPING SETS ((a), (o))
SELECT a, o, h, count(*) FROM t GROUP BY a, ROLLUP(o, h)
SELECT a, o, h, count(*) FROM t GROUP BY ROLLUP((a, o), h)
SELECT a, sum(b) FROM t GROUP BY ROLLUP(a) HAVING grouping(a) = 1 OR sum(b) > 20
SELECT a, count(*) FROM t GROUP BY ROLLUP(a) ORDER BY grouping(a), a
SELECT decode(unbase64(base64(s)), 'UTF-8'), is_valid_utf8(unbase64(base64(s))) FROM t
SELECT collect_list(timestampdiff(QUARTER, ts, dt)) FROM t WHERE id = 1
SELECT count(*) FILTER (WHERE a = 1), sum(b) FILTER (WHERE o), max(s) FILTER (WHERE s <> 'y') FROM t
SELECT o, count(DISTINCT a), sum(DISTINCT b), avg(DISTINCT b) FROM t GROUP BY o
SELECT bool_and(o), bool_or(o), every(o), any(o), count_if(o) FROM t
SELECT st, count(*) FROM n GROUP BY st
SELECT st.c, max(st.a) FROM n GROUP BY st.c
SELECT st.a FROM n GROUP BY st
SELECT ar, count(*) FROM n GROUP BY ar
SELECT DISTINCT a FROM t
SELECT DISTINCT d, o FROM t
SELECT DISTINCT f + 0 FROM t
SELECT DISTINCT a, o FROM t ORDER BY a DESC, o
SELECT DISTINCT id FROM t ORDER BY -id LIMIT 1 + 1
SELECT a + 100 AS a, count(*) c FROM t WHERE id < 3 GROUP BY a HAVING a < 50
SELECT 10 - k AS k, id FROM (SELECT id, id AS k FROM t) ORDER BY k + 0
SELECT DISTINCT sum(b) FROM t GROUP BY a
SELECT a, max(b) - min(b) AS r, r * 2 FROM t GROUP BY a
SELECT max(a) + count(*) * 2, max(b) FROM t WHERE id < 7
SELECT year(dt) y, count(*) FROM t WHERE id IN (1, 2, 7) GROUP BY year(dt) ORDER BY y
SELECT dt, ts, count(*) FROM t GROUP BY dt, ts
-- joins
SELECT t.id, u.x FROM t JOIN u ON t.id = u.id
SELECT t.id, u.x FROM t LEFT JOIN u ON t.id = u.id
SELECT t.id, u.x FROM t RIGHT JOIN u ON t.id = u.id
SELECT t.id, u.id, x FROM t FULL OUTER JOIN u ON t.id = u.id
SELECT t.id, u.x FROM t LEFT JOIN u ON t.id = u.id AND u.b > 10
SELECT t.id, u.x FROM t LEFT JOIN u ON t.id < u.id OR u.b IS NULL
SELECT t.id, u.id FROM t FULL JOIN u ON t.id < u.id AND t.b > u.b
SELECT t.id, u.id FROM t JOIN u ON t.d = u.d
SELECT t.id, u.id FROM t JOIN u ON t.m = u.m
SELECT t.id, u.id FROM t JOIN u ON t.s = u.x
SELECT t.id, u.id FROM t JOIN u ON t.a <=> u.id
SELECT * FROM t JOIN u USING (id)
SELECT * FROM t LEFT JOIN u USING (id, b)
SELECT * FROM t RIGHT JOIN u USING (id)
SELECT * FROM t FULL JOIN u USING (id)
SELECT id, t.id, u.id FROM t FULL JOIN u USING (id)
SELECT id, t.id, u.id FROM t LEFT JOIN u USING (id)
SELECT id, t.id, u.id FROM t RIGHT JOIN u USING (id)
SELECT t.*, x FROM t FULL JOIN u USING (id)
SELECT u.* FROM t JOIN u USING (id)
SELECT * FROM t NATURAL JOIN u
SELECT * FROM (SELECT id, a FROM t) NATURAL LEFT JOIN (SELECT id, x FROM u)
SELECT t.id FROM t SEMI JOIN u ON t.id = u.id
SELECT id FROM t LEFT SEMI JOIN u USING (id)
SELECT t.id FROM t LEFT ANTI JOIN u ON t.id = u.id AND u.b > 15
SELECT t.id FROM t ANTI JOIN u ON t.b < u.b
SELECT count(*) FROM t, u
SELECT count(*) FROM t CROSS JOIN u WHERE t.id = u.id
SELECT count(*) FROM t JOIN u
SELECT x.id, y.id FROM t x JOIN t y ON x.a = y.a AND x.id < y.id
SELECT t.id, u.x, v.q FROM t JOIN u ON t.id = u.id LEFT JOIN (SELECT 4 AS id, 'q' AS q) v ON v.id = u.id
SELECT a.id FROM (t a JOIN u b ON a.id = b.id) JOIN e ON true
SELECT * FROM (SELECT id FROM t) x, LATERAL (SELECT x.id * 2 AS y WHERE x.id > 3) z
SELECT y.id, z.c FROM t y LEFT JOIN LATERAL (SELECT count(*) AS c FROM u WHERE u.id = y.id) z
SELECT y.id, z.x FROM t y JOIN LATERAL (SELECT u.x FROM u WHERE u.id = y.id ORDER BY u.b LIMIT 1) z
SELECT id, y FROM t JOIN LATERAL (SELECT a + b AS y) WHERE id < 3
SELECT z.id, w.l FROM t z, LATERAL (SELECT z.a AS k) y, LATERAL (SELECT y.k + z.b AS l) w WHERE z.id < 3
SELECT n.id, k.* FROM n, LATERAL explode(ar) k
SELECT id, e FROM t, LATERAL explode(array(a, b)) AS k(e) WHERE e > 1 AND id < 3
SELECT n.id, p, x FROM n JOIN LATERAL posexplode(ar) AS k(p, x)
SELECT n.id, k.* FROM n, LATERAL inline(sts) k
SELECT t.id, r.id FROM t JOIN LATERAL range(2) r WHERE t.id = 1
SELECT id, (SELECT sum(e) FROM LATERAL explode(array(t.a, t.b)) AS k(e)) FROM t WHERE id < 3
-- set operations
SELECT id FROM t UNION ALL SELECT id FROM u
SELECT id FROM t UNION SELECT b FROM u
SELECT a, d FROM t UNION SELECT id, d FROM u
SELECT d FROM t UNION SELECT f FROM t
SELECT d FROM t INTERSECT SELECT d FROM u
SELECT d FROM t INTERSECT ALL SELECT d FROM u
SELECT d FROM t EXCEPT SELECT d FROM u
SELECT b FROM t EXCEPT ALL SELECT b FROM u
SELECT b FROM t MINUS SELECT b FROM u
SELECT 1 UNION ALL SELECT 2.5 UNION ALL SELECT null
SELECT m FROM t UNION ALL SELECT m FROM u
SELECT 1 AS a, 2 AS a UNION ALL SELECT 3, 4
SELECT dt FROM t UNION ALL SELECT ts FROM t
SELECT 1 UNION SELECT 2 INTERSECT SELECT 3
(SELECT 1 UNION SELECT 2) INTERSECT SELECT 2
SELECT id FROM t UNION SELECT b FROM u ORDER BY 1 DESC LIMIT 3
SELECT id AS k FROM t UNION ALL SELECT b FROM u ORDER BY k, -k
(SELECT id FROM t ORDER BY id DESC LIMIT 2) UNION ALL (SELECT id FROM t ORDER BY id LIMIT 1)
SELECT 1 UNION ALL SELECT 1 UNION SELECT 1
SELECT 1 UNION SELECT 1 UNION ALL SELECT 1
SELECT s FROM t INTERSECT SELECT x FROM u
SELECT null UNION ALL SELECT 'a'
SELECT array(1) UNION ALL SELECT array(2L)
SELECT st FROM n UNION SELECT named_struct('a', 1, 'c', 'z')
-- subqueries and WITH
SELECT (SELECT max(x) FROM u), id FROM t
SELECT id, (SELECT max(x) FROM u WHERE u.id = t.id) FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.id = t.id) c FROM t
SELECT id FROM t WHERE b > (SELECT avg(b) FROM u)
SELECT id FROM t WHERE b = (SELECT max(u.b) FROM u WHERE u.id = t.id)
SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE u.id = t.id) = 0
SELECT id FROM t WHERE id IN (SELECT id FROM u)
SELECT id FROM t WHERE id NOT IN (SELECT id FROM u)
SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE id IS NOT NULL)
SELECT id FROM t WHERE id NOT IN (SELECT id FROM e)
SELECT id FROM t WHERE d IN (SELECT d FROM u)
SELECT id FROM t WHERE m IN (SELECT m FROM u)
SELECT id FROM t WHERE a IN (SELECT id FROM u WHERE u.b = t.b)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)
SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.b = t.b AND u.id <> t.id)
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.id = t.id) ex, id IN (SELECT id FROM u) i FROM t
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND EXISTS (SELECT 1 FROM n WHERE n.id = u.id))
SELECT a, (SELECT count(*) FROM u WHERE u.id = t.a) FROM t GROUP BY a, 2
SELECT id, NOT (id IN (SELECT id FROM u)) q, id NOT IN (SELECT b FROM u) r, id IN (SELECT id FROM e) w FROM t
SELECT id FROM t WHERE NOT (id IN (SELECT id FROM u) AND a = 1)
SELECT id FROM t WHERE id IN (SELECT id FROM u) OR s = 'X'
SELECT a, sum(b) FROM t GROUP BY a HAVING sum(b) > (SELECT min(b) FROM u)
SELECT * FROM (SELECT a x, count(*) c FROM t GROUP BY a) WHERE c > 1
SELECT q.x FROM (SELECT a FROM t) AS q(x) WHERE q.x = 1
SELECT id, (SELECT max(z.b) FROM (SELECT b FROM u WHERE u.id = t.id) z) FROM t
SELECT id, (SELECT max(u.b) FROM u HAVING max(u.b) > t.b) FROM t WHERE id < 3
SELECT id, (SELECT u.b + t.a FROM u WHERE u.id = 1) FROM t WHERE id < 3
SELECT t.id FROM t JOIN u ON t.id = u.id AND EXISTS (SELECT 1 FROM n WHERE n.id = t.id)
SELECT id, (SELECT max(b) FROM u WHERE u.id = t.id) k FROM t ORDER BY k, id
SELECT id FROM t ORDER BY (SELECT max(b) FROM u), id
WITH q AS (SELECT a, max(d) md FROM t GROUP BY a) SELECT * FROM q WHERE a = 1
WITH q AS (SELECT 1 AS x), r AS (SELECT x + 1 AS y FROM q) SELECT * FROM q, r
WITH q(k, v) AS (SELECT id, s FROM t) SELECT k FROM q WHERE v = 'x'
WITH t AS (SELECT 42 AS z) SELECT * FROM t
WITH q AS (WITH r AS (SELECT 1 AS x) SELECT x FROM r) SELECT * FROM q
WITH q AS (SELECT id FROM t) SELECT id FROM q WHERE id IN (SELECT id + 1 FROM q)
WITH q AS (SELECT 1 AS x) SELECT * FROM (WITH q AS (SELECT 2 AS x) SELECT * FROM q)
WITH q AS (SELECT 1 AS x) (SELECT * FROM q) UNION ALL SELECT 3
WITH q AS (SELECT id FROM u) SELECT (SELECT count(*) FROM q WHERE q.id = t.id) FROM t
WITH RECURSIVE q(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM q WHERE n < 5) SELECT * FROM q
WITH RECURSIVE q AS (SELECT 1 AS n, 'a' AS s UNION ALL SELECT n + 1, s || 'b' FROM q WHERE n < 3) SELECT *, n AS level FROM q
WITH RECURSIVE q(n) MAX RECURSION LEVEL 3 AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 3) SELECT n AS rows FROM q
WITH RECURSIVE q(n) AS (SELECT id FROM t WHERE id = 1 UNION ALL SELECT u.id + q.n FROM u JOIN q ON u.id = q.n) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT a.n + b.n FROM q a, q b WHERE a.n < 5) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1L UNION ALL SELECT t.id FROM t RIGHT JOIN q ON t.id = q.n + 1 WHERE t.id IS NOT NULL) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1L UNION ALL SELECT n + 1 FROM q SEMI JOIN t ON t.id = q.n + 1) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL (SELECT n + 1 FROM q WHERE n < 3 UNION ALL SELECT n + 10 FROM q WHERE n < 3)) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT 5 UNION ALL SELECT DISTINCT n + 1 FROM (SELECT n FROM q WHERE n < 3) x) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + e FROM q LATERAL VIEW explode(array(1, 2)) AS e WHERE n < 4) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1.5D UNION ALL SELECT 2 FROM q WHERE n < 2) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 3), r(m) AS (SELECT n FROM q UNION ALL SELECT m + 1 FROM r WHERE m < 4) SELECT * FROM r
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q) SELECT n + 1 FROM q LIMIT 3
WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT (SELECT count(*) FROM t), n FROM T
-- windows
SELECT id, row_number() OVER (PARTITION BY a ORDER BY id) FROM t
SELECT id, rank() OVER (ORDER BY a), dense_rank() OVER (ORDER BY a DESC), percent_rank() OVER (ORDER BY a), cume_dist() OVER (ORDER BY a) FROM t
SELECT id, sum(b) OVER (PARTITION BY a), sum(b) OVER (ORDER BY id), count(*) OVER () FROM t
SELECT id, sum(b) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), avg(b) OVER (ORDER BY id ROWS 2 PRECEDING) FROM t
SELECT id, sum(b) OVER (ORDER BY b RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT id, sum(b) OVER (ORDER BY d), count(*) OVER (ORDER BY d DESC) FROM t
SELECT id, count(*) OVER (PARTITION BY d), count(*) OVER (PARTITION BY f) FROM t
SELECT id, lag(b) OVER (ORDER BY id), lead(b, 2) OVER (ORDER BY id), lag(b, 1, 0) OVER (PARTITION BY a ORDER BY id) FROM t
SELECT id, first_value(b) OVER (ORDER BY id), last_value(b) OVER (ORDER BY id), nth_value(b, 2) OVER (ORDER BY id) FROM t
SELECT id, first(b, true) OVER (ORDER BY id DESC), last(b) IGNORE NULLS OVER (ORDER BY id) FROM t
SELECT id, ntile(3) OVER (ORDER BY id), min(ts) OVER (ORDER BY id), max(dt) OVER (PARTITION BY o) FROM t
SELECT id, sum(b) OVER w, count(*) OVER (w) FROM t WINDOW w AS (PARTITION BY a ORDER BY id)
SELECT a, sum(b), sum(sum(b)) OVER (ORDER BY a), rank() OVER (ORDER BY sum(b) DESC, a) FROM t GROUP BY a
SELECT id, a FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY id DESC) = 1
SELECT id, row_number() OVER (PARTITION BY o ORDER BY id) AS rn FROM t QUALIFY rn = 2
SELECT id, a FROM t WHERE id < 6 QUALIFY count(*) OVER (PARTITION BY a) > 1 AND a = 1
SELECT id, sum(b) FILTER (WHERE o) OVER (ORDER BY id) FROM t
SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM t ORDER BY r + 1
SELECT id, count(*) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY id RANGE BETWEEN 1L PRECEDING AND 2L FOLLOWING) FROM t
SELECT id, sum(b) OVER (ORDER BY b ROWS BETWEEN 1 + 1 PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY d RANGE BETWEEN 0.5D PRECEDING AND 0.5D FOLLOWING) FROM t
SELECT id, count(*) OVER (ORDER BY d DESC RANGE BETWEEN UNBOUNDED PRECEDING AND 1D FOLLOWING) FROM t
SELECT id, count(*) OVER (ORDER BY d RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY dt RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (PARTITION BY o ORDER BY dt DESC RANGE BETWEEN INTERVAL 1 WEEK PRECEDING AND INTERVAL 1 DAY FOLLOWING) FROM t
SELECT id, count(*) OVER (ORDER BY dt RANGE BETWEEN INTERVAL '1-1' YEAR TO MONTH PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 600 DAYS PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY ts DESC RANGE BETWEEN INTERVAL 2 YEARS PRECEDING AND INTERVAL 1 YEAR FOLLOWING) FROM t
SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '1 02:03:04' DAY TO SECOND PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND INTERVAL 24 HOURS FOLLOWING) FROM t
SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY FOLLOWING AND INTERVAL 700 DAYS FOLLOWING) FROM t
SELECT id, count(*) OVER w FROM t WINDOW w AS (ORDER BY CAST(ts AS TIMESTAMP_NTZ) RANGE INTERVAL '1.5' SECOND PRECEDING)
SELECT dt, count(*), sum(count(*)) OVER (ORDER BY dt RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW) FROM t GROUP BY dt
SELECT ts + INTERVAL 1 HOUR, ts - INTERVAL '1.5' SECOND, dt + INTERVAL 1 WEEK, dt - INTERVAL 2 DAYS, ts + INTERVAL '-1 02' DAY TO HOUR FROM t WHERE id = 1
-- generators, VALUES, range
SELECT id, x FROM n LATERAL VIEW explode(ar) AS x
SELECT id, x FROM n LATERAL VIEW OUTER explode(ar) v AS x
SELECT id, v.* FROM n LATERAL VIEW posexplode(ar) v AS p, x
SELECT id, k, v FROM n LATERAL VIEW explode(mp) AS k, v
SELECT id, p, q FROM n LATERAL VIEW inline(sts) q
SELECT id, p, q FROM n LATERAL VIEW OUTER inline(sts) q
SELECT id, x, y FROM n LATERAL VIEW explode(ar) AS x LATERAL VIEW OUTER explode(tss) AS y
SELECT id, col FROM n LATERAL VIEW explode(tss) q
SELECT explode(ar) FROM n
SELECT explode(ar) AS x, id FROM n WHERE id < 4
SELECT id, posexplode(ar) FROM n
SELECT explode(mp) AS (k, v), id FROM n
SELECT id, explode_outer(ar) FROM n
SELECT inline(sts), id FROM n
SELECT stack(2, 1, 'a', 2, 'b')
SELECT * FROM explode(array(1, 2))
SELECT sum(x) FROM (SELECT explode(ar) x FROM n)
SELECT id, x FROM n LATERAL VIEW explode(ar) AS x WHERE x > 1
VALUES (1, 'a'), (2, NULL)
SELECT * FROM VALUES (1, 'a'), (2.5, NULL) AS v(n, c)
SELECT * FROM VALUES 1, 2
SELECT n FROM (VALUES (1), (2)) AS v(n)
VALUES (2), (1) ORDER BY 1
VALUES (TIMESTAMP'2020-01-01'), (NULL)
VALUES (1), (2.5), (3L)
VALUES (1), (1.5D)
VALUES (1.5F), (2.5)
VALUES (array()), (array('a'))
VALUES (array(1)), (array(2L))
VALUES (DATE'2020-01-01'), (TIMESTAMP'2020-01-01')
SELECT * FROM VALUES ((1, 2)), ((3, 4))
SELECT * FROM VALUES (struct(1, 'a')), (struct(2L, 'b' AS c))
SELECT * FROM VALUES (named_struct('a', 1))
SELECT * FROM range(3)
SELECT id FROM range(1, 10, 4)
SELECT sum(r.id) FROM range(5) r
SELECT id FROM range(5, 0, -2)
TABLE t
-- samples
SELECT count(*) FROM t TABLESAMPLE (3 ROWS)
SELECT x.id FROM t TABLESAMPLE (100 ROWS) AS x WHERE id > 5
SELECT * FROM t TABLESAMPLE (0 PERCENT)
SELECT t.id, s FROM t TABLESAMPLE (100 PERCENT) REPEATABLE (42)
SELECT count(*) FROM t TABLESAMPLE (3 ROWS) a JOIN (SELECT * FROM u) TABLESAMPLE (BUCKET 2 OUT OF 2)
SELECT * FROM (SELECT a, o, b FROM t) TABLESAMPLE (7 ROWS) PIVOT (sum(b) FOR a IN (1, 2))
SELECT id FROM IDENTIFIER('t') WHERE IDENTIFIER('t.id') = 1
-- PIVOT and UNPIVOT
SELECT * FROM (SELECT a, b, o FROM t) PIVOT (sum(b) FOR a IN (1, 2))
SELECT * FROM (SELECT a, b, o FROM t) PIVOT (sum(b) AS s, count(b) FOR a IN (1 AS one, 2 AS two, NULL AS n))
SELECT * FROM (SELECT a, b FROM t) PIVOT (count(*) FOR a IN (1, 99))
SELECT * FROM (SELECT s, b, id FROM t) PIVOT (max(b) FOR s IN ('x', 'y' AS q)) AS p WHERE p.x > 1
SELECT id, x FROM (SELECT id, s, b FROM t) PIVOT (max(b) FOR s IN ('x')) ORDER BY id
SELECT * FROM (SELECT id, d, o FROM t) PIVOT (count(id) FOR o IN (true AS t, false AS f))
SELECT * FROM (SELECT id, a, b FROM t) UNPIVOT (v FOR n IN (a, b))
SELECT * FROM (SELECT id, a, b FROM t) UNPIVOT INCLUDE NULLS (v FOR n IN (a AS aa, b AS `b b`)) AS u
SELECT id, n, v FROM (SELECT id, a, h FROM t) UNPIVOT (v FOR n IN (a, h)) WHERE v > 1 ORDER BY id, n
-- nested values
SELECT st.a, st.c, n.st.a + 1, n.st FROM n
SELECT st.* FROM n
SELECT n.st.* FROM n
SELECT id, ar, mp, sts, tss FROM n
SELECT mp['k'], element_at(mp, 'l') FROM n WHERE id = 1
SELECT struct(a, b) s, named_struct('k', a) FROM t
SELECT id FROM n WHERE st.a = 1 AND st IS NOT NULL
SELECT id FROM n ORDER BY st.c DESC, id
SELECT array(a, b), map('k', a) FROM t
SELECT size(ar), array_contains(ar, 2) FROM n
SELECT CAST(st AS STRUCT<a: BIGINT, c: STRING>) FROM n
-- refused by Spark too
SELECT nope FROM t
SELECT t.nope FROM t
SELECT id FROM t, u
SELECT a FROM t GROUP BY b
SELECT a, count(*) FROM t
SELECT count(*) FROM t WHERE count(*) > 1
SELECT id FROM t UNION SELECT id, b FROM u
SELECT sum(sum(b)) FROM t
SELECT row_number() FROM t
SELECT id FROM t WHERE row_number() OVER (ORDER BY id) = 1
SELECT (SELECT id, b FROM u)
SELECT (SELECT id FROM u)
SELECT id FROM t ORDER BY 4
SELECT id FROM t GROUP BY 7
SELECT * FROM t JOIN u USING (nope)
SELECT z.* FROM t
SELECT id.x FROM t
SELECT explode(id) FROM t
SELECT 1 / 0
SELECT a + 1 FROM t
SELECT CAST('x' AS INT)
SELECT mp FROM n GROUP BY ALL HAVING grouping(mp) = 1
SELECT * FROM VALUES (1, 2), (3)
SELECT id FROM t WHERE id
SELECT id FROM t LIMIT -1
SELECT id AS x, x AS x, x + 1 FROM t
SELECT id FROM t LIMIT 2L
SELECT id FROM t WHERE null
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM n WHERE n.id = t.id))
SELECT id, (SELECT (SELECT t.id)) FROM t
SELECT z.id, y.k FROM t z, LATERAL (SELECT (SELECT max(u.b) FROM u WHERE u.id = z.id) AS k) y
SELECT id, (SELECT max(l) FROM (SELECT 1 AS q) p, LATERAL (SELECT p.q + t.b AS l) w) FROM t WHERE id < 3
SELECT id, (SELECT max(u.b) + t.a FROM u) FROM t WHERE id < 3
SELECT id, (SELECT max(t.a) FROM u) FROM t WHERE id < 3
SELECT id FROM t ORDER BY (SELECT max(b) FROM u WHERE u.id = t.id), id
SELECT id FROM t ORDER BY id IN (SELECT id FROM u), id
SELECT t.id FROM t JOIN u ON t.id = (SELECT max(id) FROM n WHERE n.id = u.id)
SELECT id FROM t ORDER BY row_number() OVER (ORDER BY id)
SELECT id, row_number() OVER (ORDER BY id) AS r FROM t ORDER BY row_number() OVER (ORDER BY id)
SELECT a, count(*) FROM t GROUP BY a ORDER BY row_number() OVER (ORDER BY count(*), a)
SELECT id FROM t UNION ALL SELECT id FROM u ORDER BY row_number() OVER (ORDER BY id)
VALUES ('5'), (6)
VALUES (DATE'2020-01-01'), ('2020-01-02')
VALUES (array(1)), (array('a'))
SELECT * FROM VALUES (struct(1, 'a')), (struct(2, 5))
VALUES ((SELECT 1))
SELECT n.id, range.id FROM n, LATERAL range(n.id)
SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND INTERVAL 2 HOURS FOLLOWING) FROM t
SELECT id, count(*) OVER (ORDER BY dt RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY a, b RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN 1L PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY h RANGE BETWEEN 200 PRECEDING AND CURRENT ROW) FROM t
SELECT id, count(*) OVER (ORDER BY dt RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND INTERVAL 2 DAYS PRECEDING) FROM t
WITH RECURSIVE q(n) AS (SELECT 1 UNION SELECT n + 1 FROM q WHERE n < 5) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT n + 1 FROM q) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 3 UNION ALL SELECT n + 10 FROM q WHERE n < 3) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT max(n) + 1 FROM q WHERE n < 5) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1L UNION ALL SELECT t.id FROM t LEFT JOIN q ON t.id = q.n + 1) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1L UNION ALL SELECT id FROM t SEMI JOIN q ON t.id = q.n + 1) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL (SELECT n + 1 FROM q WHERE n < 3 ORDER BY n)) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1L FROM q WHERE n < 3) SELECT * FROM q
WITH RECURSIVE q(n) AS (SELECT '1' UNION ALL SELECT 2 FROM q WHERE n = '1') SELECT * FROM q
