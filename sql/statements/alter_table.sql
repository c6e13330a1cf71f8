-- Columns, properties and rules of a table are changed.

CREATE TABLE t (id INT, name STRING, at STRUCT<zip: INT>) USING delta
TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true');

INSERT INTO t VALUES (1, 'a', named_struct('zip', 7));

ALTER TABLE t ADD COLUMNS (price DOUBLE COMMENT 'in euros' AFTER id, at.street STRING);

SELECT * FROM t;
--| id int, price double, name string, at struct<zip:int,street:string>
--| 1, NULL, 'a', {zip: 7, street: NULL}

ALTER TABLE t RENAME COLUMN name TO label;

ALTER TABLE t ALTER COLUMN id TYPE BIGINT;

ALTER TABLE t ALTER COLUMN label COMMENT 'what is on it' ;

ALTER TABLE t DROP COLUMN price;

SELECT * FROM t;
--| id bigint, label string, at struct<zip:int,street:string>
--| 1, 'a', {zip: 7, street: NULL}

ALTER TABLE t ADD CONSTRAINT small CHECK (id < 100);

ALTER TABLE t DROP CONSTRAINT small;

ALTER TABLE t SET TBLPROPERTIES ('team' = 'a', 'delta.logRetentionDuration' = 'interval 7 days');

ALTER TABLE t UNSET TBLPROPERTIES ('team');

ALTER TABLE t CLUSTER BY (id);

ALTER TABLE t ADD COLUMN last INT FIRST;

SELECT * FROM t;
--| last int, id bigint, label string, at struct<zip:int,street:string>
--| NULL, 1, 'a', {zip: 7, street: NULL}
