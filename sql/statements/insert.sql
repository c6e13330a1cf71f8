-- Rows are added by values and by queries, by position and by name.

CREATE TABLE t (id INT, name STRING, day DATE) USING delta PARTITIONED BY (day);

INSERT INTO t VALUES (1, 'a', DATE'2026-01-01'), (2, 'b', DATE'2026-01-02');

INSERT INTO t (name, id) VALUES ('c', 3);

INSERT INTO t BY NAME SELECT DATE'2026-01-03' AS day, 4 AS id;

INSERT INTO TABLE t SELECT id + 10, upper(name), day FROM t WHERE id < 3;

SELECT * FROM t;
--| id int, name string, day date
--| 1, 'a', 2026-01-01
--| 11, 'A', 2026-01-01
--| 12, 'B', 2026-01-02
--| 2, 'b', 2026-01-02
--| 3, 'c', NULL
--| 4, NULL, 2026-01-03

INSERT INTO t PARTITION (day = '2026-01-05') VALUES (5, 'e');

SELECT day, count(*) AS n FROM t GROUP BY day ORDER BY day;
--| day date, n bigint
--| NULL, 1
--| 2026-01-01, 2
--| 2026-01-02, 2
--| 2026-01-03, 1
--| 2026-01-05, 1

INSERT OVERWRITE t VALUES (9, 'z', DATE'2026-02-01');

SELECT * FROM t;
--| id int, name string, day date
--| 9, 'z', 2026-02-01

INSERT INTO t REPLACE WHERE day = DATE'2026-02-01' SELECT 8, 'y', DATE'2026-02-01';

SELECT * FROM t;
--| id int, name string, day date
--| 8, 'y', 2026-02-01

-- Values are cast as in an assignment.
INSERT INTO t VALUES ('7', 7, '2026-03-01');

SELECT * FROM t WHERE id = 7;
--| id int, name string, day date
--| 7, '7', 2026-03-01

CREATE TABLE one (n INT DEFAULT 5) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');

INSERT INTO one VALUES (DEFAULT);

INSERT INTO one VALUES DEFAULT;

INSERT INTO one VALUES DEFAULT, 8, (9), (DEFAULT);

SELECT * FROM one;
--| n int
--| 5
--| 5
--| 5
--| 5
--| 8
--| 9

CREATE TABLE partitions (id INT, p STRING) USING delta PARTITIONED BY (p);

INSERT INTO partitions VALUES (1, '__HIVE_DEFAULT_PARTITION__'), (2, NULL);

--? one node: Spark loses this one value of a partition column
SELECT * FROM partitions;
--| id int, p string
--| 1, NULL
--| 2, NULL

CREATE TABLE filled (n INT, state STRING DEFAULT 'new', m INT, k BIGINT GENERATED ALWAYS AS IDENTITY, twice INT GENERATED ALWAYS AS (n * 2))
USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');

INSERT INTO filled (n) VALUES (1);

SET spark.sql.defaultColumn.useNullsForMissingDefaultValues = false;
--| key string, value string
--| 'spark.sql.defaultColumn.useNullsForMissingDefaultValues', 'false'

INSERT INTO filled (n) VALUES (2);
--! DELTA_INSERT_COLUMN_MISMATCH

INSERT INTO filled BY NAME SELECT 2 AS n;
--! DELTA_INSERT_COLUMN_MISMATCH

INSERT INTO filled (m, n) VALUES (4, 3), (5, DEFAULT);

RESET spark.sql.defaultColumn.useNullsForMissingDefaultValues;

SELECT n, state, m, twice FROM filled;
--| n int, state string, m int, twice int
--| 1, 'new', NULL, 2
--| 3, 'new', 4, 6
--| NULL, 'new', 5, NULL

-- DEFAULT in the select list of an INSERT is the default of its column.

CREATE TABLE selected (n INT DEFAULT 7, state STRING DEFAULT 'new') USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');

INSERT INTO selected SELECT DEFAULT, 'q';

INSERT INTO selected SELECT 1, DEFAULT;

INSERT INTO selected (state) SELECT DEFAULT;

INSERT INTO selected SELECT DEFAULT, DEFAULT FROM range(2);

INSERT INTO selected SELECT id, DEFAULT FROM range(5, 9) WHERE id > 5 ORDER BY 2, 1 LIMIT 1;

INSERT INTO selected SELECT 1, DEFAULT UNION ALL SELECT 2, DEFAULT;
--! UNRESOLVED_COLUMN.WITHOUT_SUGGESTION

INSERT INTO selected SELECT DISTINCT DEFAULT, 'q';
--! UNRESOLVED_COLUMN.WITHOUT_SUGGESTION

INSERT INTO selected SELECT DEFAULT, max(id) FROM range(2) GROUP BY id % 2;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION

INSERT INTO selected SELECT * FROM (SELECT 1, DEFAULT);
--! UNRESOLVED_COLUMN.WITHOUT_SUGGESTION

SELECT n, state FROM selected;
--| n int, state string
--| 1, 'new'
--| 6, 'new'
--| 7, 'new'
--| 7, 'new'
--| 7, 'new'
--| 7, 'q'
