-- Rows of a source are matched with those of a table, which are updated, deleted and inserted.

CREATE TABLE t (id INT, name STRING, n BIGINT) USING delta;

INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30), (4, 'd', 40);

CREATE TABLE s (id INT, name STRING, n BIGINT) USING delta;

INSERT INTO s VALUES (2, 'B', 21), (3, NULL, 31), (5, 'E', 51);

MERGE INTO t USING s ON t.id = s.id
WHEN MATCHED AND s.name IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 3, 1, 1, 1

SELECT * FROM t ORDER BY id;
--| id int, name string, n bigint
--| 1, 'a', 10
--| 2, 'B', 21
--| 4, 'd', 40
--| 5, 'E', 51

MERGE INTO t AS target USING (SELECT id, max(n) AS n FROM s GROUP BY id) AS source ON target.id = source.id
WHEN MATCHED AND source.n > 50 THEN UPDATE SET n = target.n + source.n
WHEN NOT MATCHED THEN INSERT (id, n) VALUES (source.id, source.n)
WHEN NOT MATCHED BY SOURCE AND target.n > 30 THEN UPDATE SET name = 'old'
WHEN NOT MATCHED BY SOURCE THEN DELETE;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 4, 2, 1, 1

SELECT * FROM t ORDER BY id;
--| id int, name string, n bigint
--| 2, 'B', 21
--| 3, NULL, 31
--| 4, 'old', 40
--| 5, 'E', 102

-- A source with another column widens the table if the statement allows it.
MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 6 AS id, 'F' AS name, 1.5D AS score) AS s ON t.id = s.id
WHEN NOT MATCHED THEN INSERT *;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 1, 0, 0, 1

SELECT * FROM t ORDER BY id;
--| id int, name string, n bigint, score double
--| 2, 'B', 21, NULL
--| 3, NULL, 31, NULL
--| 4, 'old', 40, NULL
--| 5, 'E', 102, NULL
--| 6, 'F', NULL, 1.5
