-- Tables are created with columns, rules and properties, from queries, and like other tables.

CREATE TABLE people (
  id BIGINT NOT NULL COMMENT 'the key',
  name STRING,
  born DATE,
  year INT GENERATED ALWAYS AS (year(born))
) USING delta PARTITIONED BY (year) COMMENT 'who is who' TBLPROPERTIES ('delta.appendOnly' = 'false', 'team' = 'a');

INSERT INTO people (id, name, born) VALUES (1, 'Ada', DATE'1815-12-10'), (2, 'Alan', DATE'1912-06-23');

SELECT * FROM people ORDER BY id;
--| id bigint, name string, born date, year int
--| 1, 'Ada', 1815-12-10, 1815
--| 2, 'Alan', 1912-06-23, 1912

CREATE TABLE IF NOT EXISTS people (other INT) USING delta;

CREATE TABLE numbers (n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), name STRING) USING delta;

INSERT INTO numbers (name) VALUES ('a');

INSERT INTO numbers (name) VALUES ('b');

SELECT * FROM numbers ORDER BY n;
--| n bigint, name string
--| 10, 'a'
--| 15, 'b'

CREATE TABLE defaults (id INT, state STRING DEFAULT 'new') USING delta
TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');

INSERT INTO defaults (id) VALUES (1);

INSERT INTO defaults VALUES (2, DEFAULT), (3, 'old');

SELECT * FROM defaults ORDER BY id;
--| id int, state string
--| 1, 'new'
--| 2, 'new'
--| 3, 'old'

CREATE TABLE born USING delta AS SELECT id, year(born) AS year FROM people WHERE name LIKE 'A%';

SELECT * FROM born ORDER BY id;
--| id bigint, year int
--| 1, 1815
--| 2, 1912

CREATE OR REPLACE TABLE born (id INT) USING delta;

SELECT * FROM born;
--| id int

CREATE TABLE same LIKE people;

SELECT count(*) AS n FROM same;
--| n bigint
--| 0

CREATE TABLE more_numbers LIKE numbers;

INSERT INTO more_numbers (name) VALUES ('c');

SELECT * FROM more_numbers;
--| n bigint, name string
--| 20, 'c'

CREATE TABLE untyped USING delta AS SELECT struct(NULL AS a, id AS b, struct(NULL AS c, id AS d) AS e) AS s FROM range(1);

INSERT INTO untyped SELECT struct(NULL, 7L, struct(NULL, 8L)) UNION ALL SELECT NULL;

SELECT * FROM untyped ORDER BY s.b NULLS FIRST;
--| s struct<a:void,b:bigint,e:struct<c:void,d:bigint>>
--| NULL
--| {a: NULL, b: 0, e: {c: NULL, d: 0}}
--| {a: NULL, b: 7, e: {c: NULL, d: 8}}

CREATE TABLE clustered (id INT, day DATE) USING delta CLUSTER BY (day, id);

INSERT INTO clustered VALUES (1, DATE'2026-01-01');

SELECT * FROM clustered;
--| id int, day date
--| 1, 2026-01-01

DROP TABLE clustered;

CREATE TABLE bare USING delta;

DESCRIBE bare;
--| col_name string, data_type string, comment string

SET spark.databricks.delta.schema.autoMerge.enabled = true;
--| key string, value string
--| 'spark.databricks.delta.schema.autoMerge.enabled', 'true'

INSERT INTO bare SELECT 1 AS id, 'x' AS name;

RESET spark.databricks.delta.schema.autoMerge.enabled;

SELECT * FROM bare;
--| id int, name string
--| 1, 'x'

CREATE TABLE widened USING delta;

ALTER TABLE widened ADD COLUMNS (id INT);

INSERT INTO widened VALUES (1);

SELECT * FROM widened;
--| id int
--| 1

CREATE TABLE placed (id INT) USING delta OPTIONS ('path' = '${folder}/placed', team 'a') TBLPROPERTIES ('k' = 'v');

INSERT INTO placed VALUES (1);

CREATE TABLE placed_too USING delta OPTIONS (PATH = '${folder}/placed');

SELECT * FROM placed_too;
--| id int
--| 1

SHOW TBLPROPERTIES placed_too ('option.team');
--| key string, value string
--| 'option.team', 'a'

SHOW TBLPROPERTIES placed_too ('team');
--| key string, value string
--| 'team', 'a'

CREATE TABLE placed_again USING delta LOCATION '${folder}/placed'
TBLPROPERTIES ('delta.minWriterVersion' = '2', 'delta.feature.appendOnly' = 'supported', 'k' = 'v', 'team' = 'a', 'option.team' = 'a');

CREATE TEMPORARY VIEW latest AS SELECT id, name, born FROM people;

CREATE TABLE like_view LIKE latest USING delta;

INSERT INTO like_view VALUES (3, 'Grace', NULL);

SELECT * FROM like_view;
--| id bigint, name string, born date
--| 3, 'Grace', NULL

CREATE TABLE _hidden (id INT) USING delta;

INSERT INTO _hidden VALUES (1);

SELECT * FROM _hidden;
--| id int
--| 1

DROP TABLE _hidden;

DROP TABLE IF EXISTS clustered;
