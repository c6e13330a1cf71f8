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
