-- A table is shown as its CREATE TABLE and cloned with its files, which Spark's open source refuses.

CREATE TABLE orders (id INT NOT NULL COMMENT 'key', name STRING) USING delta PARTITIONED BY (name) COMMENT 'sold';

INSERT INTO orders VALUES (1, 'ink'), (2, 'pen');

--+ [DELTA_OPERATION_NOT_ALLOWED]
SHOW CREATE TABLE orders;
--| createtab_stmt string
--| 'CREATE TABLE orders (\n  id INT NOT NULL COMMENT \'key\',\n  name STRING)\nUSING delta\nPARTITIONED BY (name)\nCOMMENT \'sold\''

DELETE FROM orders WHERE id = 1;

--+ [PARSE_SYNTAX_ERROR]
CREATE TABLE copies DEEP CLONE orders VERSION AS OF 1;

--+ [PARSE_SYNTAX_ERROR]
CREATE OR REPLACE TABLE copies DEEP CLONE orders;

--+ [TABLE_OR_VIEW_NOT_FOUND]
SELECT * FROM copies ORDER BY id;
--| id int, name string
--| 2, 'pen'

--+ [TABLE_OR_VIEW_NOT_FOUND]
SELECT count(*) AS n FROM copies VERSION AS OF 0;
--| n bigint
--| 2
