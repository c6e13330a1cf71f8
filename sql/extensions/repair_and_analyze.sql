-- Lost files are found and statistics computed, which Spark's open source refuses for Delta tables.

CREATE TABLE t (id INT, n INT) USING delta TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0');

INSERT INTO t VALUES (1, 2), (3, 4);

--+ [PARSE_SYNTAX_ERROR]
FSCK REPAIR TABLE t DRY RUN;

--+ [PARSE_SYNTAX_ERROR]
FSCK REPAIR TABLE t;

ALTER TABLE t SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '32');

--+ [NOT_SUPPORTED_COMMAND_FOR_V2_TABLE]
ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS id;

--+ [NOT_SUPPORTED_COMMAND_FOR_V2_TABLE]
ANALYZE TABLE t COMPUTE STATISTICS;

--+ [PARSE_SYNTAX_ERROR]
ANALYZE TABLE t COMPUTE DELTA STATISTICS;

SELECT * FROM t ORDER BY id;
--| id int, n int
--| 1, 2
--| 3, 4
