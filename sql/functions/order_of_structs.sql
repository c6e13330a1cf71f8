-- Structs are compared field by field, and NULL in a field is less than any value.

SELECT max(struct(a, b)) AS most, min(struct(a, b)) AS least FROM VALUES (1, NULL), (1, 'x'), (1, 'y'), (NULL, 'z') AS t(a, b);
--| most struct<a:int,b:string>, least struct<a:int,b:string>
--| {a: 1, b: 'y'}, {a: NULL, b: 'z'}

SELECT max(struct(d, n)) AS most
FROM VALUES (named_struct('q', 1, 'r', CAST(NULL AS DOUBLE)), 3), (named_struct('q', 1, 'r', CAST('NaN' AS DOUBLE)), 1), (NULL, 9) AS t(d, n);
--| most struct<d:struct<q:int,r:double>,n:int>
--| {d: {q: 1, r: NaN}, n: 1}

SELECT k, max(struct(at, v)).v AS latest, max_by(v, struct(at, v)) AS same, min_by(v, struct(at, v)) AS first
FROM VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 5, NULL) AS t(k, at, v) GROUP BY k ORDER BY k;
--| k int, latest string, same string, first string
--| 1, 'b', 'b', 'a'
--| 2, NULL, NULL, NULL

SELECT a, max(struct(b, a)) OVER (ORDER BY a) AS most FROM VALUES (1, 2), (2, NULL), (3, 7) AS t(a, b) ORDER BY a;
--| a int, most struct<b:int,a:int>
--| 1, {b: 2, a: 1}
--| 2, {b: 2, a: 1}
--| 3, {b: 7, a: 3}

SELECT max(struct(a, b)) FILTER (WHERE a < 3) AS most, max(DISTINCT struct(b)) AS other FROM VALUES (1, 2), (2, NULL), (3, 7) AS t(a, b);
--| most struct<a:int,b:int>, other struct<b:int>
--| {a: 2, b: NULL}, {b: 7}

-- The latest change of each key, applied to a table.
CREATE TABLE kv (key INT, value STRING) USING delta;

INSERT INTO kv VALUES (1, 'one'), (2, 'two'), (3, 'three');

CREATE TEMP VIEW changes AS
SELECT * FROM VALUES (1, 1, 'a', false), (1, 2, NULL, true), (2, 1, 'x', true), (2, 5, 'y', false), (4, 4, 'four', false)
AS c(key, time, new_value, deleted);

MERGE INTO kv AS t
USING (SELECT key, latest.* FROM (SELECT key, max(struct(time, new_value, deleted)) AS latest FROM changes GROUP BY key)) AS s
ON s.key = t.key
WHEN MATCHED AND s.deleted THEN DELETE
WHEN MATCHED THEN UPDATE SET value = s.new_value
WHEN NOT MATCHED AND NOT s.deleted THEN INSERT (key, value) VALUES (s.key, s.new_value);
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 3, 1, 1, 1

SELECT * FROM kv ORDER BY key;
--| key int, value string
--| 2, 'y'
--| 3, 'three'
--| 4, 'four'
