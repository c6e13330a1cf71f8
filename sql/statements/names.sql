-- Tables have names in namespaces, which are listed and described.

CREATE TABLE b (id INT, name STRING COMMENT 'of it') USING delta;

CREATE TABLE a (id INT, day DATE) USING delta PARTITIONED BY (day) TBLPROPERTIES ('team' = 'x');

DESCRIBE TABLE b;
--| col_name string, data_type string, comment string
--| 'id', 'int', NULL
--| 'name', 'string', 'of it'

DESCRIBE TABLE a;
--| col_name string, data_type string, comment string
--| '# Partition Information', '', ''
--| '# col_name', 'data_type', 'comment'
--| 'day', 'date', NULL
--| 'day', 'date', NULL
--| 'id', 'int', NULL

SHOW COLUMNS IN a;
--| col_name string
--| 'day'
--| 'id'

SHOW TBLPROPERTIES a ('team');
--| key string, value string
--| 'team', 'x'

DROP TABLE a;

SELECT * FROM a;
--! TABLE_OR_VIEW_NOT_FOUND
