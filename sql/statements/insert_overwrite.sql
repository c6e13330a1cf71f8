-- An INSERT OVERWRITE replaces all rows, those of its PARTITION, or in dynamic mode the partitions that it writes to.

CREATE TABLE t (id INT, p STRING) USING delta PARTITIONED BY (p);

INSERT INTO t VALUES (1, 'a'), (2, 'b');

INSERT OVERWRITE t PARTITION (p = 'a') SELECT 3;

SELECT * FROM t ORDER BY id;
--| id int, p string
--| 2, 'b'
--| 3, 'a'

SET spark.sql.sources.partitionOverwriteMode = dynamic;
--| key string, value string
--| 'spark.sql.sources.partitionOverwriteMode', 'dynamic'

INSERT OVERWRITE t SELECT 4, 'b';

-- Without rows there is no partition to replace.
INSERT OVERWRITE t PARTITION (p = 'a') SELECT 5 WHERE false;

INSERT OVERWRITE t PARTITION (p = 'c') SELECT 6;

SELECT * FROM t ORDER BY id;
--| id int, p string
--| 3, 'a'
--| 4, 'b'
--| 6, 'c'

RESET spark.sql.sources.partitionOverwriteMode;

INSERT OVERWRITE t PARTITION (p = 'a') SELECT 7 WHERE false;

INSERT OVERWRITE t PARTITION (p = 'b') SELECT 8;

SELECT * FROM t ORDER BY id;
--| id int, p string
--| 6, 'c'
--| 8, 'b'

SET spark.databricks.delta.replaceWhere.constraintCheck.enabled = false;
--| key string, value string
--| 'spark.databricks.delta.replaceWhere.constraintCheck.enabled', 'false'

INSERT INTO t REPLACE WHERE id = 6 VALUES (9, 'd');

SELECT * FROM t ORDER BY id;
--| id int, p string
--| 8, 'b'
--| 9, 'd'

RESET spark.databricks.delta.replaceWhere.constraintCheck.enabled;

INSERT INTO t REPLACE WHERE id = 9 VALUES (10, 'd');
--! DELTA_REPLACE_WHERE_MISMATCH
