-- A table may be called like a keyword, and a query in FROM passes on the _metadata of its table.

CREATE TABLE table (id INT) USING delta;

INSERT INTO table VALUES (1), (2);

INSERT INTO table SELECT 3;

INSERT INTO table (id) VALUES (4);

INSERT INTO TABLE table VALUES (5);

DESCRIBE table;
--| col_name string, data_type string, comment string
--| 'id', 'int', NULL

SELECT count(*) FROM table;
--| count(1) bigint
--| 5

INSERT OVERWRITE table VALUES (9);

SELECT table.id FROM table;
--| id int
--| 9

SELECT _metadata.file_size > 0 FROM (SELECT * FROM table);
--| (_metadata.file_size > 0) boolean
--| true

SELECT q._metadata.file_size > 0 AS known FROM (SELECT id + 1 AS i FROM (SELECT id FROM table) WHERE id > 1) q;
--| known boolean
--| true

SELECT * FROM (SELECT id FROM table) q WHERE _metadata.file_size > 0;
--| id int
--| 9

SELECT _metadata.file_size FROM (SELECT count(*) AS n FROM table);
--! UNRESOLVED_COLUMN.WITH_SUGGESTION

SELECT _metadata.file_size FROM (SELECT id FROM table UNION ALL SELECT 1);
--! UNRESOLVED_COLUMN.WITH_SUGGESTION

WITH w AS (SELECT id FROM table) SELECT _metadata.file_size FROM w;
--! UNRESOLVED_COLUMN.WITH_SUGGESTION
