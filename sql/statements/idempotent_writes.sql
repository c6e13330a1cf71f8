-- A statement that changes rows is made once for each version of an application.

CREATE TABLE t (id INT, v INT) USING delta;

INSERT INTO t VALUES (1, 0), (2, 0), (3, 0);

SET spark.databricks.delta.write.txnAppId = app;
--| key string, value string
--| 'spark.databricks.delta.write.txnAppId', 'app'

UPDATE t SET v = 1;
--! DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS

ALTER TABLE t SET TBLPROPERTIES ('kept' = 'me');

SET spark.databricks.delta.write.txnVersion = 1;
--| key string, value string
--| 'spark.databricks.delta.write.txnVersion', '1'

UPDATE t SET v = v + 1 WHERE id = 1;
--| num_affected_rows bigint
--| 1

--? one node: a statement that was made before tells that it has changed no row, and Spark tells nothing
UPDATE t SET v = v + 1 WHERE id = 1;
--| num_affected_rows bigint

SET spark.databricks.delta.write.txnVersion = 2;
--| key string, value string
--| 'spark.databricks.delta.write.txnVersion', '2'

DELETE FROM t WHERE id = 2;
--| num_affected_rows bigint
--| 1

--? one node: a statement that was made before tells that it has changed no row, and Spark tells nothing
DELETE FROM t WHERE id = 3;
--| num_affected_rows bigint

SET spark.databricks.delta.write.txnVersion = 3;
--| key string, value string
--| 'spark.databricks.delta.write.txnVersion', '3'

INSERT INTO t VALUES (4, 4);

INSERT INTO t VALUES (5, 5);

SELECT * FROM t ORDER BY id;
--| id int, v int
--| 1, 1
--| 3, 0
--| 4, 4

SET spark.databricks.delta.write.txnVersion = 4;
--| key string, value string
--| 'spark.databricks.delta.write.txnVersion', '4'

SET spark.databricks.delta.write.txnVersion.autoReset.enabled = true;
--| key string, value string
--| 'spark.databricks.delta.write.txnVersion.autoReset.enabled', 'true'

INSERT INTO t VALUES (6, 6);

SET spark.databricks.delta.write.txnVersion;
--| key string, value string
--| 'spark.databricks.delta.write.txnVersion', '<undefined>'

INSERT INTO t VALUES (7, 7);
--! DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS

RESET;

SELECT * FROM t ORDER BY id;
--| id int, v int
--| 1, 1
--| 3, 0
--| 4, 4
--| 6, 6
