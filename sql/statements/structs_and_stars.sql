-- Several values in parentheses are a struct. Structs and arrays are compared by place, and NULLs in them are equal. A star stands for columns among arguments too.

CREATE TABLE t (id INT, a INT, b STRING, tags ARRAY<STRING>, s STRUCT<x: INT, y: STRING>) USING delta;

INSERT INTO t VALUES (1, 10, 'x', array('p', 'q'), struct(1, 'k')), (2, NULL, 'y', array(), NULL), (3, 30, NULL, NULL, struct(NULL, NULL)), (4, 10, 'x', array('p', NULL), struct(1, 'k'));

CREATE TABLE u (id INT, a INT, b STRING) USING delta;

INSERT INTO u VALUES (1, 10, 'x'), (2, 20, 'y'), (9, NULL, 'y'), (8, 30, NULL);

SELECT (id, a), (id + 1, b AS z), (1, 'a').col2 FROM t WHERE id = 1;
--| named_struct(id, id, a, a) struct<id:int,a:int>, named_struct(col1, (id + 1), z, b AS z) struct<col1:int,z:string>, named_struct(col1, 1, col2, a).col2 string
--| {id: 1, a: 10}, {col1: 2, z: 'x'}, 'a'

SELECT id FROM t WHERE (a, b) IN ((10, 'x'), (30, 'z')) ORDER BY id;
--| id int
--| 1
--| 4

SELECT id FROM t WHERE (a, b) IN (SELECT a, b FROM u) ORDER BY id;
--| id int
--| 1
--| 4

SELECT id FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u WHERE a < 30) ORDER BY id;
--| id int
--| 3

SELECT id FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u) ORDER BY id;
--| id int

SELECT id, (a, b) IN (SELECT a, b FROM u), struct(a, 1L) NOT IN (SELECT a, 1 FROM u) AS n FROM t ORDER BY id;
--| id int, (named_struct('a', a, 'b', b) IN (listquery())) boolean, n boolean
--| 1, true, false
--| 2, false, false
--| 3, false, false
--| 4, true, false

SELECT id FROM t WHERE (a, b) IN (SELECT a FROM u);
--! DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH

SELECT s = struct(1, 'k'), s = named_struct('q', 1, 'r', 'k'), s <=> s, s <> s, s IN (struct(1, 'k')), (id, a) = (1, 10) FROM t ORDER BY id;
--| (s = struct(1, k)) boolean, (s = named_struct(q, 1, r, k)) boolean, (s <=> s) boolean, (NOT (s = s)) boolean, (s IN (struct(1, k))) boolean, (named_struct(id, id, a, a) = named_struct(col1, 1, col2, 10)) boolean
--| true, true, true, false, true, true
--| NULL, NULL, true, NULL, NULL, false
--| false, false, true, false, false, false
--| true, true, true, false, true, false

SELECT array(1, NULL) = array(1, NULL), tags = array('p', 'q'), tags <=> array('p', 'q'), tags <> array(), tags IN (array('p', 'q'), array()) FROM t ORDER BY id;
--| (array(1, NULL) = array(1, NULL)) boolean, (tags = array(p, q)) boolean, (tags <=> array(p, q)) boolean, (NOT (tags = array())) boolean, (tags IN (array(p, q), array())) boolean
--| true, true, true, true, true
--| true, false, false, false, true
--| true, NULL, false, NULL, NULL
--| true, false, false, true, false

SELECT CASE (id, a) WHEN (1, 10) THEN 'y' ELSE 'n' END AS c FROM t ORDER BY id;
--| c string
--| 'y'
--| 'n'
--| 'n'
--| 'n'

DELETE FROM t WHERE (id, b) IN ((4, 'x'), (5, 'y')) AND s = struct(1, 'k');
--| num_affected_rows bigint
--| 1

SELECT struct(*), struct(u.*).a, to_json(struct(* EXCEPT (b))), greatest(* EXCEPT (b)) FROM u WHERE id = 1;
--| struct(id, a, b) struct<id:int,a:int,b:string>, struct(id, a, b).a int, to_json(struct(id, a)) string, greatest(id, a) int
--| {id: 1, a: 10, b: 'x'}, 10, '{"id":1,"a":10}', 10

SELECT count(DISTINCT *), count(*) FROM u;
--| count(DISTINCT id, a, b) bigint, count(1) bigint
--| 2, 4

SELECT concat_ws('-', *), upper(p.a) FROM (SELECT 'a' AS a, 'b' AS b) AS p;
--| concat_ws(-, a, b) string, upper(a) string
--| 'a-b', 'A'

SELECT * FROM u WHERE 20 IN (* EXCEPT (b));
--| id int, a int, b string
--| 2, 20, 'y'

SELECT hash(*) FROM u WHERE id = 1;
--| hash(id, a, b) int
--| -1377971472

SELECT count(u.*) FROM u;
--! INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT

SELECT * + 1 FROM u;
--! INVALID_USAGE_OF_STAR_OR_REGEX

-- A field may be read by its name in brackets.

SELECT l['v'], l[0]['v'], st['ARR'], st['arr'][0] FROM (SELECT array(named_struct('v', 1), named_struct('v', 2)) AS l, named_struct('arr', array(3, 4)) AS st);
--| l.v array<int>, l[0].v int, st.ARR array<int>, st.arr[0] int
--| [1, 2], 1, [3, 4], 3

SELECT st['a.b'] = 1 AS same, count(*) AS n FROM (SELECT named_struct('a.b', 1) AS st) WHERE st['a.b'] > 0 GROUP BY st['a.b'];
--| same boolean, n bigint
--| true, 1

SELECT st['none'] FROM (SELECT named_struct('arr', 1) AS st);
--! FIELD_NOT_FOUND

SELECT st[concat('ar', 'r')] FROM (SELECT named_struct('arr', 1) AS st);
--! INVALID_EXTRACT_FIELD_TYPE

SELECT st[0] FROM (SELECT named_struct('arr', 1) AS st);
--! INVALID_EXTRACT_FIELD_TYPE

SELECT CAST(s.a AS STRING), CAST(t.s AS STRING), TRY_CAST(t.s.a AS STRING), string(t.s.a), string(s) FROM (SELECT named_struct('a', 1) AS s) AS t;
--| CAST(s.a AS STRING) string, s string, TRY_CAST(s.a AS STRING) string, s.a string, s string
--| '1', '{1}', '1', '1', '{1}'
