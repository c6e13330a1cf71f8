-- Columns, properties, partitions and history of a table are told.

CREATE TABLE t (id INT COMMENT 'the key', day DATE) USING delta PARTITIONED BY (day);

INSERT INTO t VALUES (1, DATE'2026-01-01'), (2, DATE'2026-01-02'), (3, NULL);

SHOW PARTITIONS t;
--| day date
--| 2026-01-01
--| 2026-01-02
--| NULL

SHOW COLUMNS IN t;
--| col_name string
--| 'day'
--| 'id'

SHOW TBLPROPERTIES t;
--| key string, value string
--| 'delta.minReaderVersion', '1'
--| 'delta.minWriterVersion', '2'

COMMENT ON TABLE t IS 'days';

DESCRIBE QUERY SELECT id, count(*) AS n FROM t GROUP BY id;
--| col_name string, data_type string, comment string
--| 'id', 'int', 'the key'
--| 'n', 'bigint', NULL

DESCRIBE HISTORY t LIMIT 1;

DESCRIBE DETAIL t;

EXPLAIN SELECT id FROM t;
