-- A part of a variant has the name of its last field.

CREATE TABLE v (id INT, v VARIANT) USING delta;

INSERT INTO v VALUES (1, parse_json('{"a": {"b": 5, "x y": 1}, "c": [1, 2], "Big": 3}'));

SELECT v:a.b::int, v:c[1]::int, v:['a']['x y']::int, v:Big::string, try_cast(v:a.b AS INT), (v:a.b)::int AS named FROM v;
--| b int, c int, x y int, Big string, b int, named int
--| 5, 2, 1, '3', 5, 5

SELECT v:a.b::int + 1, v:a.b IS NULL, upper(v:a.b::string), v:c[0]::int::string FROM v;
--| (CAST(variant_get(v, $.a.b) AS b AS INT) + 1) int, (variant_get(v, $.a.b) AS b IS NULL) boolean, upper(CAST(variant_get(v, $.a.b) AS b AS STRING)) string, CAST(CAST(variant_get(v, $.c[0]) AS c AS INT) AS STRING) string
--| 6, false, '5', '1'

SELECT v:a.b::int, count(*) FROM v GROUP BY v:a.b::int;
--| b int, count(1) bigint
--| 5, 1

CREATE TABLE parts USING delta AS SELECT id, v:a.b::int, v:c[1]::int FROM v;

SELECT * FROM parts;
--| id int, b int, c int
--| 1, 5, 2

-- Those that a view makes have parts as well.
CREATE TEMP VIEW made AS SELECT parse_json('{"a": {"b": 7}}') AS v, named_struct('q', parse_json('{"r": 1}')) AS s;

SELECT v:a.b::int, s.q:r::string, to_json(v) FROM made;
--| b int, r string, to_json(v) string
--| 7, '1', '{"a":{"b":7}}'

CREATE TEMP VIEW renamed (w COMMENT 'a variant') AS SELECT v FROM made;

SELECT w:a.b::int + 1 AS more FROM renamed;
--| more int
--| 8
