-- Earlier versions of a table are read and restored.

CREATE TABLE t (id INT) USING delta;

INSERT INTO t VALUES (1);

INSERT INTO t VALUES (2);

SELECT * FROM t VERSION AS OF 1;
--| id int
--| 1

SELECT a.id FROM t AS a LEFT ANTI JOIN t VERSION AS OF 1 AS b ON a.id = b.id;
--| id int
--| 2

RESTORE TABLE t TO VERSION AS OF 1;

SELECT * FROM t;
--| id int
--| 1

SELECT * FROM t VERSION AS OF 7;
--! DELTA_VERSION_NOT_FOUND
