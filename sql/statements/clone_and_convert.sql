-- A table is made of the files of another one; a folder that is a table already stays as it is.

CREATE TABLE t (id INT, name STRING) USING delta;

INSERT INTO t VALUES (1, 'a'), (2, 'b');

CREATE TABLE copy SHALLOW CLONE t;

DELETE FROM copy WHERE id = 1;
--| num_affected_rows bigint
--| 1

SELECT * FROM copy;
--| id int, name string
--| 2, 'b'

SELECT * FROM t ORDER BY id;
--| id int, name string
--| 1, 'a'
--| 2, 'b'

CREATE TABLE older SHALLOW CLONE t VERSION AS OF 0;

SELECT * FROM older;
--| id int, name string

CREATE OR REPLACE TABLE copy SHALLOW CLONE t;
--! DELTA_UNSUPPORTED_NON_EMPTY_CLONE

CREATE TABLE delta.`${folder}/table` (id INT) USING delta;

CONVERT TO DELTA parquet.`${folder}/table`;
