-- A view keeps a query under a name, for as long as the session lasts.

CREATE TABLE t (id INT, name STRING) USING delta;

INSERT INTO t VALUES (1, 'a'), (2, NULL);

CREATE TEMP VIEW named AS SELECT id, upper(name) AS name FROM t WHERE name IS NOT NULL;

SELECT * FROM named;
--| id int, name string
--| 1, 'A'

CREATE OR REPLACE TEMPORARY VIEW named (number) AS SELECT id FROM t;

INSERT INTO t VALUES (3, 'c');

SELECT * FROM named ORDER BY number;
--| number int
--| 1
--| 2
--| 3

SHOW VIEWS LIKE 'name*';
--| namespace string, viewName string, isTemporary boolean
--| '', 'named', true

DESCRIBE named;
--| col_name string, data_type string, comment string
--| 'number', 'int', NULL

DROP VIEW named;

DROP VIEW IF EXISTS named;

SELECT * FROM named;
--! TABLE_OR_VIEW_NOT_FOUND

-- A view that shows a whole table stands for it where rows are changed.
CREATE TABLE base (id INT, v STRING) USING delta;

INSERT INTO base VALUES (1, 'a'), (2, 'b'), (3, 'c');

CREATE TEMP VIEW whole AS SELECT * FROM base;

CREATE TEMP VIEW again AS SELECT * FROM whole AS w;

CREATE TEMP VIEW some AS SELECT * FROM base WHERE id > 1;

UPDATE whole SET v = 'A' WHERE whole.id = 1;
--| num_affected_rows bigint
--| 1

DELETE FROM again WHERE id = 2;
--| num_affected_rows bigint
--| 1

MERGE INTO whole t USING (SELECT 4 AS id, 'd' AS v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;
--| num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint
--| 1, 0, 0, 1

SELECT * FROM base ORDER BY id;
--| id int, v string
--| 1, 'A'
--| 3, 'c'
--| 4, 'd'

INSERT INTO whole VALUES (5, 'e');
--! EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE

OPTIMIZE whole;
--! EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE

TRUNCATE TABLE some;
--! EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE

-- A view hides the table of its name.
CREATE TEMP VIEW base AS SELECT 99 AS id;

INSERT INTO base VALUES (5, 'e');
--! EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE

VACUUM base;
--! EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE

SELECT * FROM base;
--| id int
--| 99

DROP TABLE base;

SELECT * FROM base ORDER BY id;
--| id int, v string
--| 1, 'A'
--| 3, 'c'
--| 4, 'd'
