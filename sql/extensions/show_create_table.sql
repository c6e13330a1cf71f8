-- The statement that makes a table is told, which Spark's open source refuses for Delta tables.

CREATE TABLE t (id INT NOT NULL, day DATE) USING delta PARTITIONED BY (day);

--+ [DELTA_OPERATION_NOT_ALLOWED]
SHOW CREATE TABLE t;

SELECT * FROM t;
--| id int, day date
