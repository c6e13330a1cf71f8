-- An older version becomes the newest one again, by a commit of its own.

CREATE TABLE t (id INT) USING delta;

INSERT INTO t VALUES (1), (2);

DELETE FROM t WHERE id = 1;
--| num_affected_rows bigint
--| 1

RESTORE TABLE t TO VERSION AS OF 1;

SELECT id FROM t ORDER BY id;
--| id int
--| 1
--| 2

RESTORE t VERSION AS OF 0;

SELECT count(*) AS n FROM t;
--| n bigint
--| 0

SELECT id FROM t VERSION AS OF 3 ORDER BY id;
--| id int
--| 1
--| 2

RESTORE TABLE t TO VERSION AS OF 99;
--! DELTA_CANNOT_RESTORE_TABLE_VERSION

RESTORE TABLE t TO TIMESTAMP AS OF '2999-01-01';
--! DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER
