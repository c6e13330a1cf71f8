-- WITH SCHEMA EVOLUTION adds columns and fields of structs, widens types, and gives a type to columns of nothing.

CREATE TABLE w (b SMALLINT, s STRUCT<x: INT>, d DATE) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true');

INSERT WITH SCHEMA EVOLUTION INTO w BY NAME SELECT CAST(100000 AS INT) AS b;

INSERT WITH SCHEMA EVOLUTION INTO w (b) SELECT CAST(70000 AS INT);

-- Fields of structs go by position, as the types differ, and further ones are added.
INSERT WITH SCHEMA EVOLUTION INTO w SELECT 3, named_struct('x', 5000000000L, 'y', 'new'), DATE '2020-01-01';

INSERT WITH SCHEMA EVOLUTION INTO w BY NAME SELECT '7' AS b, named_struct('x', 1, 'z', 'other') AS s;

INSERT WITH SCHEMA EVOLUTION INTO w (b, s) SELECT 8, named_struct('x', 1, 'k', 'third');

SELECT b, s.x, s.y, d FROM w ORDER BY b, x;
--| b int, x bigint, y string, d date
--| 3, 5000000000, 'new', 2020-01-01
--| 7, 1, 'other', NULL
--| 8, 1, 'third', NULL
--| 70000, NULL, NULL, NULL
--| 100000, NULL, NULL, NULL

DESCRIBE w;
--| col_name string, data_type string, comment string
--| 'b', 'int', NULL
--| 'd', 'date', NULL
--| 's', 'struct<x:bigint,y:string>', NULL

-- A table that does not widen types takes values that fit.
CREATE TABLE narrow (b SMALLINT, i INT) USING delta;

INSERT WITH SCHEMA EVOLUTION INTO narrow SELECT 1.5D, CAST(3.7 AS DECIMAL(5, 2));

INSERT WITH SCHEMA EVOLUTION INTO narrow BY NAME SELECT '12' AS b, 7 AS extra;

MERGE WITH SCHEMA EVOLUTION INTO narrow t USING (SELECT 12 AS b, 2.5D AS i) s ON t.b = s.b WHEN MATCHED THEN UPDATE SET *;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 1, 1, 0, 0

SELECT * FROM narrow ORDER BY b;
--| b smallint, i int, extra int
--| 1, 3, NULL
--| 12, 2, 7

CREATE TABLE nested (a ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>) USING delta;

INSERT WITH SCHEMA EVOLUTION INTO nested
SELECT array(named_struct('x', 1, 'y', 2)) AS a, map('k', named_struct('x', 3, 'y', 4)) AS m;

SELECT a[0].x, a[0].y, m['k'].y FROM nested;
--| a[0].x int, a[0].y int, m[k].y int
--| 1, 2, 4

CREATE TABLE nothing USING delta AS SELECT 1 AS id, NULL AS n, NULL AS m;

INSERT INTO nothing VALUES (2, NULL, NULL);

INSERT INTO nothing BY NAME SELECT 3 AS id, NULL AS m;

MERGE INTO nothing t USING (SELECT 4 AS id, NULL AS n, NULL AS m) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 1, 0, 0, 1

SELECT * FROM nothing ORDER BY id;
--| id int, n void, m void
--| 1, NULL, NULL
--| 2, NULL, NULL
--| 3, NULL, NULL
--| 4, NULL, NULL

INSERT WITH SCHEMA EVOLUTION INTO nothing BY NAME SELECT 5 AS id, 'text' AS n;

MERGE WITH SCHEMA EVOLUTION INTO nothing t USING (SELECT 6 AS id, 2.5 AS m) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 1, 0, 0, 1

SELECT * FROM nothing ORDER BY id;
--| id int, n string, m decimal(2,1)
--| 1, NULL, NULL
--| 2, NULL, NULL
--| 3, NULL, NULL
--| 4, NULL, NULL
--| 5, 'text', NULL
--| 6, NULL, 2.5
