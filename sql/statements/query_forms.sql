-- Queries recurse, take samples, look beside themselves, and tell where rows lie.

CREATE TABLE staff (id INT, boss INT, name STRING, since DATE, tags ARRAY<STRING>) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true');

INSERT INTO staff SELECT /*+ COALESCE(1) */ * FROM VALUES (1, NULL, 'Ada', DATE'2020-01-31', array('x', 'y')), (2, 1, 'Bob', DATE'2020-02-29', array()), (3, 2, 'Cy', DATE'2021-03-01', array('z')), (4, 9, 'Di', DATE'2020-02-01', NULL) ORDER BY 1;

DELETE FROM staff WHERE id = 2;
--| num_affected_rows bigint
--| 1

INSERT INTO staff VALUES (5, 3, 'Ed', NULL, array('x'));

WITH RECURSIVE below(id, level) AS (SELECT id, 1 FROM staff WHERE id = 3 UNION ALL SELECT s.id, level + 1 FROM staff s JOIN below ON s.boss = below.id) SELECT * FROM below ORDER BY level;
--| id int, level int
--| 3, 1
--| 5, 2

WITH RECURSIVE numbers(n) MAX RECURSION LEVEL 200 AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 150) SELECT count(*), max(n) FROM numbers;
--| count(1) bigint, max(n) int
--| 150, 150

WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT n FROM numbers LIMIT 3;
--| n int
--| 1
--| 2
--| 3

SELECT id, _metadata.row_index, _metadata.row_id, _metadata.row_commit_version, _metadata.file_name LIKE 'part-%' AS is_part FROM staff ORDER BY id;
--| id int, row_index bigint, row_id bigint, row_commit_version bigint, is_part boolean
--| 1, 0, 0, 1, true
--| 3, 2, 2, 1, true
--| 4, 3, 3, 1, true
--| 5, 0, 4, 3, true

SELECT count(DISTINCT _metadata.file_path) AS files, min(_metadata.file_block_start) AS least FROM staff;
--| files bigint, least bigint
--| 2, 0

SELECT id FROM staff WHERE _metadata.row_id = 2;
--| id int
--| 3

SELECT count(*) FROM staff TABLESAMPLE (2 ROWS);
--| count(1) bigint
--| 2

SELECT count(*) <= 4 AS is_part FROM staff TABLESAMPLE (50 PERCENT) REPEATABLE (7);
--| is_part boolean
--| true

SELECT name FROM staff TABLESAMPLE (BUCKET 2 OUT OF 2) AS s WHERE s.id = 1;
--| name string
--| 'Ada'

SELECT id, count(*) OVER (ORDER BY since RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW) AS joined FROM staff ORDER BY id;
--| id int, joined bigint
--| 1, 1
--| 3, 1
--| 4, 2
--| 5, 1

SELECT id, count(*) OVER (ORDER BY since RANGE BETWEEN 400 PRECEDING AND INTERVAL 1 DAY FOLLOWING) FROM staff;
--! DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_DIFF_TYPES

SELECT id, tag FROM staff, LATERAL explode(tags) AS t(tag) ORDER BY id, tag;
--| id int, tag string
--| 1, 'x'
--| 1, 'y'
--| 3, 'z'
--| 5, 'x'

SELECT s.name, b.name AS boss FROM staff s LEFT JOIN LATERAL (SELECT name FROM staff WHERE id = s.boss) b ORDER BY s.id;
--| name string, boss string
--| 'Ada', NULL
--| 'Cy', NULL
--| 'Di', NULL
--| 'Ed', 'Cy'

SELECT IDENTIFIER('name') FROM IDENTIFIER('sta' || 'ff') WHERE IDENTIFIER('staff.id') = 5;
--| name string
--| 'Ed'

SELECT col1 + 0.5 AS n, col2 FROM VALUES (1, 'a'), (2L, NULL) ORDER BY n;
--| n decimal(22,1), col2 string
--| 1.5, 'a'
--| 2.5, NULL
